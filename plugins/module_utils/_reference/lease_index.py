# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the leases of a container without reading those of all containers each time."""

from __future__ import annotations

import contextlib
import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory
from ansible_collections.cni.node.plugins.module_utils._linux.inotify import DirectoryWatch
from ansible_collections.cni.node.plugins.module_utils._reference import host_local

_SEPARATOR: t.Final = b"\r\n"
_NO_LEASES: t.Final = ("lock", "last_reserved_ip.")
# Bytes; host-local writes an id and the name of an interface.
_LIMIT: t.Final = 4096


class LeaseIndex:
    """The containers of the leases in each directory that this process has searched.

    The kernel tells which leases any process has changed since. Where it cannot, all leases are read each time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        # By device and inode of the directory.
        self._owners: dict[tuple[int, int], _Owners] = {}

    def find(self, directory: HeldDirectory, container_id: str) -> list[str]:
        """Return the sorted names of a container's leases; the caller holds the lock of the directory.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        with self._lock:
            if self._process != os.getpid():  # a watch would tell each change to only one of the two processes
                self._process = os.getpid()
                while self._owners:
                    self._owners.popitem()[1].close()
            status = os.fstat(directory.descriptor)
            key = (status.st_dev, status.st_ino)
            owners = self._owners.get(key) or self._owners.setdefault(key, _Owners(directory))
            owners.update(directory)
            return sorted(host_local.by_name(owners.find(os.fsencode(container_id))))


class _Owners:
    """The containers of the leases in a directory."""

    def __init__(self, directory: HeldDirectory) -> None:
        self._watch: DirectoryWatch | None = None
        with contextlib.suppress(OSError):
            self._watch = DirectoryWatch(directory.descriptor)
        self._is_read = False
        self._by_name: dict[str, bytes] = {}
        self._names: dict[bytes, set[str]] = {}

    def update(self, directory: HeldDirectory) -> None:
        """Read what has changed since the last call."""
        changed = self._changed_names() if self._is_read else None
        if changed is None:
            self._by_name, self._names = {}, {}
            changed = set(directory.names())
            self._is_read = True
        for name in changed:
            self._set(name, _read_owner(directory, name))

    def find(self, container_id: bytes) -> t.Collection[str]:
        return self._names.get(container_id, ())

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _changed_names(self) -> set[str] | None:
        if self._watch is None:
            return None
        try:
            return self._watch.changed_names()
        except OSError:
            return None

    def _set(self, name: str, owner: bytes | None) -> None:
        former = self._by_name.pop(name, None)
        if former is not None:
            self._names[former].discard(name)
        if owner is not None:
            self._by_name[name] = owner
            self._names.setdefault(owner, set()).add(name)


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
        return os.read(descriptor, _LIMIT).strip().partition(_SEPARATOR)[0]
    except OSError:
        return None
    finally:
        os.close(descriptor)


__all__ = ("LeaseIndex",)
