# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The sources of releases that need no unpacking: directories of plugins, and executables of the built-in plugins."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import interruption
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.files import digest as file_digest
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256

_NOT_A_PLUGIN = re.compile(r"(LICEN[CS]E|README|NOTICE)(\..*)?", re.IGNORECASE)
_BUILTIN_TEXT = """\
#!{interpreter} -I
# Written by cni.node: a built-in plugin. Its name decides which one.
import sys
sys.path.insert(0, {library!r})
try:
    from {interruption} import end_quietly
    end_quietly()
    from {program} import main
except ImportError:
    sys.stdout.write({error!r})
    sys.exit(1)
sys.exit(main(sys.argv[0]))
"""

Plugins = t.Iterable[tuple[str, bytes]]


class ReleaseSource(t.NamedTuple):
    """A release outside the store.

    Attributes:
        digests: As in `Release`.
        plugins: Yields the name and content of each plugin.
        listing: SHA-256 digests by name, instead of the content, if nothing is written.
    """

    digests: list[str]
    plugins: t.Callable[[], Plugins]
    listing: t.Mapping[str, str] = {}


@contextlib.contextmanager
def name_source_in_errors(path: str, machine: str, advice: str) -> t.Iterator[None]:
    """Add the machine that has a source to errors about reading it.

    Args:
        machine: The node or the controller.
        advice: What to do if the source is missing or has no plugin.

    Raises:
        CniError: The error that was raised in the block.
    """
    try:
        yield
    except CniError as exc:
        if exc.code not in (Code.IO_FAILURE, Code.NOT_AVAILABLE):
            raise
        error = exc.within(f"source on {machine}")
        is_missing = exc.code == Code.NOT_AVAILABLE or not os.path.lexists(path)
        raise error.with_detail(advice) if is_missing else error from exc


def is_plugin_name(name: str) -> bool:
    """Return whether a file of an archive or directory has a name that a plugin may have."""
    return not name.startswith(".") and not _NOT_A_PLUGIN.fullmatch(name)


class PluginDirectory:
    """A directory of plugins, which are the executable regular files in it.

    Attributes:
        listing: The SHA-256 of each plugin by its name.
        digest: The digest that identifies the directory.
    """

    def __init__(self, path: str, checksum: str, digest: t.Callable[[str], str]) -> None:
        """
        Args:
            checksum: The checksum of the task, which is not allowed for a directory.
            digest: Returns the SHA-256 of a file.

        Raises:
            CniError: ``INVALID_CONFIG``, ``IO_FAILURE``; ``NOT_AVAILABLE``: there are none.
        """
        if checksum:
            problem = f"checksum: {path} is a directory"
            raise CniError(Code.INVALID_CONFIG, problem, "a checksum is allowed for archives only")
        with io_errors("read", path), os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if is_plugin_name(entry.name) and _is_executable(entry))
        if not names:
            raise CniError(Code.NOT_AVAILABLE, f"{path} has no plugin", "expected: executable regular files")
        self._path = path
        self.listing = {name: digest(os.path.join(path, name)) for name in names}
        self.digest = identity_of(self.listing)

    def plugins(self) -> t.Iterator[tuple[str, bytes]]:
        """Yield the name and content of each plugin.

        Raises:
            CniError: ``IO_FAILURE``, also for a plugin that has changed since it was listed.
        """
        for name, digest in self.listing.items():
            path = os.path.join(self._path, name)
            with file_digest.open_regular(path, follow=False) as stream:
                content = stream.read()
            if sha256(content) != digest:
                raise file_digest.concurrent_change_error(path)
            yield name, content


def _is_executable(entry: os.DirEntry[str]) -> bool:
    mode = entry.stat(follow_symlinks=False).st_mode
    return stat.S_ISREG(mode) and bool(mode & 0o111)


def identity_of(listing: t.Mapping[str, str]) -> str:
    """Return the digest that identifies a directory of plugins, from their names and digests."""
    lines = "".join(f"{digest} {name}\n" for name, digest in sorted(listing.items()))
    return f"files:{sha256(lines.encode('utf-8', 'surrogateescape'))}"


def make_builtin_plugins(interpreter: str, library: Library) -> dict[str, bytes]:
    """Return the content of an executable for each built-in plugin: the same program under each name.

    Args:
        interpreter: Path of the Python that runs them.
        library: What they run.
    """
    # Rarely the source of a task.
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin import executable, registry

    problem = f"the library of cni.node is not in {library.path}"
    error = CniError(Code.INVALID_ENVIRONMENT, problem, "run cni.node.plugins again, which installs it")
    answer = json.dumps({"cniVersion": "1.0.0", **error.as_dict()}) + "\n"
    text = _BUILTIN_TEXT.format(
        interpreter=interpreter,
        library=library.path,
        interruption=interruption.__name__,
        program=executable.__name__,
        error=answer,
    )
    return dict.fromkeys(sorted(registry.TYPES), text.encode())
