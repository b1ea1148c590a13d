# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Locks for each container and each network (section 3, "Lifecycle & Ordering")."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment


def file_name(kind: str, name: str) -> str:
    """Return the lock file name of a ``network`` or ``container``. A network's file stays while the network is in use."""
    return f"{kind}-{hashlib.sha256(name.encode('utf-8')).hexdigest()[:32]}"


class Exclusion:
    """Locks of containers and networks (section 3, "Lifecycle & Ordering").

    A container has one operation at a time. A network has many at once, or one GC alone. The locks hold between
    processes and between threads. A thread may take a lock that it already holds.

    Attributes:
        directory: The directory of the locks.
        timeout: Seconds to wait for other holders.
    """

    def __init__(self, directory: str, timeout: float) -> None:
        self.directory = directory
        self.timeout = timeout
        self._thread_state = threading.local()

    @contextlib.contextmanager
    def lock_attachment(self, attachment: Attachment) -> t.Iterator[None]:
        """Lock the container against other operations and its network against GC.

        Raises:
            CniError: ``TRY_AGAIN`` on a timeout.
        """
        with (
            self._lock("network", attachment.network, exclusive=False),
            self._lock("container", attachment.container_id, exclusive=True),
        ):
            yield

    def lock_network(self, name: str) -> t.ContextManager[None]:
        """Lock the network against operations on all its attachments."""
        return self._lock("network", name, exclusive=True)

    @contextlib.contextmanager
    def _lock(self, kind: str, name: str, *, exclusive: bool) -> t.Iterator[None]:
        held_locks: dict[tuple[str, str], bool] = self._thread_state.__dict__.setdefault("exclusive", {})
        lock = kind, name
        if lock in held_locks:
            if exclusive and not held_locks[lock]:
                raise CniError(
                    Code.INTERNAL,
                    f"this operation already shares the lock of {kind} {name}",
                    "expected: no lock held, because a shared lock cannot become exclusive",
                )
            yield
            return
        path = os.path.join(self.directory, file_name(kind, name))
        with hold_lock(path, exclusive=exclusive, timeout=self.timeout, what=f"{kind} {name}"):
            held_locks[lock] = exclusive
            try:
                yield
            finally:
                del held_locks[lock]
