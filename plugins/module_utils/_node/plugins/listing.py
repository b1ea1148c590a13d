# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

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

_NO_PLUGIN: t.Final = re.compile(r"(LICEN[CS]E|README|NOTICE)(\..*)?", re.IGNORECASE)


@contextlib.contextmanager
def name_source_in_errors(path: str, machine: str, advice: str) -> t.Iterator[None]:
    """Name the machine of the source in errors about reading it.

    Args:
        machine: The node or the controller.
        advice: What to do if the source is missing or has no plugin.

    Raises:
        CniError: As raised within.
    """
    try:
        yield
    except CniError as exc:
        if exc.code not in (Code.IO_FAILURE, Code.NOT_AVAILABLE):
            raise
        told = exc.within(f"source on {machine}")
        is_missing = exc.code == Code.NOT_AVAILABLE or not os.path.lexists(path)
        raise told.with_detail(advice) if is_missing else told from exc


def is_plugin_name(name: str) -> bool:
    """Return whether a file in an archive or directory is a plugin by its name."""
    return not name.startswith(".") and not _NO_PLUGIN.fullmatch(name)


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
        raise CniError(Code.INVALID_CONFIG, f"{directory} is a directory", "checksum is for archives")
    return {name: digest(os.path.join(directory, name)) for name in plugin_names(directory)}


def read_listed(directory: str, listing: t.Mapping[str, str]) -> t.Iterator[tuple[str, bytes]]:
    """Yield the plugins of a directory that `listing_of` has listed.

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
    """Return the digest of a release without an archive, from the names and digests of its plugins."""
    lines = "".join(f"{digest} {name}\n" for name, digest in sorted(listing.items()))
    return f"files:{sha256(lines.encode('utf-8', 'surrogateescape'))}"


__all__ = ("identity_of", "is_plugin_name", "listing_of", "name_source_in_errors", "plugin_names", "read_listed")
