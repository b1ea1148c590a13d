# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin whose file is open for writing cannot run (ETXTBSY); the engine retries within a time limit."""

from __future__ import annotations

import os
import pathlib
import threading
import time

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.noop import DebugFile
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, busy

BUSY_FOR = 0.4


@pytest.fixture
def binary(node: ConformanceNode, noop: pathlib.Path) -> pathlib.Path:
    """Return a plugin that is not a script, so that the kernel opens the file itself."""
    path = node.plugins.path / "noop"
    path.write_bytes(noop.read_bytes())
    path.chmod(0o755)
    return path


def free_later(path: pathlib.Path) -> threading.Timer:
    """Hold the file open for writing for `BUSY_FOR` seconds; return the timer that closes it."""
    timer = threading.Timer(BUSY_FOR, os.close, [os.open(path, os.O_WRONLY)])
    timer.start()
    return timer


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_an_executable_that_becomes_free_runs_once_differs_from_libcni(node: ConformanceNode, command: str) -> None:
    network = node.network("a")
    if command != "ADD":
        node.add(network)
    started = time.monotonic()
    timer = free_later(node.plugins.path / "a")
    if command == "ADD":
        node.runtime.add(network, node.attachment())
    elif command == "CHECK":
        node.runtime.check(node.record())
    else:
        node.runtime.delete(node.record())
    timer.join()
    assert time.monotonic() - started >= BUSY_FOR
    assert node.ran() == [(command, "a")]


@pytest.fixture
def slow_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each retry take ten seconds of the clock: longer than all retries may take, and less than a plugin may run."""
    clock, pauses = time.monotonic, list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 10 * len(pauses))


@pytest.mark.usefixtures("slow_retries")
def test_an_executable_that_stays_busy_fails_add_and_nothing_is_recorded(node: ConformanceNode) -> None:
    network, runtime = node.network("a"), node.new_runtime()
    with busy(node.plugins.path / "a"):
        error = error_of(runtime.add, network, node.attachment())
    assert (error.code, error.msg) == (
        Code.IO_FAILURE,
        f"plugin {node.plugins.path}/a cannot be started for ADD: Text file busy",
    )
    assert (node.ran(), node.records_and_intents()[0]) == ([], [])


@pytest.mark.usefixtures("slow_retries")
def test_an_executable_that_stays_busy_fails_del_and_the_record_stays_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    record = node.add(node.network("a", "b"))
    with busy(node.plugins.path / "b"):
        assert "Text file busy" in error_of(node.new_runtime().delete, record).msg
    assert (node.ran(), node.record()) == ([("DEL", "a")], record)
    node.runtime.delete(node.record())
    assert node.records_and_intents() == ([], [])


def test_retries_of_a_busy_executable_are_bounded_under_any_time_limit(node: ConformanceNode) -> None:
    node.write("a", STATUS=ScriptedAnswer())
    network = node.network("a")
    started = time.monotonic()
    with busy(node.plugins.path / "a"):
        error_of(network_operations.status, node.runtime, network)
    assert time.monotonic() - started < node.timeout / 2


def test_a_busy_binary_runs_once_when_it_becomes_free(node: ConformanceNode, binary: pathlib.Path) -> None:
    debug = DebugFile(node.directory / "debug")
    debug.write(result={"cniVersion": "1.0.0"})
    timer = free_later(binary)
    final = node.runtime.add(
        node.network({"type": "noop", "debugFile": str(debug.path)}, version="1.0.0"), node.attachment()
    )
    timer.join()
    assert final.keys == {"cniVersion": "1.0.0"}
