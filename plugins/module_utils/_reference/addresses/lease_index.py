# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the leases of a container without reading those of all containers each time."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import refuse_without_room
from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files

_SEPARATOR = lease_files.SEPARATOR.encode()
_NO_LEASES = (lease_files.LOCK, lease_files.LAST_RESERVED)
# The names of a directory's leases, by container.
_Names = dict[bytes, set[str]]


class _Current:
    # By device and inode of the directory; None outside of a run.
    directories: dict[tuple[int, int], _Names] | None = None


@contextlib.contextmanager
def keep() -> t.Iterator[None]:
    """Read the leases of each directory once for the block, which is a whole run; outside of it, for each search.

    A run finds the leases that were there before, and its own. It misses those that another run has written meanwhile,
    which matter only to DEL: host-local's `delete` looks for them. Processes that are forked later need not read again.
    """
    outer = _Current.directories
    _Current.directories = {} if outer is None else outer
    try:
        yield
    finally:
        _Current.directories = outer


def find(directory: HeldDirectory, container_id: str) -> list[str]:
    """Return the sorted names of a container's leases; the caller holds the lock of the directory.

    Some may have been freed, and belong to other containers now.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return sorted(lease_files.by_name(read(directory).get(os.fsencode(container_id), ())))


def read(directory: HeldDirectory) -> t.Mapping[bytes, t.Collection[str]]:
    """Return the names of all leases, by container; errors as `find`."""
    directories, identity = _Current.directories, _identity(directory)
    if directories is not None and identity in directories:
        return directories[identity]
    names: _Names = {}
    for name in directory.names():
        owner = _read_owner(directory, name)
        if owner is not None:
            names.setdefault(owner, set()).add(name)
    if directories is not None:
        directories[identity] = names
    return names


def note(directory: HeldDirectory, name: str, container_id: str) -> None:
    """Note a lease that was written; the caller holds the lock of the directory."""
    names = (_Current.directories or {}).get(_identity(directory))
    if names is not None:
        names.setdefault(os.fsencode(container_id), set()).add(name)


def _identity(directory: HeldDirectory) -> tuple[int, int]:
    status = os.fstat(directory.descriptor)
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
    except OSError as exc:
        refuse_without_room("open", directory.path_of(name), exc)
        return None
    try:
        return os.read(descriptor, lease_files.LEASE_LIMIT).strip().partition(_SEPARATOR)[0]
    except OSError:
        return None
    finally:
        os.close(descriptor)
