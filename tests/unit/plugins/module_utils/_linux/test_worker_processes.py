# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shares of work in several processes: each result arrives, and a process that ends early is told."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux.worker_processes import Turns, run_shares
from ansible_collections.cni.node.tests.support.until import until


def test_the_first_share_runs_here_and_each_other_one_in_a_process_of_its_own() -> None:
    pids = run_shares([1, 2, 3], lambda dummy: os.getpid())
    assert pids[0] == os.getpid()
    assert len(set(map(str, pids))) == 3


def test_results_come_in_the_order_of_the_shares_whatever_their_size() -> None:
    assert run_shares(["a", "b", "c"], lambda share: share * 1_000_000) == [
        "a" * 1_000_000,
        "b" * 1_000_000,
        "c" * 1_000_000,
    ]


def test_a_process_that_is_killed_is_an_error_of_its_share_alone() -> None:
    def run(share: str) -> str:
        if share == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return share

    first, killed, last = run_shares(["first", "killed", "last"], run)
    assert (first, last) == ("first", "last")
    assert isinstance(killed, CniError)
    assert (killed.code, killed.msg) == (Code.INTERNAL, "a process of this run ended early: SIGKILL")


def test_shares_for_which_there_is_no_further_process_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = os.fork

    def fork_once() -> int:
        monkeypatch.setattr(os, "fork", refuse)
        return fork()

    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", fork_once)
    files = os.listdir("/proc/self/fd")
    own = os.getpid()
    shares = run_shares(["a", "b", "c", "d"], lambda share: f"{share} {'here' if os.getpid() == own else 'elsewhere'}")
    assert shares == ["a here", "b elsewhere", "c here", "d here"]
    assert os.listdir("/proc/self/fd") == files


def test_an_unexpected_exception_in_a_process_is_the_error_of_its_share() -> None:
    def run(share: int) -> float:
        return 1 / share

    first, broken = run_shares([1, 0], run)
    assert first == 1
    assert isinstance(broken, CniError)
    assert broken.msg == "unexpected ZeroDivisionError: division by zero"


def test_an_exception_in_the_first_share_ends_the_other_processes() -> None:
    def run(share: str) -> None:
        if share == "own":
            raise KeyboardInterrupt
        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        run_shares(["own", "waits for ever"], run)


def test_processes_take_each_item_once() -> None:
    with contextlib.closing(Turns([f"item {number}" for number in range(5000)])) as turns:
        taken = run_shares([turns, turns, turns], list)
    lists = [items for items in taken if not isinstance(items, CniError)]
    assert len(lists) == 3
    assert sorted(item for items in lists for item in items) == sorted(f"item {number}" for number in range(5000))


def test_a_process_that_works_longer_takes_fewer_items() -> None:
    own, (begun, begin), (ended, end) = os.getpid(), os.pipe(), os.pipe()

    def take(turns: Turns[int]) -> list[int]:
        if os.getpid() == own:
            os.read(begun, 1)
            others = list(turns)
            os.write(end, b"x")
            return others
        first = next(turns)
        os.write(begin, b"x")
        os.read(ended, 1)
        return [first, *turns]

    try:
        with contextlib.closing(Turns(range(100))) as turns:
            here, there = run_shares([turns, turns], take)
    finally:
        for descriptor in (begun, begin, ended, end):
            os.close(descriptor)
    assert (here, there) == (list(range(1, 100)), [0])


def test_more_items_than_a_pipe_holds_are_refused() -> None:
    files = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="No space left"):
        Turns(range(1_000_000))
    assert os.listdir("/proc/self/fd") == files


def test_no_process_outlives_the_one_that_started_it() -> None:
    program = """
        import os, signal
        from ansible_collections.cni.node.plugins.module_utils._linux.worker_processes import run_shares

        def run(share):
            os.write(1, b"%d\\n" % os.getpid())
            signal.pause()

        run_shares([1, 2], run)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        try:
            assert process.stdout is not None
            pids = {int(process.stdout.readline()) for dummy in range(2)}
        finally:
            process.kill()
    (child,) = pids - {process.pid}
    until(lambda: not os.path.exists(f"/proc/{child}/root") or None, 10)
