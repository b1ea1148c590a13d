# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The directory of the named network namespaces, as ``ip netns`` keeps it."""

from __future__ import annotations

import contextlib
import errno
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import lock
from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory, make_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns, syscall

_LOCK_TIMEOUT = 60.0


class NetnsDirectory:
    """The directory of the named network namespaces, as ``ip netns`` keeps it."""

    def __init__(self, paths: NodePaths, lock_timeout: float = _LOCK_TIMEOUT) -> None:
        """
        Args:
            lock_timeout: Seconds to wait for another run that creates or removes a namespace.
        """
        self.path = paths.netns_dir
        self._lock = paths.netns_lock
        self._lock_timeout = lock_timeout

    def path_of(self, name: str) -> str:
        """Return the path of a named network namespace.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``.
        """
        return netns.path_of(self.path, name)

    def names(self) -> list[str]:
        """Return the names of all network namespaces of the node."""
        return [name for name in list_directory(self.path) if netns.is_namespace(os.path.join(self.path, name))]

    def create(self, name: str) -> bool:
        """Create a named network namespace, and return whether it was missing.

        An empty file, which an interrupted run leaves behind, is reused. A link that leads to no namespace is replaced.

        Raises:
            CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
        """
        path = self.path_of(name)
        with self._hold_lock():
            if netns.is_namespace(path):
                return False
            netns.require_removable(path)
            try:
                _share(self.path)
                if os.path.islink(path):
                    os.unlink(path)
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
                netns.run_in_new_thread(lambda: _pin_new_namespace(path))
            except OSError as exc:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                raise io_error("create the network namespace", path, exc) from exc
        return True

    def delete(self, name: str) -> bool:
        """Remove a named network namespace or a file in its place, and return whether there was one.

        If the file is a link, only the link itself is removed.

        Raises:
            CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
        """
        path = self.path_of(name)
        with self._hold_lock():
            try:
                # It may be mounted several times.
                while not os.path.islink(path) and netns.is_namespace(path):
                    syscall.unmount(path, syscall.MNT_DETACH)
                netns.require_removable(path)
                os.unlink(path)
            except FileNotFoundError:
                return False
            except OSError as exc:
                raise io_error("remove the network namespace", path, exc) from exc
        return True

    def _hold_lock(self) -> t.ContextManager[None]:
        return lock.hold_lock(self._lock, exclusive=True, timeout=self._lock_timeout, what=self.path)


def _share(directory: str) -> None:
    """Make the directory a shared mount, as iproute2 does, so that new namespaces are visible in all mount namespaces."""
    make_directory(directory)
    try:
        syscall.mount("", directory, syscall.MS_SHARED | syscall.MS_REC)
    except OSError as exc:
        if exc.errno != errno.EINVAL:  # not a mount point yet
            raise
        syscall.mount(directory, directory, syscall.MS_BIND | syscall.MS_REC)
        syscall.mount("", directory, syscall.MS_SHARED | syscall.MS_REC)


def _pin_new_namespace(path: str) -> None:
    syscall.unshare(syscall.CLONE_NEWNET)
    syscall.mount("/proc/thread-self/ns/net", path, syscall.MS_BIND)
