# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations that return code 11 are retried with growing pauses, within a time limit."""

from __future__ import annotations

import pathlib
import re
import time

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.conversation import AddNotUndone, retry
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    MemoryCall,
    fails_at,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_runtime import AttachedRuntime, network


def try_again_first(command: str, times: float) -> MemoryAnswer:
    """Return an answer that is code 11 for the first calls of one command."""
    calls: list[MemoryCall] = []

    def answer(call: MemoryCall) -> CniError | None:
        if call.command != command or len(calls) >= times:
            return None
        calls.append(call)
        return CniError(Code.TRY_AGAIN, "not now", "the pool is being rebuilt")

    return answer


def make_node(directory: pathlib.Path, seconds: float, **plugins: MemoryAnswer) -> AttachedRuntime:
    node = AttachedRuntime(directory, **plugins)
    node.runtime = Runtime(node.executor, str(directory / "cache"), seconds)
    return node


UNDONE = [("ADD", "a"), ("ADD", "b"), ("DEL", "c"), ("DEL", "b"), ("DEL", "a")]


def test_add_is_repeated_after_a_del_of_the_whole_list(tmp_path: pathlib.Path) -> None:
    node = make_node(tmp_path, 20, b=try_again_first("ADD", 2))
    node.runtime.add(network(), node.attachment)
    assert node.executor.run() == [*UNDONE, *UNDONE, ("ADD", "a"), ("ADD", "b"), ("ADD", "c")]
    assert (node.record is not None, node.intent) == (True, None)


def test_an_add_that_keeps_failing_fails_at_the_time_limit(tmp_path: pathlib.Path) -> None:
    node = make_node(tmp_path, 0.5, b=try_again_first("ADD", 100))
    error = error_of(node.runtime.add, network(), node.attachment)
    assert (error.code, error.msg) == (Code.TRY_AGAIN, "not now")
    assert "the pool is being rebuilt" in error.details
    tries = re.search(r"nothing is left behind\ntried ([23]) times in 0[.][0-9] s \(limit 0[.]5 s\)", error.details)
    assert tries is not None, error.details
    assert node.executor.run() == UNDONE * int(tries[1])
    assert (node.record, node.intent) == (None, None)


def test_an_add_whose_del_fails_is_not_repeated(tmp_path: pathlib.Path) -> None:
    node = make_node(tmp_path, 20, b=try_again_first("ADD", 100), a=fails_at("DEL"))
    error = error_of(node.runtime.add, network(), node.attachment)
    assert (error.code, "the DEL that followed failed too" in error.details) == (Code.TRY_AGAIN, True)
    assert node.executor.run() == UNDONE
    assert node.intent is not None


def test_between_two_adds_the_intent_has_the_restoration(tmp_path: pathlib.Path) -> None:
    """A run that is killed between the calls does not lose the restoration."""
    seen: list[str] = []

    def inspect(call: MemoryCall) -> CniError | None:
        intent = node.intent
        seen.append(f"{call.command} {intent.command if intent else ''}")
        return CniError(Code.TRY_AGAIN, "not now") if seen == ["ADD ADD"] else None

    node = make_node(tmp_path, 20, a=inspect)
    restoration = Restoration(("/opt/cni/bin",), 60.0)
    node.runtime.add(network(), node.attachment, restoration, is_replacement=True)
    assert seen == ["ADD ADD", "DEL ADD", "ADD ADD"]
    assert node.record is not None
    assert (node.record.restoration, node.intent) == (restoration, None)


@pytest.mark.parametrize("command", ["CHECK", "DEL"])
def test_check_and_del_of_a_single_plugin_are_retried(tmp_path: pathlib.Path, command: str) -> None:
    node = make_node(tmp_path, 20, b=try_again_first(command, 2))
    record = node.add()
    if command == "CHECK":
        node.runtime.check(record)
    else:
        node.runtime.delete(record)
    assert [plugin for dummy, plugin in node.executor.run()].count("b") == 3
    assert len(node.executor.run()) == 5


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_gc_and_status_are_not_retried(tmp_path: pathlib.Path, command: str) -> None:
    node = make_node(tmp_path, 20, b=try_again_first(command, 1))
    operation = {"GC": network_operations.gc, "STATUS": network_operations.status}[command]
    assert error_of(operation, node.runtime, network()).code == Code.TRY_AGAIN
    assert [plugin for dummy, plugin in node.executor.run()].count("b") == 1


def test_pauses_between_retries_grow() -> None:
    times: list[float] = []

    def fails() -> None:
        times.append(time.monotonic())
        raise CniError(Code.TRY_AGAIN, "not now")

    error_of(retry, fails, 0.8)
    pauses = [after - before for before, after in zip(times, times[1:])]
    assert len(pauses) in (2, 3)  # a busy machine oversleeps
    assert all(pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4)))


@pytest.mark.parametrize("error", [CniError(5, "broken"), AddNotUndone(11, "not now"), CniError(11, "not now")])
def test_errors_that_are_not_retried_are_raised_unchanged(error: CniError) -> None:
    def fails() -> None:
        raise error

    assert error_of(retry, fails, 0) is error
