# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A network's directory of leases, in host-local's format and with its lock."""

from __future__ import annotations

import contextlib
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import lock
from ansible_collections.cni.node.plugins.module_utils._base.durable import make_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory, hold_directory
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files, lease_index

_LOCK_MODE = 0o750  # as host-local creates it

# Seconds; host-local holds the lock while it reads and writes a few files.
_LOCK_TIMEOUT = 10.0


class Lease(t.NamedTuple):
    """An address that host-local has assigned.

    Attributes:
        container_id, ifname: The owner. Both are empty if a full disk or a power failure left the file empty; releases
            before 0.8 write no interface.
        changed: The time of the last change, in seconds since the epoch.
        identity: Identifies the file and its state when it was read.
        content: The content of the file.
    """

    path: str
    address: str
    container_id: str
    ifname: str
    changed: float
    identity: tuple[int, ...]
    content: bytes = b""

    def is_of(self, container_id: str, ifname: str) -> bool:
        """Return whether it belongs to an interface of a container."""
        return self.container_id == container_id and self.ifname in ("", ifname)

    def __str__(self) -> str:
        return f"container {self.container_id}" + (f" ({self.ifname})" if self.ifname else "")


class LeaseDirectory:
    """A network's directory of leases, held open so that leases are removed where they were read.

    Other programs may write to the directory. Only regular files are read and removed.
    """

    def __init__(self, directory: HeldDirectory) -> None:
        self.path = directory.path
        self._directory = directory

    def lock(self, timeout: float) -> t.ContextManager[None]:
        """Lock the directory against host-local.

        Raises:
            CniError: ``TRY_AGAIN`` after the timeout.
        """
        path, what = self._directory.path_of(lease_files.LOCK), f"host-local's {self.path}"
        within = self._directory.descriptor
        return lock.hold_lock(
            path, exclusive=True, timeout=timeout, what=what, keep=True, within=within, mode=_LOCK_MODE
        )

    def leases(self) -> list[Lease]:
        """Read every lease.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        addresses = lease_files.by_name(self._directory.names())
        leases = (self._lease(name, str(address)) for name, address in addresses.items())
        return [lease for lease in leases if lease is not None]

    def leases_of(self, container_id: str, ifname: str) -> list[Lease]:
        """Return the leases of an interface of a container; the caller holds the lock.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        leases = map(self.find, lease_index.find(self._directory, container_id))
        return [lease for lease in leases if lease is not None and lease.is_of(container_id, ifname)]

    def prepare_search(self) -> None:
        """Read all leases, so that processes that are forked later need not; errors as `leases`."""
        lease_index.read(self._directory)

    def has_leases(self) -> bool:
        """Return whether an address has a lease; errors as `leases`."""
        return any(lease_files.by_name((name,)) for name in self._directory.names())

    def addresses(self) -> list[IpAddress]:
        """Return the addresses that have a lease, without reading the leases; errors as `leases`."""
        return list(lease_files.by_name(self._directory.names()).values())

    def other_names(self, leases: t.Collection[str]) -> list[str]:
        """Return the names in the directory that are neither these leases nor files that host-local needs itself.

        Args:
            leases: Paths of leases.
        """
        names = set(self._directory.names()) - {os.path.basename(path) for path in leases}
        return sorted(name for name in names if not self._is_used_by_host_local(name))

    def last_change(self) -> float:
        """Return the time of the last change in the directory, in seconds since the epoch."""
        names = self._directory.names()
        changes = (status.st_mtime for name in names if (status := self._directory.status(name)) is not None)
        return max((os.fstat(self._directory.descriptor).st_mtime, *changes))

    def find(self, address: str) -> Lease | None:
        """Return the lease of an address, or None.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        return self._lease(address, address)

    def assign(self, address: str, container_id: str, ifname: str) -> None:
        """Write the lease of an address that no container has; the caller holds the lock.

        Raises:
            CniError: ``LIMITED_CONNECTIVITY`` if another container has the address; ``IO_FAILURE``.
        """
        lease = self.find(address)
        if lease is not None and lease.is_of(container_id, ifname):
            return
        if lease is not None and lease.container_id:
            advice = "two containers have the same address: delete one of them"
            raise CniError(Code.LIMITED_CONNECTIVITY, f"{lease.path} is the lease of {lease}", advice)
        if lease is not None:
            self.free(lease)
        if not self.reserve(address, container_id, ifname, flush=True):
            raise CniError(
                Code.IO_FAILURE, f"cannot create {self._directory.path_of(address)}: it is not a regular file"
            )

    def reserve(self, address: str, container_id: str, ifname: str, *, flush: bool = False) -> bool:
        """Write a lease unless its address has one, and return whether it was written; the caller holds the lock.

        Args:
            flush: Whether it must survive a loss of power. A container does not, and its lease may be lost with it.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        content = f"{container_id}{lease_files.SEPARATOR}{ifname}".encode()
        is_written = self._directory.create(address, content, flush=flush)
        if is_written:
            lease_index.note(self._directory, address, container_id)
        return is_written

    def last_reserved(self, range_set: int) -> str:
        """Return the address that was reserved last from a range set, or an empty string."""
        file = self._directory.read(f"{lease_files.LAST_RESERVED}{range_set}", lease_files.LEASE_LIMIT)
        return file.content.decode("utf-8", "replace").strip() if file else ""

    def set_last_reserved(self, range_set: int, address: str) -> None:
        """Note the address from which the next search in a range set continues.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        self._directory.overwrite(f"{lease_files.LAST_RESERVED}{range_set}", address.encode())

    def free(self, lease: Lease) -> None:
        """Remove a lease unless it has changed since it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        self._directory.remove_unchanged(os.path.basename(lease.path), lease.identity)

    def remove(self) -> None:
        """Remove a directory without leases.

        Raises:
            CniError: ``IO_FAILURE``, also if the directory contains a lease.
        """
        if not self.other_names(()):
            for name in self._directory.names():
                self._directory.unlink(name)
        with io_errors("remove", self.path):
            if os.path.samestat(os.lstat(self.path), os.fstat(self._directory.descriptor)):
                os.rmdir(self.path)

    def _lease(self, name: str, address: str) -> Lease | None:
        file = self._directory.read(name, lease_files.LEASE_LIMIT)
        if file is None:
            return None
        container_id, ifname = _parse_owner(file.content)
        path = self._directory.path_of(name)
        return Lease(path, address, container_id, ifname, file.changed, file.identity, file.content)

    def _is_used_by_host_local(self, name: str) -> bool:
        if name != lease_files.LOCK and not name.startswith(lease_files.LAST_RESERVED):
            return False
        status = self._directory.status(name)
        return status is None or stat.S_ISREG(status.st_mode)


