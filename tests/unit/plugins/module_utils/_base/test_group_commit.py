# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import signal
import sys
import threading
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import group_commit, workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit, divide
from ansible_collections.cni.node.plugins.module_utils._base.process import OUT_OF_TIME
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers, lend
from ansible_collections.cni.node.tests.support.until import until


class SlowDisk:
    """Commits groups of items; the first commit waits until a test lets it go on."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.goes_on = threading.Event()

    def commit(self, items: t.Sequence[str]) -> dict[int, Exception]:
        self.groups.append(list(items))
        assert self.goes_on.wait(10)
        if "breaks the disk" in items:
            raise OSError("the disk is broken")
        if "interrupts the commit" in items:
            raise KeyboardInterrupt
        return {number: ValueError(item) for number, item in enumerate(items) if item.startswith("bad")}

    def wait_for_a_commit(self) -> None:
        until(lambda: self.groups or None)


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


def submit_during_commit(disk: SlowDisk, *items: str) -> dict[str, concurrent.futures.Future[None]]:
    """Submit an item, and others from threads of their own while its commit is under way."""
    commits = GroupCommit(disk.commit)
    pool = concurrent.futures.ThreadPoolExecutor(len(items) + 1)
    futures = {"first": pool.submit(commits.submit, "first")}
    until(lambda: disk.groups == [["first"]])
    futures.update({item: pool.submit(commits.submit, item) for item in items})
    until(lambda: len(commits._waiting) == len(items))
    disk.goes_on.set()
    pool.shutdown()
    return futures


def test_waiting_jobs_are_committed_together_by_the_next_commit(disk: SlowDisk) -> None:
    futures = submit_during_commit(disk, "a", "b", "c")
    assert [future.result() for future in futures.values()] == [None] * 4
    assert [sorted(group) for group in disk.groups] == [["first"], ["a", "b", "c"]]


def test_a_job_that_fails_does_not_fail_the_others_of_its_group(disk: SlowDisk) -> None:
    futures = submit_during_commit(disk, "a", "bad one", "bad other", "b")
    assert {name: str(future.exception()) for name, future in futures.items() if future.exception()} == {
        "bad one": "bad one",
        "bad other": "bad other",
    }


def test_a_failed_commit_fails_its_group_but_no_later_group(disk: SlowDisk) -> None:
    futures = submit_during_commit(disk, "breaks the disk", "a")
    assert [isinstance(future.exception(), OSError) for future in futures.values()] == [False, True, True]
    GroupCommit(disk.commit).submit("later")


def test_no_job_of_an_interrupted_commit_succeeds(disk: SlowDisk) -> None:
    futures = submit_during_commit(disk, "interrupts the commit", "a")
    assert [isinstance(future.exception(), KeyboardInterrupt) for future in futures.values()] == [False, True, True]
    GroupCommit(disk.commit).submit("later")


def test_an_item_is_not_committed_after_its_thread_was_interrupted(disk: SlowDisk) -> None:
    commits, waiting = GroupCommit(disk.commit), threading.get_ident()

    def interrupt_the_second() -> None:
        until(lambda: commits._waiting or None)
        signal.pthread_kill(waiting, signal.SIGINT)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pool.submit(commits.submit, "first")
        until(lambda: disk.groups == [["first"]])
        pool.submit(interrupt_the_second)
        with pytest.raises(KeyboardInterrupt):
            commits.submit("second")
        disk.goes_on.set()
        commits.submit("third")
    assert disk.groups == [["first"], ["third"]]


def run(places: int, jobs: t.Iterable[t.Callable[[], None]], most: int = 64) -> None:
    """Run jobs in workers, with the disk that the test has let go on."""
    Workers(places, most).run(jobs)


def test_threads_that_wait_for_a_commit_free_their_slots_and_are_committed_together(disk: SlowDisk) -> None:
    commits = GroupCommit(disk.commit)
    disk.goes_on.set()
    run(1, [functools.partial(commits.submit, item) for item in "abc"])
    assert [sorted(group) for group in disk.groups] == [["a", "b", "c"]]


def test_the_number_of_waiting_threads_is_limited(disk: SlowDisk) -> None:
    commits = GroupCommit(disk.commit)
    disk.goes_on.set()
    run(1, [functools.partial(commits.submit, item) for item in "abcde"], most=2)
    assert sorted(item for group in disk.groups for item in group) == list("abcde")
    assert max(map(len, disk.groups)) == 2


def test_a_commit_waits_for_a_limited_time(disk: SlowDisk) -> None:
    disk.goes_on.set()
    run(2, [functools.partial(GroupCommit(disk.commit).submit, "a"), disk.wait_for_a_commit])
    assert disk.groups == [["a"]]


def test_a_thread_that_waits_lends_its_place() -> None:
    order: list[str] = []

    def wait_for_the_other() -> None:
        with lend():
            until(lambda: order or None)
        order.append("waited")

    run(1, [wait_for_the_other, lambda: order.append("worked")])
    assert order == ["worked", "waited"]


def test_no_job_starts_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would begin in the network namespace of the job."""
    barrier = threading.Barrier(3)
    busy: set[int] = set()
    starters: list[int] = []
    start = threading.Thread.start

    def note_start(thread: threading.Thread) -> None:
        starters.append(threading.get_ident())
        assert starters[-1] not in busy
        start(thread)

    def work() -> None:
        busy.add(threading.get_ident())
        with lend():
            barrier.wait(10)
        busy.remove(threading.get_ident())

    monkeypatch.setattr(threading.Thread, "start", note_start)
    run(1, [work] * 3)
    assert len(starters) == 3


