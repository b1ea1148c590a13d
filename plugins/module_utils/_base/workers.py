# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A pool of threads, of which more may wait for a commit than work at the same time."""

from __future__ import annotations

import collections
import contextlib
import errno
import functools
import os
import threading
import typing as t

S = t.TypeVar("S")
T = t.TypeVar("T")
Job = t.Callable[[], None]
_current = threading.local()


class Workers:
    """A bounded pool of threads. The thread that calls `run` is the first of them.

    A thread that waits for a commit, a slow disk or a lock lends its place to another thread, so that more jobs can join
    the commit. Further threads start when there is a place for one, so that jobs which never wait have no need of them. A
    thread of its own starts them: one that a job started would begin in the network namespace of that job.

    Args:
        places: The number of threads that work at the same time.
        most: The number of threads, including those that wait for a place or have lent theirs.
        commits_only: Whether only a thread that waits for a commit lends its place.
    """

    def __init__(self, places: int, most: int, *, commits_only: bool = False) -> None:
        self.commits_only = commits_only
        # It is entered by itself, not by its conditions: these enter it in a function of Python, where an interruption would
        # leave it locked. That of a `Lock` could come while a condition locks it again.
        self._lock = threading.RLock()
        self._is_free = threading.Condition(self._lock)
        self._is_idle = threading.Condition(self._lock)
        self._is_decided = threading.Condition(self._lock)
        self._free = places
        self._most = most
        # Threads that have a place or wait for one.
        self._active = 0
        # How many further threads are to start; None until that is decided.
        self._further: int | None = None
        self._jobs: collections.deque[Job] = collections.deque()
        self._errors: list[BaseException] = []

    def run(self, jobs: t.Iterable[Job]) -> None:
        """Run all jobs. After an exception, begin no other job, and raise it when the begun jobs have ended."""
        self._jobs.extend(jobs)
        self._active = 1
        starter = threading.Thread(target=self._start_others)
        try:
            self._start(starter)
            self._enter()
            self._work()
            _join(starter)
        except BaseException:  # such as KeyboardInterrupt
            self._jobs.clear()
            with self._lock:
                self._decide()
            _join(starter)
            raise
        if self._errors:
            raise self._errors[0]

    @contextlib.contextmanager
    def lend(self) -> t.Iterator[None]:
        """Lend the place of this thread to another one."""
        self._leave()
        try:
            yield
        finally:
            with self._lock:
                self._active += 1
            self._enter()

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no thread works, but not longer than a time."""
        with self._lock:
            self._is_idle.wait_for(lambda: self._active == 0, seconds)

    def _start(self, starter: threading.Thread) -> None:
        try:
            starter.start()
        except RuntimeError:  # the process may have no further thread
            self._further = 0

    def _decide(self) -> None:
        """Set how many further threads the jobs that are left need, unless that is decided. The caller holds the lock."""
        if self._further is None:
            self._further = min(self._most - 1, len(self._jobs))
            self._active += self._further
            self._is_decided.notify()

    def _start_others(self) -> None:
        """Start the further threads, or as many as the process may have, and wait until they end."""
        with self._lock:
            self._is_decided.wait_for(lambda: self._further is not None)
        threads: list[threading.Thread] = []
        number = self._further or 0
        try:
            for dummy in range(number):
                threads.append(start_thread(self._begin))
        except OSError:
            with self._lock:
                self._count_out(number - len(threads))
        for thread in threads:
            thread.join()

    def _begin(self) -> None:
        self._enter()
        self._work()

    def _work(self) -> None:
        """Run jobs until none is left, and give up the place of this thread."""
        try:
            while (job := self._next_job()) is not None:
                job()
        except BaseException as exc:  # raised again by `run`
            self._errors.append(exc)
            self._jobs.clear()
        self._leave()

    def _next_job(self) -> Job | None:
        with self._lock:
            job = self._jobs.popleft() if self._jobs else None
            if self._free:
                self._decide()
            return job

    def _enter(self) -> None:
        with self._lock:
            self._is_free.wait_for(lambda: self._free > 0)
            self._free -= 1
        _current.workers = self

    def _leave(self) -> None:
        _current.workers = None
        with self._lock:
            self._free += 1
            self._is_free.notify()
            self._decide()
            self._count_out(1)

    def _count_out(self, number: int) -> None:
        self._active -= number
        if self._active == 0:
            self._is_idle.notify_all()


def start_thread(run: Job, *, is_daemon: bool = False) -> threading.Thread:
    """Start a thread, and return it.

    Args:
        is_daemon: Whether this process may end before it.

    Raises:
        OSError: ``EAGAIN``: this process may have no further thread.
    """
    thread = threading.Thread(target=run, daemon=is_daemon)
    try:
        thread.start()
    except RuntimeError as exc:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from exc
    return thread


def _join(thread: threading.Thread) -> None:
    """Wait for the end of a thread that may not have been started."""
    if thread.ident is not None:
        thread.join()


def collect(operation: t.Callable[[S], T], items: t.Sequence[S], places: int) -> list[T]:
    """Return what an operation returns for each item. Several threads work at the same time; errors as `Workers.run`."""
    results: dict[int, T] = {}

    def work(index: int) -> None:
        results[index] = operation(items[index])

    Workers(places, places).run(functools.partial(work, index) for index in range(len(items)))
    return [results[index] for index in range(len(items))]


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
