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

    A thread that waits for a commit, a slow disk or a lock lends its place to another thread, so that more jobs can join
    the commit.

    Args:
        places: The number of threads that work at the same time.
        most: The number of threads, including those that have lent their places.
        commits_only: Whether only a thread that waits for a commit lends its place.
    """

    def __init__(self, places: int, most: int, *, commits_only: bool = False) -> None:
        self.commits_only = commits_only
        self._lock = threading.Lock()
        self._is_free = threading.Condition(self._lock)
        self._is_idle = threading.Condition(self._lock)
        self._places = self._free = places
        self._most = most
        # Threads that have a place or wait for one.
        self._active = 0
        self._jobs: collections.deque[Job] = collections.deque()
        # Those that `run` has not joined. None ends before all jobs have begun.
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []

    def run(self, jobs: t.Iterable[Job]) -> None:
        """Run all jobs. After an exception, begin no other job, and raise it when the begun jobs have ended."""
        self._jobs.extend(jobs)
        for dummy in range(min(self._places, len(self._jobs)) - 1):
            self._start_thread()
        with self._lock:
            self._active += 1
        self._work()
        try:
            self._join_threads()
        except BaseException:  # such as KeyboardInterrupt
            self._jobs.clear()
            self._join_threads()
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
            with self._lock:
                self._active += 1
            self._enter()

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no thread works, but not longer than a time."""
        with self._is_idle:
            self._is_idle.wait_for(lambda: self._active == 0, seconds)

    def _join_threads(self) -> None:
        while self._threads:
            self._threads[0].join()
            del self._threads[0]

    def _start_thread(self) -> None:
        with self._lock:
            if self._jobs and len(self._threads) + 1 < self._most:
                thread = threading.Thread(target=self._work)
                with contextlib.suppress(RuntimeError):  # the process may have no more threads
                    thread.start()
                    self._threads.append(thread)
                    self._active += 1

    def _work(self) -> None:
        self._enter()
        try:
            while (job := self._next_job()) is not None:
                job()
        except BaseException as exc:  # raised again by `run`
            self._errors.append(exc)
            self._jobs.clear()
        self._leave()

    def _next_job(self) -> Job | None:
        with self._lock:
            return self._jobs.popleft() if self._jobs else None

    def _enter(self) -> None:
        with self._is_free:
            self._is_free.wait_for(lambda: self._free > 0)
            self._free -= 1
        _current.workers = self

    def _leave(self) -> None:
        _current.workers = None
        with self._lock:
            self._active -= 1
            self._free += 1
            self._is_free.notify()
            if self._active == 0:
                self._is_idle.notify_all()


def current_workers() -> Workers | None:
    """Return the workers to which this thread belongs; None if it belongs to none or has lent its place."""
    return getattr(_current, "workers", None)


def lend(*, for_commit: bool = False) -> t.ContextManager[None]:
    """Let another thread of the run work in the place of this one while this one waits.

    This thread must hold no lock that the other one may wait for.
    """
    workers = current_workers()
    if workers is None or (workers.commits_only and not for_commit):
        return contextlib.nullcontext()
    return workers.lend()
