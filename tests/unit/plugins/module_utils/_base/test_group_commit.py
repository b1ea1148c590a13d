# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import concurrent.futures
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import group_commit
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit
from ansible_collections.cni.node.plugins.module_utils._base.worker_slots import WorkerSlots, pause
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
        return {number: ValueError(item) for number, item in enumerate(items) if item.startswith("bad")}


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


def submit_behind(disk: SlowDisk, *items: str) -> dict[str, concurrent.futures.Future[None]]:
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


def test_what_waits_for_a_commit_goes_into_the_next_one_together(disk: SlowDisk) -> None:
    futures = submit_behind(disk, "a", "b", "c")
    assert [future.result() for future in futures.values()] == [None] * 4
    assert [sorted(group) for group in disk.groups] == [["first"], ["a", "b", "c"]]


def test_one_that_fails_does_not_fail_the_others_of_its_group(disk: SlowDisk) -> None:
    futures = submit_behind(disk, "a", "bad one", "bad other", "b")
    assert {name: str(future.exception()) for name, future in futures.items() if future.exception()} == {
        "bad one": "bad one",
        "bad other": "bad other",
    }


def test_a_commit_that_fails_as_a_whole_fails_its_group_and_no_later_one(disk: SlowDisk) -> None:
    futures = submit_behind(disk, "breaks the disk", "a")
    assert [isinstance(future.exception(), OSError) for future in futures.values()] == [False, True, True]
    GroupCommit(disk.commit).submit("later")


def test_a_thread_that_waits_for_a_commit_lends_its_slot(disk: SlowDisk) -> None:
    commits, slots = GroupCommit(disk.commit), WorkerSlots(1)
    began: list[str] = []

    def work(item: str) -> None:
        with slots.hold():
            began.append(item)
            commits.submit(item)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(work, item) for item in ("a", "b", "c")]
        until(lambda: len(began) == 3)
        assert len(disk.groups) == 1
        disk.goes_on.set()
    assert [future.result() for future in futures] == [None] * 3


def test_a_commit_waits_for_the_threads_of_its_run_that_still_work(disk: SlowDisk) -> None:
    commits, slots = GroupCommit(disk.commit), WorkerSlots(1, expected=3)
    disk.goes_on.set()

    def work(item: str) -> None:
        with slots.hold():
            commits.submit(item)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(work, item) for item in ("a", "b", "c")]:
            future.result()
    assert [sorted(group) for group in disk.groups] == [["a", "b", "c"]]


def test_a_commit_does_not_wait_for_ever(disk: SlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_PATIENCE", 0.01)
    disk.goes_on.set()
    with WorkerSlots(1, expected=2).hold():
        GroupCommit(disk.commit).submit("a")
    assert disk.groups == [["a"]]


def test_while_one_thread_waits_for_a_process_another_one_computes() -> None:
    slots, order = WorkerSlots(2), list[str]()
    has_paused = threading.Event()

    def wait_for_a_process() -> None:
        with slots.hold():
            with pause():
                has_paused.set()
                until(lambda: order or None)
            order.append("process")

    def compute() -> None:
        assert has_paused.wait(10)
        with slots.hold():
            order.append("computed")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(wait_for_a_process), pool.submit(compute)]:
            future.result()
    assert order == ["computed", "process"]


def test_a_thread_that_has_waited_does_not_wait_for_one_that_needs_its_lock() -> None:
    slots, lock = WorkerSlots(2), threading.Lock()
    has_paused = threading.Event()

    def hold_the_lock() -> None:
        with slots.hold(), lock, pause():
            has_paused.set()
            until(lambda: wants_lock.is_set() or None)

    wants_lock = threading.Event()

    def want_the_lock() -> None:
        assert has_paused.wait(10)
        with slots.hold():
            wants_lock.set()
            assert lock.acquire(timeout=10)
            lock.release()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(hold_the_lock), pool.submit(want_the_lock)]:
            future.result()


def test_without_a_commit_no_more_threads_work_than_there_are_slots() -> None:
    slots, working, most = WorkerSlots(2), 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal working, most
        with slots.hold():
            with lock:
                working += 1
                most = max(most, working)
            threading.Event().wait(0.001)
            with lock:
                working -= 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work) for dummy in range(40)]:
            future.result()
    assert most <= 2
