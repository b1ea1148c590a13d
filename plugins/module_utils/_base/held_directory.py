# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A directory held open, so that reading and removing act on it even if its path changes."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import file_identity, write_all
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors

# Errors of open() for a link, a socket, and a file that has been removed.
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.ENOENT)
# Errors of open() on a file system, or a kernel, that has no files without a name.
_NO_UNNAMED_FILE = (errno.EOPNOTSUPP, errno.EISDIR)


class SmallFile(t.NamedTuple):
    """A regular file as it was when it was read.

    Attributes:
        changed: Modification time, in seconds since the epoch.
        identity: Device, inode, size and times, which change with the file.
    """

    content: bytes
    changed: float
    identity: tuple[int, ...]


class HeldDirectory:
    """A directory held open, so that reading and removing act on the same directory even if its path changes.

    Other users may be allowed to write to it. Only regular files are read or removed.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def names(self) -> list[str]:
        """Return the sorted names of all entries.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        with io_errors("list", self.path):
            return sorted(os.listdir(self.descriptor))

    def read(self, name: str, limit: int) -> SmallFile | None:
        """Return a file, or None if it is too long or not a regular file.

        Args:
            limit: Bytes.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        try:
            with open(name, "rb", buffering=0, opener=self._open) as stream:
                status = os.fstat(stream.fileno())
                content = stream.read(limit + 1) if stat.S_ISREG(status.st_mode) else None
        except IsADirectoryError:
            return None
        except OSError as exc:
            if exc.errno in _NO_FILE:
                return None
            raise io_error("read", self.path_of(name), exc) from exc
        if content is None or len(content) > limit:
            return None
        return SmallFile(content, status.st_mtime, file_identity(status))

    def create(self, name: str, content: bytes, *, flush: bool = True) -> bool:
        """Write a new file that only its owner may read, and return whether it was written: it is not if the name exists.

        It gets its name when it is complete, where the file system can do that; elsewhere, a killed process may leave it
        incomplete.

        Args:
            flush: Whether it must survive a loss of power.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        if self.status(name) is not None:
            return False
        try:
            with self._open_unnamed() or open(name, "xb", buffering=0, opener=self._open) as stream:
                try:
                    os.fchmod(stream.fileno(), 0o600)
                    write_all(stream, content)
                    if flush:
                        os.fsync(stream.fileno())
                except BaseException:  # also an interruption
                    if stream.name == name:
                        self.unlink(name)
                    raise
                if stream.name != name:
                    os.link(f"/proc/self/fd/{stream.fileno()}", name, dst_dir_fd=self.descriptor)
            if flush:
                os.fsync(self.descriptor)
        except FileExistsError:
            return False
        except OSError as exc:
            raise io_error("create", self.path_of(name), exc) from exc
        return True

    def overwrite(self, name: str, content: bytes) -> None:
        """Write a file that only its owner may read, without flushing it; other programs may read half of it.

        Raises:
            CniError: ``IO_FAILURE``, also if it is not a regular file.
        """
        with io_errors("write", self.path_of(name)), open(name, "wb", buffering=0, opener=self._open) as stream:
            write_all(stream, content)

    def remove_unchanged(self, name: str, identity: tuple[int, ...]) -> None:
        """Remove a file unless it has changed since it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        status = self.status(name)
        if status is not None and file_identity(status) != identity:
            advice = "the file was kept; find out what writes to it, then run the task again"
            raise CniError(Code.IO_FAILURE, f"{self.path_of(name)} was changed after it was read", advice)
        self.unlink(name)

    def unlink(self, name: str) -> None:
        """Remove a file if it exists.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            pass
        except OSError as exc:
            if self.status(name) is not None:  # a read-only file system reports an error also for a missing file
                raise io_error("remove", self.path_of(name), exc) from exc

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file, without following a link, or None if it does not exist.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        with io_errors("examine", self.path_of(name)), contextlib.suppress(FileNotFoundError):
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        return None

    def path_of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _open_unnamed(self) -> io.FileIO | None:
        """Open a new file without a name in this directory; return None if the file system cannot."""
        try:
            descriptor = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=self.descriptor)
        except OSError as exc:
            if exc.errno in _NO_UNNAMED_FILE:
                return None
            raise
        return io.FileIO(descriptor, "wb")

    def _open(self, name: str, flags: int) -> int:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(name, flags, 0o600, dir_fd=self.descriptor)


@contextlib.contextmanager
def hold_directory(path: str) -> t.Iterator[HeldDirectory | None]:
    """Hold a directory open; yield None if the path does not exist or is not a directory.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    descriptor = _descriptor(path)
    try:
        yield None if descriptor is None else HeldDirectory(path, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _descriptor(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        if exc.errno not in (*_NO_FILE, errno.ENOTDIR):
            raise io_error("open", path, exc) from exc
        return None
