# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Let more threads wait for a commit than work at the same time."""

from __future__ import annotations

import contextlib
import threading
import typing as t

_current = threading.local()


class WorkerSlots:
    """The slots of a run: a thread works only while it holds one.

    Args:
        count: The number of threads that work at the same time.
    """

    def __init__(self, count: int) -> None:
        self._semaphore = threading.Semaphore(count)

    @contextlib.contextmanager
    def hold(self) -> t.Iterator[None]:
        """Wait for a slot and hold it."""
        with self._semaphore:
            _current.semaphore = self._semaphore
            try:
                yield
            finally:
                _current.semaphore = None


@contextlib.contextmanager
def lend_slot() -> t.Iterator[None]:
    """Lend the slot of this thread, if it holds one, to another thread while this one waits."""
    semaphore: threading.Semaphore | None = getattr(_current, "semaphore", None)
    if semaphore is None:
        yield
        return
    semaphore.release()
    try:
        yield
    finally:
        semaphore.acquire()


__all__ = ("WorkerSlots", "lend_slot")
