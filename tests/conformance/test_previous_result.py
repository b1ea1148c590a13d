# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result that a plugin gets as "prevResult" (section 3)."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_each_plugin_of_add_has_the_result_of_the_one_before(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"dns": {"domain": "a"}}))
    node.write("b", ADD=ScriptedAnswer(result={"dns": {"domain": "b"}}))
    node.runtime.add(node.network("a", "b", "c"), node.attachment())
    assert [request.get("prevResult", {}).get("dns") for request in node.requests("ADD")] == [
        None,
        {"domain": "a"},
        {"domain": "b"},
    ]


def test_the_first_plugin_of_add_gets_no_previous_result(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment())
    assert "prevResult" not in node.requests("ADD")[0]


@pytest.mark.parametrize(("command", "order"), [("CHECK", "abc"), ("DEL", "cba")])
def test_check_and_del_have_the_final_result_for_every_plugin(node: ConformanceNode, command: str, order: str) -> None:
    for name in "abc":
        node.write(name, ADD=ScriptedAnswer(result={"dns": {"domain": name}}))
    record = node.add(node.network("a", "b", "c"))
    node.runtime.check(record)
    node.runtime.delete(record)
    assert [call.plugin for call in node.calls(command)] == list(order)
    assert [request["prevResult"] for request in node.requests(command)] == [
        {"cniVersion": "1.1.0", "dns": {"domain": "c"}}
    ] * 3


def test_a_del_after_a_failed_add_has_the_last_result_each_time_it_is_run(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"dns": {"domain": "a"}}), DEL=[ScriptedAnswer(exit=3), ScriptedAnswer()])
    node.write("b", ADD=ScriptedAnswer(exit=1))
    with contextlib.suppress(CniError):
        node.runtime.add(node.network("a", "b"), node.attachment())
    (intent,) = node.records_and_intents()[1]
    node.new_runtime().delete(intent)
    assert [request["prevResult"]["dns"] for request in node.requests("DEL")] == [{"domain": "a"}] * 4


def test_a_result_in_another_version_is_converted_before_it_is_handed_on_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    old = {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1"}}
    node.write("a", ADD=ScriptedAnswer(result=old))
    final = node.runtime.add(node.network("a", "b"), node.attachment())
    converted = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1"}]}
    assert (node.requests("ADD")[1]["prevResult"], final.keys) == (converted, converted)


@pytest.mark.parametrize("named", [{}, {"cniVersion": ""}])
def test_a_result_without_a_version_has_the_version_of_the_request(node: ConformanceNode, named: JsonObject) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": "", **named}))
    assert node.runtime.add(node.network("a", version="0.4.0"), node.attachment()).keys == {"cniVersion": "0.4.0"}


def test_keys_that_the_specification_does_not_name_are_handed_on_differs_from_libcni(node: ConformanceNode) -> None:
    result = {"vendor": {"x": [1]}, "ips": [{"address": "10.1.0.5/16", "x": 9007199254740993}]}
    node.write("a", ADD=ScriptedAnswer(result=result))
    record = node.add(node.network("a", "b"))
    node.runtime.check(record)
    assert record.result is not None
    assert record.result.keys == {"cniVersion": "1.1.0", **result} == node.requests("CHECK")[0]["prevResult"]


def test_interface_0_is_handed_on_and_an_absent_one_stays_absent(node: ConformanceNode) -> None:
    ips = [{"address": "10.1.0.5/16", "interface": 0}, {"address": "10.1.0.6/16"}]
    node.write("a", ADD=ScriptedAnswer(result={"interfaces": [{"name": "eth0"}], "ips": ips}))
    node.runtime.add(node.network("a", "b"), node.attachment())
    assert node.requests("ADD")[1]["prevResult"]["ips"] == ips
