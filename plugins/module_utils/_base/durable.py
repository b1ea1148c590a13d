# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import io
import os
import stat

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error

# No runtime takes a file of this name for a configuration: libcni, go-cni and CRI-O go by the ending.
TEMPORARY_PREFIX = ".cni.node-"
TEMPORARY_SUFFIX = ".tmp"

# Bytes; no configuration and no record comes near it.
_SIZE_LIMIT = 4 * 1024 * 1024
_PIECE = 1024 * 1024
_PARENT_MODE = 0o755


def write(path: str, content: bytes, *, mode: int = 0o600, flush: bool = True) -> None:
    """Put ``content`` under ``path`` so that a reader, or a machine that loses power, sees the old file or the new one.

    Args:
        flush: Wait for the disk. Without it, a reader is served as well, and a loss of power is not survived.

    Raises:
        CniError: ``IO_FAILURE``; the old file is as it was and the temporary one is gone.
    """
    directory = os.path.dirname(path)
    temporary = os.path.join(directory, f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb", buffering=0, opener=_open_for_its_owner) as stream:
            os.fchmod(stream.fileno(), mode)
            _write_all(stream, content)
            if flush:
                os.fsync(stream.fileno())
        os.rename(temporary, path)
        if flush:
            sync_directory(directory)
    except OSError as exc:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise io_error("write", path, exc) from exc


def remove(path: str, *, flush: bool = True) -> bool:
    """Remove a file; say whether there was one.

    Args:
        flush: Wait for the disk, so that a loss of power does not bring it back.
    """
    try:
        os.unlink(path)
        if flush:
            sync_directory(os.path.dirname(path))
    except OSError as exc:
        if not os.path.lexists(path):  # which a file system that is read-only does not say
            return False
        raise io_error("remove", path, exc) from exc
    return True


def read(path: str, *, limit: int = _SIZE_LIMIT) -> bytes | None:
    """Return what a regular file holds, or nothing where there is no file.

    Args:
        limit: Bytes; a longer file is an error, not a reason to run out of memory.
    """
    try:
        with open(path, "rb", buffering=0, opener=_open_without_waiting) as stream:
            content = _read_at_most(stream, limit + 1)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise io_error("read", path, exc) from exc
    if content is None or len(content) > limit:
        raise CniError(Code.IO_FAILURE, f"cannot read {path}: more than {limit} bytes, or not a regular file")
    return content


def _read_at_most(stream: io.FileIO, size: int) -> bytes | None:
    """Return nothing where a read would wait. In pieces, as reading takes as much memory as it is allowed to give."""
    pieces = []
    while size > 0:
        piece = stream.read(min(size, _PIECE))
        if piece is None:
            return None
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _write_all(stream: io.FileIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[stream.write(rest) :]


def _open_for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def make_directory(path: str, *, mode: int = _PARENT_MODE) -> None:
    """Make a directory where it is missing, and its parents with mode 0755; existing ones keep their mode.

    The umask of whoever runs this neither opens nor closes any of them.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        _make_missing(path, mode)
    except OSError as exc:
        raise io_error("make the directory", path, exc) from exc


def _make_missing(path: str, mode: int) -> None:
    if os.path.isdir(path):
        return
    path = path.rstrip("/")
    _make_missing(os.path.dirname(path) or ".", _PARENT_MODE)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    else:
        _set_permissions(path, mode)


def _set_permissions(path: str, mode: int) -> None:
    """Give a new directory the permissions that the umask has kept back."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        has = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if has & 0o777 != mode:
            os.fchmod(descriptor, has & ~0o777 | mode)
    finally:
        os.close(descriptor)


def sync_directory(path: str) -> None:
    """Make renames and removals in a directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Tell a temporary file of ours, left behind by a process that was killed, by its name."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


__all__ = ("is_temporary", "make_directory", "read", "remove", "sync_directory", "write")
