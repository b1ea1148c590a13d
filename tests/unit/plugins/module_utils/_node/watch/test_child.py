# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A child process reports, waits for permission, and ends with all that it has started."""

from __future__ import annotations

import os
import select
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.watch.child import Child, Report
from ansible_collections.cni.node.tests.support.descriptors import no_more_files
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.until import until


def read(child: Child, *, number: int = 1) -> tuple[list[JsonObject], bool]:
    reports: list[JsonObject] = []
    has_ended = False
    deadline = time.monotonic() + 20
    while len(reports) < number and not has_ended and time.monotonic() < deadline:
        select.select([child.descriptor], [], [], 1)
        new, has_ended = child.read()
        reports += new
    return reports, has_ended


def test_reports_arrive_in_their_order_and_the_processor_time_at_the_end() -> None:
    def work(report: Report, dummy: t.Callable[[], None]) -> None:
        for number in range(3):
            report({"number": number, "text": "\n\u2028" * 100_000})
        sum(range(3_000_000))

    child = Child(work, ())
    reports, has_ended = read(child, number=4)
    assert ([report["number"] for report in reports], has_ended) == ([0, 1, 2], True)
    status, seconds = child.end()
    assert status in (0, -9)  # it may be about to end
    assert 0 < seconds < 20


def test_nothing_happens_before_the_permission() -> None:
    def work(report: Report, await_permission: t.Callable[[], None]) -> None:
        report({"step": 1})
        await_permission()
        report({"step": 2})

    child = Child(work, ())
    assert read(child) == ([{"step": 1}], False)
    time.sleep(0.2)
    assert child.read() == ([], False)
    child.permit()
    assert read(child)[0] == [{"step": 2}]
    child.end()


def test_an_unexpected_error_is_a_report() -> None:
    def work(dummy: Report, _await_permission: t.Callable[[], None]) -> None:
        raise ValueError("never foreseen")

    child = Child(work, ())
    (report,) = read(child)[0]
    assert report["error"].startswith("unexpected ValueError: never foreseen")
    child.end()


def test_a_child_that_cannot_be_started_is_an_error_and_leaves_no_pipe_open() -> None:
    before = os.listdir("/proc/self/fd")
    with no_more_files(room=2):
        error = error_of(Child, lambda *dummy: None, ())
    assert (error.code, error.msg) == (Code.IO_FAILURE, "cannot start another process: Too many open files")
    assert os.listdir("/proc/self/fd") == before


def test_the_end_kills_what_it_has_started() -> None:
    def work(report: Report, await_permission: t.Callable[[], None]) -> None:
        report({"pid": subprocess.Popen(["sleep", "100"]).pid})
        await_permission()

    child = Child(work, ())
    (report,) = read(child)[0]
    status, dummy = child.end()
    assert status == -9
    until(lambda: None if _runs(report["pid"]) else True, 20)


def _runs(pid: int) -> bool:
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:  # it has ended; its program is gone before its process
        return False


def test_inherited_descriptors_are_closed() -> None:
    read_end, write_end = os.pipe()

    def work(report: Report, await_permission: t.Callable[[], None]) -> None:
        report({})
        await_permission()

    child = Child(work, (write_end,))
    read(child)
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    child.end()
