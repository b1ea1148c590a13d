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
from ansible_collections.cni.node.plugins.module_utils._base.lock import locked
from ansible_collections.cni.node.plugins.module_utils._node import host_local

_LOCK: t.Final = "lock"
_LAST_RESERVED: t.Final = "last_reserved_ip."

# Bytes; host-local writes an id and the name of an interface.
_LEASE_LIMIT: t.Final = 4096
# What opening says of a link, a socket, and what is gone by now.
_NO_FILE: t.Final = (errno.ELOOP, errno.ENXIO, errno.ENOENT)


class Lease(t.NamedTuple):
    """An address that is given away.

    Attributes:
        container_id, ifname: Whose it is; both are empty in a file that a full disk or a loss of power left empty,
            and the interface in one of a release before 0.8.
        changed: When, in seconds of the epoch.
        identity: What the file is and how it was when it was read.
    """

    path: str
    address: str
    container_id: str
    ifname: str
    changed: float
    identity: tuple[int, ...]

    def __str__(self) -> str:
        return f"container {self.container_id}" + (f" ({self.ifname})" if self.ifname else "")


class LeaseDirectory:
    """A network's directory, held open: what is read in it is what is removed, whatever its path leads to by then.

    Who else may write to it may put there what they like. Nothing but a regular file is read or removed.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def exclusive(self, timeout: float) -> t.ContextManager[None]:
        """Keep host-local itself from it.

        Raises:
            CniError: ``TRY_AGAIN`` when the time is over.
        """
        path, what = os.path.join(self.path, _LOCK), f"host-local's {self.path}"
        return locked(path, exclusive=True, timeout=timeout, what=what, keep=True, within=self._descriptor)

    def leases(self) -> list[Lease]:
        """Read every lease.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        found = (self._lease(name, str(address)) for name, address in host_local.by_name(self._names()).items())
        return [lease for lease in found if lease is not None]

    def others(self, taken: t.Collection[str]) -> list[str]:
        """Return what it holds beside the leases given and what host-local itself needs."""
        names = set(self._names()) - {os.path.basename(path) for path in taken}
        return sorted(name for name in names if not self._is_host_locals(name))

    def youngest(self) -> float:
        """Return when something in it has changed last."""
        changes = (status.st_mtime for name in self._names() if (status := self._status(name)) is not None)
        return max((os.fstat(self._descriptor).st_mtime, *changes))

    def free(self, lease: Lease) -> None:
        """Remove a lease, if it is as it was when it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        name = os.path.basename(lease.path)
        status = self._status(name)
        if status is not None and _identity(status) != lease.identity:
            advice = "it was left alone; see what writes to it, and run the task again"
            raise CniError(Code.IO_FAILURE, f"{lease.path} was changed after it was read", advice)
        self._unlink(name)

    def remove(self) -> None:
        """Remove the directory, which has no lease any more.

        Raises:
            CniError: ``IO_FAILURE``; also where it has one.
        """
        if not self.others(()):
            for name in self._names():
                self._unlink(name)
        try:
            if os.path.samestat(os.lstat(self.path), os.fstat(self._descriptor)):
                os.rmdir(self.path)
        except OSError as exc:
            raise io_error("remove", self.path, exc) from exc

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._descriptor))
        except OSError as exc:
            raise io_error("list", self.path, exc) from exc

    def _lease(self, name: str, address: str) -> Lease | None:
        path = os.path.join(self.path, name)
        try:
            with open(name, "rb", buffering=0, opener=self._open) as stream:
                status = os.fstat(stream.fileno())
                content = stream.read(_LEASE_LIMIT + 1) if stat.S_ISREG(status.st_mode) else None
        except IsADirectoryError:
            return None
        except OSError as exc:
            if exc.errno in _NO_FILE:
                return None
            raise io_error("read", path, exc) from exc
        if content is None or len(content) > _LEASE_LIMIT:
            return None
        container_id, dummy, ifname = content.decode("utf-8", "replace").strip().partition("\r\n")
        return Lease(path, address, container_id, ifname, status.st_mtime, _identity(status))

    def _open(self, name: str, flags: int) -> int:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(name, flags, dir_fd=self._descriptor)

    def _is_host_locals(self, name: str) -> bool:
        if name != _LOCK and not name.startswith(_LAST_RESERVED):
            return False
        status = self._status(name)
        return status is None or stat.S_ISREG(status.st_mode)

    def _status(self, name: str) -> os.stat_result | None:
        """Return nothing where it is gone."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise io_error("examine", os.path.join(self.path, name), exc) from exc

    def _unlink(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            pass
        except OSError as exc:
            if self._status(name) is not None:  # which a file system that is read-only does not say
                raise io_error("remove", os.path.join(self.path, name), exc) from exc


@contextlib.contextmanager
def opened(path: str) -> t.Iterator[LeaseDirectory | None]:
    """Open a network's directory; nothing is there where the path leads elsewhere or to nothing by now.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    descriptor = _descriptor(path)
    try:
        yield None if descriptor is None else LeaseDirectory(path, descriptor)
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


__all__ = ("Lease", "LeaseDirectory", "opened")
