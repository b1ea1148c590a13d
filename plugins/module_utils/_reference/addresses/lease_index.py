# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the leases of a container without reading those of all containers each time."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory
from ansible_collections.cni.node.plugins.module_utils._linux.inotify import DirectoryWatch
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files

_SEPARATOR = lease_files.SEPARATOR.encode()
_NO_LEASES = (lease_files.LOCK, lease_files.LAST_RESERVED)


class LeaseIndex:
    """The containers of the leases in each directory that this process has searched.

    The kernel tells which leases any process has changed since. Where it cannot, all leases are read each time. A forked
    process goes on with what its parent has read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By device and inode of the directory.
        self._owners: dict[tuple[int, int], _Owners] = {}
        os.register_at_fork(
            before=self._begin_fork,
            after_in_parent=functools.partial(self._end_fork, is_child=False),
            after_in_child=functools.partial(self._end_fork, is_child=True),
        )

    def find(self, directory: HeldDirectory, container_id: str) -> list[str]:
        """Return the sorted names of a container's leases; the caller holds the lock of the directory.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        with self._lock:
            owners = self._update(directory)
            return sorted(lease_files.by_name(owners.find(os.fsencode(container_id))))

    def read(self, directory: HeldDirectory) -> None:
        """Read the leases before processes are forked that need them; errors as `find`."""
        with self._lock:
            self._update(directory)

    def _update(self, directory: HeldDirectory) -> _Owners:
        identity = _identity(directory.descriptor)
        owners = self._owners.get(identity) or self._owners.setdefault(identity, _Owners(directory))
        owners.update(directory)
        return owners

    def _begin_fork(self) -> None:
        self._lock.acquire()
        for identity, owners in self._owners.items():
            owners.begin_fork(identity)

    def _end_fork(self, *, is_child: bool) -> None:
        for owners in self._owners.values():
            owners.end_fork(is_child=is_child)
        self._lock.release()


class _Owners:
    """The containers of the leases in a directory."""

    def __init__(self, directory: HeldDirectory) -> None:
        self._path = directory.path
        self._watch: DirectoryWatch | None = None
        # The watch of a process that is being forked: each change is told to one reader of a watch only.
        self._spare: DirectoryWatch | None = None
        # Changes that are not read yet; None if all leases must be read.
        self._changed: set[str] | None = None
        self._by_name: dict[str, bytes] = {}
        self._names: dict[bytes, set[str]] = {}

    def update(self, directory: HeldDirectory) -> None:
        """Read what has changed since the last call."""
        self._note_changes()
        changed = self._changed
        if changed is None:
            self._by_name, self._names = {}, {}
            self._close_watch()
            self._watch = _watch(directory.descriptor)
            changed = set(directory.names())
        for name in changed:
            self._set(name, _read_owner(directory, name))
        self._changed = None if self._watch is None else set()

    def find(self, container_id: bytes) -> t.Collection[str]:
        return self._names.get(container_id, ())

    def begin_fork(self, identity: tuple[int, int]) -> None:
        """Open the watch of the new process, and only then note the changes until now, so that none is missed."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                self._spare = _watch(descriptor) if _identity(descriptor) == identity else None
            finally:
                os.close(descriptor)
        self._note_changes()

    def end_fork(self, *, is_child: bool) -> None:
        """Keep the watch of this process."""
        spare, self._spare = self._spare, None
        if is_child:
            self._close_watch()
            self._watch = spare
            self._changed = self._changed if spare else None
        elif spare is not None:
            spare.close()

    def _close_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _note_changes(self) -> None:
        """Add what has changed since the last call."""
        try:
            names = self._watch.changed_names() if self._watch else None
        except OSError:
            names = None
        self._changed = None if names is None or self._changed is None else self._changed | names

    def _set(self, name: str, owner: bytes | None) -> None:
        former = self._by_name.pop(name, None)
        if former is not None:
            self._names[former].discard(name)
        if owner is not None:
            self._by_name[name] = owner
            self._names.setdefault(owner, set()).add(name)


def _watch(descriptor: int) -> DirectoryWatch | None:
    """Return a watch of a directory; None if the kernel has none left."""
    try:
        return DirectoryWatch(descriptor)
    except OSError:
        return None


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _read_owner(directory: HeldDirectory, name: str) -> bytes | None:
    """Return the container of a lease; None if there is no such file.

    There may be thousands of them: whether one is a regular file and of this container is seen when it is read again.
    """
    if not name[:1].isalnum() or name.startswith(_NO_LEASES):
        return None
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory.descriptor)
    except OSError:
        return None
    try:
        return os.read(descriptor, lease_files.LEASE_LIMIT).strip().partition(_SEPARATOR)[0]
    except OSError:
        return None
    finally:
        os.close(descriptor)
