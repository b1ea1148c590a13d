# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A runtime may be killed at any moment; the next run cleans up with DEL and finishes."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.conformance.other_process import hold_in_other_process, start_operation
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import wait_until_dead


def killed_at(node: ConformanceNode, command: str, plugin: str) -> None:
    """Kill another process while a plugin of its operation runs."""
    with hold_in_other_process(node, command, plugin=plugin) as process:
        process.kill()
        process.wait()
    for call in node.calls():  # a plugin does not end with its runtime
        wait_until_dead(call.pid)
    node.write(plugin)


def the_intent(node: ConformanceNode) -> Record:
    (intent,) = node.records_and_intents()[1]
    return intent


@pytest.mark.parametrize(("plugin", "has_result"), [("a", False), ("b", True)])
def test_a_killed_add_leaves_an_intent_differs_from_libcni(
    node: ConformanceNode, plugin: str, has_result: bool
) -> None:
    node.network("a", "b")
    killed_at(node, "ADD", plugin)
    intent = the_intent(node)
    assert (intent.command, intent.attachment, intent.result is not None) == ("ADD", node.attachment(), has_result)
    assert [plugin.type for plugin in intent.network().plugins] == ["a", "b"]
    assert node.records_and_intents()[0] == []


@pytest.mark.parametrize("plugin", ["a", "b"])
def test_the_run_after_a_killed_add_runs_del_of_the_whole_list_and_adds_again_differs_from_libcni(
    node: ConformanceNode, plugin: str
) -> None:
    network = node.network("a", "b")
    killed_at(node, "ADD", plugin)
    node.plugins.forget()
    node.runtime.delete(the_intent(node))
    node.runtime.add(network, node.attachment())
    assert node.ran() == [("DEL", "b"), ("DEL", "a"), ("ADD", "a"), ("ADD", "b")]
    assert ([record.attachment for record in node.records_and_intents()[0]], node.records_and_intents()[1]) == (
        [node.attachment()],
        [],
    )


@pytest.mark.parametrize("plugin", ["a", "b"])
def test_a_killed_del_keeps_the_record(node: ConformanceNode, plugin: str) -> None:
    record = node.add(node.network("a", "b"))
    killed_at(node, "DEL", plugin)
    assert (node.record(), the_intent(node).command) == (record, "DEL")


@pytest.mark.parametrize("plugin", ["a", "b"])
def test_the_run_after_a_killed_del_repeats_the_whole_del(node: ConformanceNode, plugin: str) -> None:
    node.add(node.network("a", "b"))
    killed_at(node, "DEL", plugin)
    node.plugins.forget()
    node.runtime.delete(node.record())
    assert (node.ran(), node.records_and_intents()) == ([("DEL", "b"), ("DEL", "a")], ([], []))


def test_a_run_that_was_killed_while_it_undid_a_failed_add_leaves_the_intent_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    network = node.network("a", "b")
    with node.plugins.gate() as gate:
        node.write("a", DEL=ScriptedAnswer(hold=gate))
        node.write("b", ADD=ScriptedAnswer(exit=1))
        with start_operation(node, "ADD") as process:
            node.plugins.wait_for_held(1)
            process.kill()
            process.wait()
    wait_until_dead(node.calls("DEL")[-1].pid)
    assert (node.records_and_intents()[0], the_intent(node).command) == ([], "DEL")
    node.write("a", "b")
    node.runtime.delete(the_intent(node))
    node.runtime.add(network, node.attachment())
    assert node.records_and_intents() == ([node.record()], [])


def test_a_killed_check_changes_nothing(node: ConformanceNode) -> None:
    record = node.add(node.network("a", "b"))
    killed_at(node, "CHECK", "b")
    assert node.records_and_intents() == ([record], [])


def test_files_of_a_killed_run_are_where_no_other_runtime_looks(node: ConformanceNode) -> None:
    node.network("a", "b")
    killed_at(node, "ADD", "b")
    assert {path.relative_to(node.cache).parts[0] for path in node.cache.rglob("*") if path.is_file()} == {"cni.node"}
