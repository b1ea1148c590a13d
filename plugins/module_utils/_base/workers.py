# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A pool of threads, of which more may wait for a commit than work at the same time."""

from __future__ import annotations

import collections
import contextlib
import threading
import typing as t

Job = t.Callable[[], None]
_current = threading.local()


class Workers:
    """A bounded pool of threads. The thread that calls `run` is the first of them.

    A thread that waits for a commit or a slow disk lends its place to another thread, so that more jobs can join the
    commit.

    Of the threads that have a place, one at a time computes, while others wait for a process, the disk or a lock:
    threads that compete for Python's lock with every system call take half as long again.

    Args:
        places: The number of threads that work at the same time.
        most: The number of threads, including those that have lent their places.
        lends_for_disk: Whether a thread that waits for a slow disk lends its place, too.
    """

    def __init__(self, places: int, most: int, *, lends_for_disk: bool = True) -> None:
        self.lends_for_disk = lends_for_disk
        lock = threading.Lock()
        self._is_free = threading.Condition(lock)
        self._is_idle = threading.Condition(lock)
        self._has_ended = threading.Condition(lock)
        self._turn = threading.Lock()
        self._places = self._free = places
        self._most = most
        self._threads = 0
        # Threads that have a place or wait for one.
        self._active = 0
        self._jobs: collections.deque[Job] = collections.deque()
        self._errors: list[BaseException] = []

    def run(self, jobs: t.Iterable[Job]) -> None:
        """Run all jobs. After an exception, begin no other job, and raise it when the begun jobs have ended."""
        self._jobs.extend(jobs)
        for dummy in range(min(self._places, len(self._jobs)) - 1):
            self._start_thread()
        with self._is_free:
            self._threads += 1
            self._active += 1
        self._work()
        try:
            self._wait_for_threads()
        except BaseException:  # such as KeyboardInterrupt
            self._jobs.clear()
            self._wait_for_threads()
            raise
        if self._errors:
            raise self._errors[0]

    @contextlib.contextmanager
    def lend(self) -> t.Iterator[None]:
        """Lend the place of this thread to another one, which is started if jobs are left."""
        self._start_thread()
        self._leave()
        try:
            yield
        finally:
            with self._is_free:
                self._active += 1
            self._enter()

    @contextlib.contextmanager
    def pause(self) -> t.Iterator[None]:
        """Let another thread compute; this one keeps its place.

        Afterwards it does not wait until the other one has ended: the other one may wait for a lock that this one holds.
        """
        self._end_turn()
        try:
            yield
        finally:
            self._begin_turn(waits=False)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no thread works, but not longer than a time; return whether none does."""
        with self._is_idle:
            return self._is_idle.wait_for(lambda: self._active == 0, seconds)

    def _wait_for_threads(self) -> None:
        with self._has_ended:
            self._has_ended.wait_for(lambda: self._threads == 0)

    def _start_thread(self) -> None:
        with self._is_free:
            if not self._jobs or self._threads >= self._most:
                return
            self._threads += 1
            self._active += 1
        try:
            threading.Thread(target=self._work).start()
        except RuntimeError:  # the process may have no more threads
            with self._is_free:
                self._active -= 1
                self._threads -= 1

    def _work(self) -> None:
        self._enter()
        try:
            while (job := self._next_job()) is not None:
                job()
        except BaseException as exc:  # raised again by `run`
            self._errors.append(exc)
            self._jobs.clear()
        self._leave()
        with self._has_ended:
            self._threads -= 1
            self._has_ended.notify_all()

    def _next_job(self) -> Job | None:
        with self._is_free:
            return self._jobs.popleft() if self._jobs else None

    def _enter(self) -> None:
        with self._is_free:
            self._is_free.wait_for(lambda: self._free > 0)
            self._free -= 1
        self._begin_turn()

    def _leave(self) -> None:
        self._end_turn()
        with self._is_free:
            self._active -= 1
            self._free += 1
            self._is_free.notify()
            if self._active == 0:
                self._is_idle.notify_all()

    def _begin_turn(self, *, waits: bool = True) -> None:
        _current.has_turn = self._turn.acquire(blocking=waits)
        _current.workers = self

    def _end_turn(self) -> None:
        _current.workers = None
        if _current.has_turn:
            self._turn.release()


def current_workers() -> Workers | None:
    """Return the workers to which this thread belongs; None if it belongs to none or has lent its place."""
    return getattr(_current, "workers", None)


def lend(*, for_disk: bool = False) -> t.ContextManager[None]:
    """Let another thread of the run work in the place of this one, which waits for a commit or the disk.

    This thread must hold no lock that the other one may wait for.
    """
    workers = current_workers()
    if workers is None or (for_disk and not workers.lends_for_disk):
        return contextlib.nullcontext()
    return workers.lend()


def pause() -> t.ContextManager[None]:
    """Let another thread of the run compute while this one waits for a process or a lock."""
    workers = current_workers()
    return workers.pause() if workers else contextlib.nullcontext()
