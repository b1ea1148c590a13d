# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Commit the work of several threads together, the way a database groups its commits."""

from __future__ import annotations

import functools
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.process import OUT_OF_TIME
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers, current_workers, lend

T = t.TypeVar("T")
# Seconds after which a commit no longer waits for threads that work.
_LONGEST_WAIT = 2.0


class _Entry(t.Generic[T]):
    def __init__(self, item: T) -> None:
        self.item = item
        self.is_done = False
        self.error: BaseException | None = None


class GroupCommit(t.Generic[T]):
    """Collects items of threads and commits them all at once.

    The first thread that finds no commit under way commits for all. Within a run, it first waits until every thread of
    the run has submitted an item, waits for something else or has ended; a thread alone does not wait.

    Args:
        commit: Commits items and returns the errors of those that failed, by their numbers.
    """

    def __init__(self, commit: t.Callable[[t.Sequence[T]], t.Mapping[int, Exception]]) -> None:
        self._commit = commit
        self._lock = threading.RLock()  # entered as that of `Workers`
        self._condition = threading.Condition(self._lock)
        self._waiting: list[_Entry[T]] = []
        self._is_committing = False

    def submit(self, item: T) -> None:
        """Commit an item, with those of other threads; return when it is committed.

        Raises:
            BaseException: The error of this item, or the interruption of its commit.
        """
        entry, workers = _Entry(item), current_workers()
        with lend(for_commit=True):
            self._submit(entry, workers)
        if entry.error is not None:
            raise entry.error

    def _submit(self, entry: _Entry[T], workers: Workers | None) -> None:
        with self._lock:
            try:
                self._waiting.append(entry)
                self._condition.wait_for(lambda: entry.is_done or not self._is_committing)
            except BaseException:  # an interruption, after which the caller undoes what it has done
                if entry in self._waiting:
                    self._waiting.remove(entry)
                else:
                    self._condition.wait_for(lambda: entry.is_done)
                raise
            if entry.is_done:
                return
            self._is_committing = True
        try:
            if workers is not None:
                workers.wait_until_idle(_LONGEST_WAIT)
        finally:
            with self._lock:
                group, self._waiting = self._waiting, []
            self._commit_group(group)

    def _commit_group(self, group: t.Sequence[_Entry[T]]) -> None:
        errors: t.Mapping[int, BaseException]
        try:
            errors = self._commit([entry.item for entry in group])
        except BaseException as exc:  # also an interruption, which `submit` raises in each thread
            errors = dict.fromkeys(range(len(group)), exc)
        with self._lock:
            for number, entry in enumerate(group):
                entry.is_done, entry.error = True, errors.get(number)
            self._is_committing = False
            self._condition.notify_all()


def divide(
    commit: t.Callable[[t.Sequence[T]], t.Mapping[int, Exception]], items: t.Sequence[T], error: CniError
) -> dict[int, Exception]:
    """Commit each half of items that could not be committed together, and return the errors by their numbers.

    A single item has failed, and so have all if the time ran out: each half would take as long.

    Args:
        commit: As for `GroupCommit`; divides further.
        error: The error of all items together.
    """
    if len(items) == 1 or error.details == OUT_OF_TIME:
        return dict.fromkeys(range(len(items)), error)
    middle = len(items) // 2
    first, second = commit(items[:middle]), commit(items[middle:])
    return {**first, **{middle + number: exc for number, exc in second.items()}}


def commit_together(apply: t.Callable[[t.Sequence[T]], object], items: t.Sequence[T]) -> dict[int, Exception]:
    """Apply items all at once; if that fails, each half, until those that fail are known. Return the errors by their numbers.

    Args:
        apply: Applies items, or raises an error; it is called again with some of them.
    """
    if not items:
        return {}
    try:
        apply(items)
    except CniError as exc:
        return divide(functools.partial(commit_together, apply), items, exc)
    return {}
