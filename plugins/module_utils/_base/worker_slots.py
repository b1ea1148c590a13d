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

    Of the threads that hold a slot, one at a time begins to compute, while others wait for a process, the disk or a lock.
    Threads that compete for Python's lock with every system call take half as long again.

    Args:
        count: The number of threads that work at the same time.
        expected: The number of threads that will hold a slot, as far as it is known in advance.
    """

    def __init__(self, count: int, expected: int = 0) -> None:
        lock = threading.Lock()
        self._is_free = threading.Condition(lock)
        self._is_idle = threading.Condition(lock)
        self._free = count
        # Threads that hold a slot or wait for one, and those that are expected to.
        self._active = self._expected = expected
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def hold(self) -> t.Iterator[None]:
        """Wait for a slot and hold it."""
        with self._is_free:
            was_expected = self._expected > 0
            self._expected -= was_expected
            self._active += not was_expected
        self._acquire()
        try:
            yield
        finally:
            self._release()

    @contextlib.contextmanager
    def lend(self) -> t.Iterator[None]:
        """Lend the slot of this thread to another one."""
        self._release()
        try:
            yield
        finally:
            with self._is_free:
                self._active += 1
            self._acquire()

    @contextlib.contextmanager
    def pause(self) -> t.Iterator[None]:
        """Let another thread compute; this one keeps its slot.

        Afterwards it does not wait until the other one has ended: the other one may wait for a lock that this one holds.
        """
        self._end_turn()
        try:
            yield
        finally:
            self._begin_turn(waits=False)

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no thread works, but not longer than a time."""
        with self._is_idle:
            self._is_idle.wait_for(lambda: self._active == 0, seconds)

    def _acquire(self) -> None:
        with self._is_free:
            self._is_free.wait_for(lambda: self._free > 0)
            self._free -= 1
        self._begin_turn()

    def _release(self) -> None:
        self._end_turn()
        with self._is_free:
            self._active -= 1
            self._free += 1
            self._is_free.notify()
            if self._active == 0:
                self._is_idle.notify_all()

    def _begin_turn(self, *, waits: bool = True) -> None:
        _current.has_turn = self._turn.acquire(blocking=waits)
        _current.slots = self

    def _end_turn(self) -> None:
        _current.slots = None
        if _current.has_turn:
            self._turn.release()


def current_slots() -> WorkerSlots | None:
    """Return the slots of which this thread holds one; None for a thread of no run, and while it has lent its slot."""
    return getattr(_current, "slots", None)


def pause() -> t.ContextManager[None]:
    """Let another thread of the run compute while this one waits for a process, the disk or a lock."""
    slots = current_slots()
    return slots.pause() if slots else contextlib.nullcontext()


__all__ = ("WorkerSlots", "current_slots", "pause")
