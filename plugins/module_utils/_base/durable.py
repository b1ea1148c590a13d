# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read, write and remove files so that they survive a crash and a loss of power."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors

# No runtime reads a file of this name as a configuration: libcni, go-cni and CRI-O select files by extension.
TEMPORARY_PREFIX = ".cni.node-"
TEMPORARY_SUFFIX = ".tmp"

# Bytes, far above the size of any configuration or record.
_SIZE_LIMIT = 4 * 1024 * 1024
_PIECE = 1024 * 1024
_PARENT_MODE = 0o755
# Seconds of a flush.
_SLOW = 0.0005


def write(path: str, content: bytes, *, mode: int = 0o600, flush: bool = True) -> None:
    """Replace a file atomically: readers see either the old file or the new one, even after a loss of power.

    Args:
        flush: Wait for the disk. Without it, the new file may not survive a loss of power.

    Raises:
        CniError: ``IO_FAILURE``; the old file is unchanged and the temporary one is removed.
    """
    directory = os.path.dirname(path)
    temporary = os.path.join(directory, f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb", buffering=0, opener=_open_private) as stream:
            os.fchmod(stream.fileno(), mode)
            write_all(stream, content)
            if flush:
                _DISK.flush(stream.fileno())
        os.rename(temporary, path)
        if flush:
            sync_directory(directory)
    except BaseException as exc:  # also an interruption
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(exc, OSError):
            raise io_error("write", path, exc) from exc
        raise


def remove(path: str, *, flush: bool = True) -> bool:
    """Remove a file, and return whether it existed.

    Args:
        flush: Wait for the disk, so that the file does not reappear after a loss of power.
    """
    try:
        os.unlink(path)
        if flush:
            sync_directory(os.path.dirname(path))
    except OSError as exc:
        if not os.path.lexists(path):  # a read-only file system reports an error also for a missing file
            return False
        raise io_error("remove", path, exc) from exc
    return True


def read(path: str, *, limit: int = _SIZE_LIMIT) -> bytes | None:
    """Return the content of a regular file, or None if the file does not exist.

    Args:
        limit: Bytes; a longer file is an error. This bounds the memory used.
    """
    try:
        with open(path, "rb", buffering=0, opener=_open_nonblocking) as stream:
            content = _read_at_most(stream, limit + 1)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise io_error("read", path, exc) from exc
    if content is None or len(content) > limit:
        raise CniError(Code.IO_FAILURE, f"cannot read {path}: more than {limit} bytes, or not a regular file")
    return content


def _read_at_most(stream: io.FileIO, size: int) -> bytes | None:
    """Return None if a read would block. Read in pieces, as read(n) allocates n bytes in advance."""
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


def write_all(stream: t.IO[bytes], content: bytes) -> None:
    """Write to a stream without a buffer, whose ``write`` may write only a part, as on a full disk."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[stream.write(remaining) :]


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def make_directory(path: str, *, mode: int = _PARENT_MODE) -> None:
    """Create a directory and its missing parents, which get the mode 0755; existing directories keep their mode.

    The modes do not depend on the umask.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("create the directory", path):
        _make_missing(path, mode)


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
    """Set the mode of a new directory, because mkdir applies the umask."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        current = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if current & 0o777 != mode:
            os.fchmod(descriptor, current & ~0o777 | mode)
    finally:
        os.close(descriptor)


def sync_directory(path: str) -> None:
    """Flush renames and removals in a directory to disk, so that they survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _DISK.flush(descriptor)
    finally:
        os.close(descriptor)


class _Disk:
    """Flushes files. On a slow disk, as many threads of a run flush at the same time as wait for it.

    The file system then commits what all of them have written together.
    """

    def __init__(self) -> None:
        self._is_slow = False

    def flush(self, descriptor: int) -> None:
        started = time.monotonic()
        # It takes longer to start another thread than to flush a file in memory.
        with workers.lend() if self._is_slow else contextlib.nullcontext():
            os.fsync(descriptor)
        self._is_slow = time.monotonic() - started > _SLOW


_DISK = _Disk()


def is_temporary(name: str) -> bool:
    """Return whether a name belongs to a temporary file of `write`; a killed process may leave such files behind."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def list_directory(path: str) -> list[str]:
    """Return the sorted names in a directory; an empty list if it does not exist or its name is invalid.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    # ValueError: a name with a NUL, or one that cannot be encoded.
    with io_errors("list", path), contextlib.suppress(FileNotFoundError, ValueError):
        return sorted(os.listdir(path))
    return []


def find_paths(top: str, pattern: str) -> list[str]:
    """Return the existing paths below a directory that match a pattern. Unlike `glob`, it does not ignore errors.

    Args:
        pattern: Its parts match names as in a shell.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    paths = [top.rstrip("/")]
    for part in filter(None, pattern.split("/")):
        paths = [f"{path}/{name}" for path in paths for name in _matching_names(path, part)]
    return [path for path in paths if _exists(path)]


def _matching_names(path: str, part: str) -> list[str]:
    if "*" not in part:
        return [part]
    import fnmatch  # not needed by plugins, which start often

    names = list_directory(path) if os.path.isdir(path) or not _exists(path) else []
    return [name for name in fnmatch.filter(names, part) if name[0] != "."]


def _exists(path: str) -> bool:
    with io_errors("examine", path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.lstat(path or "/")
        return True
    return False


def walk(top: str) -> t.Iterator[tuple[str, list[str], list[str]]]:
    """Yield what `os.walk` yields. Unlike that, it does not ignore errors, except of directories that do not exist.

    Raises:
        CniError: ``IO_FAILURE``.
    """

    def refuse(exc: OSError) -> None:
        if not isinstance(exc, (FileNotFoundError, NotADirectoryError)):
            raise exc

    with io_errors("list", top):
        yield from os.walk(top, onerror=refuse)


def modification_time(path: str) -> float:
    """Return when a file was last modified, in seconds since the epoch; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def file_identity(status: os.stat_result) -> tuple[int, ...]:
    """Return numbers that are others after a file was replaced or changed: device, inode, size, mtime and ctime in nanoseconds."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_executable(path: str) -> bool:
    """Return whether a path leads to a file that this user may execute."""
    return os.path.isfile(path) and os.access(path, os.X_OK)