def _parse_owner(content: bytes) -> tuple[str, str]:
    """Return the container and the interface in a lease."""
    container_id, dummy, ifname = content.decode("utf-8", "replace").strip().partition(lease_files.SEPARATOR)
    return container_id, ifname


def hold_lock(directory: LeaseDirectory) -> t.ContextManager[None]:
    """Hold host-local's lock for as long as host-local itself would; errors as `LeaseDirectory.lock`."""
    return directory.lock(_LOCK_TIMEOUT)


@contextlib.contextmanager
def hold_locked(path: str) -> t.Iterator[LeaseDirectory]:
    """Create a network's directory if it does not exist, and hold host-local's lock on it.

    Raises:
        CniError: ``TRY_AGAIN`` if host-local keeps its lock; ``IO_FAILURE``.
    """
    make_directory(path)
    with hold(path) as directory:
        if directory is None:
            raise CniError(Code.IO_FAILURE, f"{path} is not a directory")
        with hold_lock(directory):
            yield directory


@contextlib.contextmanager
def hold(path: str) -> t.Iterator[LeaseDirectory | None]:
    """Hold a network's directory open; yield None if the path does not exist or is not a directory.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold_directory(path) as directory:
        yield LeaseDirectory(directory) if directory else None


def find(path: str, address: str) -> Lease | None:
    """Return the lease of an address in a network's directory, or None.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold(path) as directory:
        return directory.find(address) if directory else None


def assign(path: str, address: str, container_id: str, ifname: str) -> None:
    """Write the lease of an address that no container has, and the network's directory if it is gone.

    Raises:
        CniError: ``LIMITED_CONNECTIVITY`` if another container has the address; ``TRY_AGAIN`` if host-local keeps its lock;
            ``IO_FAILURE``.
    """
    with hold_locked(path) as directory:
        directory.assign(address, container_id, ifname)


def free(path: str, address: str, container_id: str, ifname: str) -> None:
    """Free an address if it is assigned to this interface of a container; errors as `assign`."""
    with hold(path) as directory:
        if directory is not None:
            with hold_lock(directory):
                lease = directory.find(address)
                if lease is not None and lease.is_of(container_id, ifname):
                    directory.free(lease)
