# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import errno
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error

# What opening says of a link, a socket, and what is gone by now.
_NO_FILE: t.Final = (errno.ELOOP, errno.ENXIO, errno.ENOENT)


class SmallFile(t.NamedTuple):
    """A regular file as it was when it was read.

    Attributes:
        changed: When, in seconds of the epoch.
        identity: What the file is and how it was.
    """

    content: bytes
    changed: float
    identity: tuple[int, ...]


class HeldDirectory:
    """A directory that is held open: what is read in it is what is removed, whatever its path leads to by then.

    Others may be allowed to write to it, and put there what they like. Nothing but a regular file is read or removed.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def names(self) -> list[str]:
        """Return the names of all that is in it.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        try:
            return sorted(os.listdir(self.descriptor))
        except OSError as exc:
            raise io_error("list", self.path, exc) from exc

    def read(self, name: str, limit: int) -> SmallFile | None:
        """Return a file, or None for a longer one and for all that is no regular file.

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
        return SmallFile(content, status.st_mtime, _identity(status))

    def remove_unchanged(self, name: str, identity: tuple[int, ...]) -> None:
        """Remove a file, if it is as it was when it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        status = self.status(name)
        if status is not None and _identity(status) != identity:
            advice = "it was left alone; see what writes to it, and run the task again"
            raise CniError(Code.IO_FAILURE, f"{self.path_of(name)} was changed after it was read", advice)
        self.unlink(name)

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            pass
        except OSError as exc:
            if self.status(name) is not None:  # which a file system that is read-only does not say
                raise io_error("remove", self.path_of(name), exc) from exc

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file itself, also of a link, or None where it is gone.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise io_error("examine", self.path_of(name), exc) from exc

    def path_of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _open(self, name: str, flags: int) -> int:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(name, flags, dir_fd=self.descriptor)


@contextlib.contextmanager
def hold_directory(path: str) -> t.Iterator[HeldDirectory | None]:
    """Open a directory, or return None where the path leads to a link or to nothing.

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


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


__all__ = ("HeldDirectory", "SmallFile", "hold_directory")