def test_jobs_that_do_not_wait_share_one_thread() -> None:
    others = threading.active_count()
    counts: set[int] = set()
    run(1, [lambda: counts.add(threading.active_count())] * 3)
    # One more would start others.
    assert counts == {others + 1}


def test_threads_that_cannot_start_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def refuse(dummy: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def work() -> None:
        with lend():
            done.append("lent")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    run(1, [work] * 3)
    run(2, [work])
    assert len(done) == 4


def test_workers_may_lend_their_places_for_commits_only() -> None:
    threads: set[int] = set()

    def wait() -> None:
        threads.add(threading.get_ident())
        with lend():
            pass

    Workers(1, 64, commits_only=True).run([wait] * 3)
    assert threads == {threading.get_ident()}


def test_the_number_of_working_threads_is_limited() -> None:
    working, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        threading.Event().wait(0.001)
        with lock:
            working -= 1

    run(2, [work] * 40)
    assert most == 2


def test_after_an_exception_no_other_job_begins_and_it_is_raised() -> None:
    began: list[str] = []

    def fail() -> None:
        began.append("fails")
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        run(1, [fail, lambda: began.append("next")])
    assert began == ["fails"]


def test_a_single_slot_runs_jobs_in_the_calling_thread() -> None:
    threads: set[int] = set()
    run(1, [lambda: threads.add(threading.get_ident())] * 3)
    assert threads == {threading.get_ident()}


def test_jobs_run_if_no_thread_can_be_started(disk: SlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(dummy: threading.Thread) -> t.NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    disk.goes_on.set()
    run(4, [functools.partial(GroupCommit(disk.commit).submit, item) for item in "abc"])
    assert disk.groups == [["a"], ["b"], ["c"]]


class Transactions:
    """Commits numbers; a transaction that has a bad one fails as a whole."""

    def __init__(self, *bad: int, details: str = "") -> None:
        self._bad, self._details = bad, details
        self.tried: list[list[int]] = []

    def commit(self, items: t.Sequence[int]) -> dict[int, Exception]:
        self.tried.append(list(items))
        if not set(items).isdisjoint(self._bad):
            return divide(self.commit, items, CniError(Code.IO_FAILURE, f"cannot commit {list(items)}", self._details))
        return {}


def test_a_group_that_fails_is_divided_until_those_that_fail_are_known() -> None:
    transactions = Transactions(2)
    errors = transactions.commit([1, 2, 3, 4])
    assert {number: str(error) for number, error in errors.items()} == {1: "cannot commit [2]"}
    assert transactions.tried == [[1, 2, 3, 4], [1, 2], [1], [2], [3, 4]]


def test_a_group_that_ran_out_of_time_is_not_divided() -> None:
    transactions = Transactions(2, details=OUT_OF_TIME)
    assert set(transactions.commit([1, 2, 3])) == {0, 1, 2}
    assert transactions.tried == [[1, 2, 3]]


@pytest.mark.parametrize("ours", [workers.__file__, group_commit.__file__])
def test_no_lock_is_kept_by_an_interruption_as_soon_as_it_is_held(ours: str) -> None:
    """Interrupt where a condition has entered its lock, in a function of Python, and `with` does not know of it yet."""

    def interrupt(frame: types.FrameType, event: str, dummy: object) -> None:
        places = [each.f_code.co_filename for each in (frame, frame.f_back) if each]
        if event == "c_return" and frame.f_code.co_name == "__enter__" and places == [threading.__file__, ours]:
            sys.setprofile(None)
            raise KeyboardInterrupt

    def work() -> None:
        commits = GroupCommit[str](lambda dummy: {})
        sys.setprofile(interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            run(2, [functools.partial(commits.submit, item) for item in "abc"])

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
