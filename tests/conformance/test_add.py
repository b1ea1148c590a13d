# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Adding an attachment", and the clean-up after a failure."""

from __future__ import annotations

import shutil
import threading

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

NO_LEASE: JsonObject = {"code": 117, "msg": "no lease", "details": "the pool is empty"}


def test_plugins_are_run_in_the_order_of_the_list(node: ConformanceNode) -> None:
    node.runtime.add(node.network("c", "a", "b", "a"), node.attachment())
    assert node.ran() == [("ADD", "c"), ("ADD", "a"), ("ADD", "b"), ("ADD", "a")]


def test_the_result_comes_from_the_last_plugin(node: ConformanceNode) -> None:
    node.write("b", ADD=ScriptedAnswer(result={"dns": {"domain": "b"}}))
    assert node.runtime.add(node.network("a", "b"), node.attachment()).keys == {
        "cniVersion": "1.1.0",
        "dns": {"domain": "b"},
    }


def test_the_result_is_kept_persistently_and_for_another_runtime(node: ConformanceNode) -> None:
    final = node.runtime.add(node.network("a"), node.attachment())
    kept = node.new_runtime().records.read(("net", "blue", "eth0"))
    assert kept is not None
    assert kept.result == final


def test_a_plugin_that_fails_stops_the_add_with_its_own_error(node: ConformanceNode) -> None:
    node.write("b", ADD=ScriptedAnswer(error=NO_LEASE))
    error = error_of(node.runtime.add, node.network("a", "b", "c"), node.attachment())
    assert (error.code, error.msg) == (117, "plugin b failed (ADD): no lease")
    assert error.details.startswith("the pool is empty")
    assert node.ran("ADD") == [("ADD", "a"), ("ADD", "b")]


def test_a_failed_add_is_followed_by_del_of_the_whole_list_differs_from_libcni(node: ConformanceNode) -> None:
    node.write("b", ADD=ScriptedAnswer(error=NO_LEASE))
    error = error_of(node.runtime.add, node.network("a", "b", "c"), node.attachment(args={"K": "V"}))
    assert node.ran("DEL") == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert {call.env["CNI_ARGS"] for call in node.calls("DEL")} == {"K=V"}
    assert "nothing is left behind" in error.details
    assert node.records_and_intents() == ([], [])


def test_the_error_of_add_has_both_failures_if_its_del_fails_differs_from_libcni(node: ConformanceNode) -> None:
    node.write("a", DEL=ScriptedAnswer(error={"code": 5, "msg": "no disk"}))
    node.write("b", ADD=ScriptedAnswer(error=NO_LEASE), DEL=ScriptedAnswer(exit=3))
    error = error_of(node.runtime.add, node.network("a", "b"), node.attachment())
    assert (error.code, error.msg) == (117, "plugin b failed (ADD): no lease")
    assert all(words in error.details for words in ("the DEL that followed failed too", "no disk", "exit status 3"))


def test_a_failed_del_of_a_failed_add_leaves_an_intent_differs_from_libcni(node: ConformanceNode) -> None:
    node.write("a", DEL=[ScriptedAnswer(exit=3), ScriptedAnswer()])
    node.write("b", ADD=ScriptedAnswer(error=NO_LEASE))
    error_of(node.runtime.add, node.network("a", "b"), node.attachment())
    (intent,) = node.records_and_intents()[1]
    assert (node.records_and_intents()[0], intent.command, intent.attachment) == ([], "DEL", node.attachment())
    node.plugins.forget()
    node.write("a")
    node.new_runtime().delete(intent)
    assert (node.ran(), node.records_and_intents()) == ([("DEL", "b"), ("DEL", "a")], ([], []))


def test_del_after_a_failed_add_has_its_own_time_limit(node: ConformanceNode) -> None:
    node.timeout = 3
    node.runtime = node.new_runtime()
    node.write("b", ADD=ScriptedAnswer(hang="yes"))
    error = error_of(node.runtime.add, node.network("a", "b"), node.attachment())
    assert "ran out of time" in error.msg
    assert node.ran("DEL") == [("DEL", "b"), ("DEL", "a")]
    assert all(call.ended for call in node.calls("DEL"))


def test_no_plugin_is_run_where_any_is_missing_differs_from_libcni(node: ConformanceNode) -> None:
    network = node.network("a", "b")
    (node.plugins.path / "b").unlink()
    error = error_of(node.runtime.add, network, node.attachment())
    assert (error.code, node.ran(), node.records_and_intents()) == (Code.INVALID_CONFIG, [], ([], []))


def test_no_plugin_is_run_where_a_delegated_one_is_missing_differs_from_libcni(node: ConformanceNode) -> None:
    network = node.network({"type": "a", "ipam": {"type": "missing"}})
    assert "'missing' is not installed" in error_of(node.runtime.add, network, node.attachment()).msg
    assert node.ran() == []


def test_the_error_for_a_non_executable_plugin_has_its_path_differs_from_libcni(node: ConformanceNode) -> None:
    network = node.network("a")
    (node.plugins.path / "a").chmod(0o644)
    assert (
        error_of(node.runtime.add, network, node.attachment()).msg == f"plugin {node.plugins.path}/a is not executable"
    )


def test_add_is_not_repeated_without_a_del_differs_from_libcni(node: ConformanceNode) -> None:
    network = node.network("a")
    node.add(network)
    assert "exists already" in error_of(node.runtime.add, network, node.attachment()).msg
    assert node.ran() == []


def test_a_container_may_be_added_again_with_another_interface(node: ConformanceNode) -> None:
    network = node.network("a")
    for ifname in ("eth0", "eth1"):
        node.runtime.add(network, node.attachment(ifname=ifname))
    assert [call.env["CNI_IFNAME"] for call in node.calls("ADD")] == ["eth0", "eth1"]


def test_an_add_whose_record_cannot_be_written_is_undone_differs_from_libcni(node: ConformanceNode) -> None:
    errors: list[CniError] = []
    with node.plugins.gate() as gate:
        node.write("a", ADD=ScriptedAnswer(hold=gate))
        network = node.network("a")
        adding = threading.Thread(target=lambda: errors.append(error_of(node.runtime.add, network, node.attachment())))
        adding.start()
        node.plugins.wait_for_held(1)
        shutil.rmtree(node.cache / "results", ignore_errors=True)
        (node.cache / "results").touch()
    adding.join()
    assert errors[0].code == Code.IO_FAILURE
    assert node.ran() == [("ADD", "a"), ("DEL", "a")]


@pytest.mark.parametrize("stdout", ["", "{", "[]", '"x"', '{"cniVersion": "9.9.9"}', '{"ips": [{"address": "x"}]}'])
def test_an_add_whose_result_cannot_be_read_is_undone_differs_from_libcni(node: ConformanceNode, stdout: str) -> None:
    node.write("b", ADD=ScriptedAnswer(stdout=stdout))
    error = error_of(node.runtime.add, node.network("a", "b", "c"), node.attachment())
    assert "plugin b" in error.msg
    assert node.ran("DEL") == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert node.records_and_intents() == ([], [])
