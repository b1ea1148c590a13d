# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Lifecycle & Ordering": operations of one process wait for those of another. The reference runtime locks nothing."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.conformance.other_process import hold_in_other_process, start_operation
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import close_stdin

OPERATIONS = ("ADD", "CHECK", "DEL")


@pytest.fixture
def limited_runtime(node: ConformanceNode) -> Runtime:
    """Return a runtime that does not wait. Blue has an attachment to each of two networks, red has none."""
    for name in ("net", "other"):
        node.add(node.network("a", "b", name=name), node.attachment(network=name))
    node.lock_timeout = 0
    return node.new_runtime()


def find_refusal(
    node: ConformanceNode, runtime: Runtime, command: str, container: str = "blue", network: str = "net"
) -> CniError:
    """Return the error of an operation that ran no plugin."""
    before = len(node.ran(command))
    attachment, configuration = node.attachment(container, network=network), node.network("a", "b", name=network)
    if command == "ADD":
        error = error_of(runtime.add, configuration, attachment)
    elif command == "GC":
        error = error_of(network_operations.gc, runtime, configuration)
    else:
        error = error_of(runtime.check if command == "CHECK" else runtime.delete, node.record(attachment))
    assert len(node.ran(command)) == before
    return error


@pytest.mark.parametrize("command", OPERATIONS)
def test_gc_waits_for_operations_on_its_network_differs_from_libcni(
    node: ConformanceNode, limited_runtime: Runtime, command: str
) -> None:
    with hold_in_other_process(node, command, "red" if command == "ADD" else "blue"):
        error = find_refusal(node, limited_runtime, "GC")
    assert (error.code, "network net is in use" in error.msg) == (Code.TRY_AGAIN, True)
    network_operations.gc(limited_runtime, node.network("a", "b"))


@pytest.mark.parametrize("command", OPERATIONS)
def test_operations_on_a_network_wait_for_its_gc_differs_from_libcni(
    node: ConformanceNode, limited_runtime: Runtime, command: str
) -> None:
    with hold_in_other_process(node, "GC"):
        error = find_refusal(node, limited_runtime, command, "red" if command == "ADD" else "blue")
    assert (error.code, "network net is in use" in error.msg) == (Code.TRY_AGAIN, True)


def test_an_add_waits_for_gc_to_complete_differs_from_libcni(node: ConformanceNode) -> None:
    node.network("a", "b")
    with contextlib.ExitStack() as processes:
        with hold_in_other_process(node, "GC"):
            adder = processes.enter_context(start_operation(node, "ADD", "red"))
        assert close_stdin(adder) == "done"
    ended = [call.ended for call in node.calls("GC")]
    assert len([time for time in ended if time and time <= node.calls("ADD")[0].started]) == 2


def test_gc_of_one_network_does_not_block_other_networks(node: ConformanceNode, limited_runtime: Runtime) -> None:
    with hold_in_other_process(node, "GC"):
        limited_runtime.add(node.network("a", "b", name="other"), node.attachment("red", network="other"))


@pytest.mark.parametrize("command", OPERATIONS)
def test_operations_on_one_container_are_not_run_in_parallel_differs_from_libcni(
    node: ConformanceNode, limited_runtime: Runtime, command: str
) -> None:
    with hold_in_other_process(node, "CHECK"):
        network = "other" if command != "ADD" else "third"
        error = find_refusal(node, limited_runtime, command, network=network)
    assert (error.code, "container blue is in use" in error.msg) == (Code.TRY_AGAIN, True)


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_operations_on_different_containers_run_in_parallel(
    node: ConformanceNode, limited_runtime: Runtime, command: str
) -> None:
    node.add(node.network("a", "b"), node.attachment("green"))
    with hold_in_other_process(node, command, "red" if command == "ADD" else "green"):
        if command == "CHECK":
            node.write("a")
        limited_runtime.check(node.record())


def test_a_killed_process_releases_its_locks(node: ConformanceNode, limited_runtime: Runtime) -> None:
    with hold_in_other_process(node, "CHECK") as process:
        process.kill()
        process.wait()
        node.write("a")
        limited_runtime.check(node.record())
        network_operations.gc(limited_runtime, node.network("a", "b"))
