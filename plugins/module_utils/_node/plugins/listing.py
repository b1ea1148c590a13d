# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""List the plugins of a directory with their digests."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import (
    concurrent_change_error,
    open_regular,
    sha256,
)

_NOT_A_PLUGIN: t.Final = re.compile(r"(LICEN[CS]E|README|NOTICE)(\..*)?", re.IGNORECASE)


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


def plugin_names(directory: str) -> list[str]:
    """Return the names of the plugins of a directory: the executable regular files in it.

    Raises:
        CniError: ``IO_FAILURE``; ``NOT_AVAILABLE``: there are none.
    """
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if is_plugin_name(entry.name) and _is_executable(entry))
    except OSError as exc:
        raise io_error("read", directory, exc) from exc
    if not names:
        raise CniError(Code.NOT_AVAILABLE, f"{directory} has no plugin", "expected: executable regular files")
    return names


def listing_of(directory: str, checksum: str, digest: t.Callable[[str], str]) -> dict[str, str]:
    """Return the SHA-256 of each plugin of a directory by its name.

    Args:
        checksum: The checksum of the task, which is not allowed for a directory.
        digest: Returns the SHA-256 of a file.

    Raises:
        CniError: As `plugin_names`, and ``INVALID_CONFIG``.
    """
    if checksum:
        raise CniError(
            Code.INVALID_CONFIG, f"checksum: {directory} is a directory", "a checksum is allowed for archives only"
        )
    return {name: digest(os.path.join(directory, name)) for name in plugin_names(directory)}


def read_listed(directory: str, listing: t.Mapping[str, str]) -> t.Iterator[tuple[str, bytes]]:
    """Yield the name and content of each plugin in a list of `listing_of`.

    Raises:
        CniError: ``IO_FAILURE``, also for a plugin that has changed since.
    """
    for name, digest in listing.items():
        path = os.path.join(directory, name)
        with open_regular(path, follow=False) as stream:
            content = stream.read()
        if sha256(content) != digest:
            raise concurrent_change_error(path)
        yield name, content


def _is_executable(entry: os.DirEntry[str]) -> bool:
    mode = entry.stat(follow_symlinks=False).st_mode
    return stat.S_ISREG(mode) and bool(mode & 0o111)


def identity_of(listing: t.Mapping[str, str]) -> str:
    """Return the digest that identifies a directory of plugins, from their names and digests."""
    lines = "".join(f"{digest} {name}\n" for name, digest in sorted(listing.items()))
    return f"files:{sha256(lines.encode('utf-8', 'surrogateescape'))}"


def require_identity(identity: str, listing: t.Mapping[str, str]) -> None:
    """Refuse a directory of plugins whose digest has changed; archives are verified earlier.

    Raises:
        CniError: ``DECODE_FAILURE``.
    """
    actual = identity_of(listing)
    if identity.startswith("files:") and identity != actual:
        raise CniError(
            Code.DECODE_FAILURE,
            f"the plugins have changed since they were listed: expected {identity}, found {actual}",
            "the source was changed while it was read; nothing was installed; run the task again",
        )


def select_plugins(names: t.Iterable[str], only: t.Sequence[str] | None) -> set[str]:
    """Return the plugins of a release that a task selects: all without a selection.

    Raises:
        CniError: ``INVALID_CONFIG``: the release does not have one of them.
    """
    known = set(names)
    unknown = sorted(set(only or ()) - known)
    if unknown:
        raise CniError(
            Code.INVALID_CONFIG,
            f"only: the release has no plugin {', '.join(unknown)}",
            f"it has {', '.join(sorted(known))}",
        )
    return known if only is None else set(only)


__all__ = (
    "identity_of",
    "is_plugin_name",
    "listing_of",
    "name_source_in_errors",
    "plugin_names",
    "read_listed",
    "require_identity",
    "select_plugins",
)
