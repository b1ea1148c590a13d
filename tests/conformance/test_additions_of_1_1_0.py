# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Additions of 1.1.0 to results; its operations, flags and keys have tests of their own."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

INTERFACE: JsonObject = {"name": "eth0", "mtu": 1500, "socketPath": "/run/sock", "pciID": "0000:00:1f.6"}
ROUTE: JsonObject = {
    "dst": "0.0.0.0/0",
    "gw": "10.1.0.1",
    "mtu": 1400,
    "advmss": 1360,
    "priority": 5,
    "table": 7,
    "scope": 253,
}


@pytest.mark.parametrize("result", [{"interfaces": [INTERFACE]}, {"routes": [ROUTE]}])
@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_fields_that_1_1_0_added_to_results_reach_every_plugin(
    node: ConformanceNode, result: JsonObject, command: str
) -> None:
    node.write("a", ADD=ScriptedAnswer(result=result))
    node.runtime.add(node.network("a", "b"), node.attachment())
    node.runtime.check(node.record())
    node.runtime.delete(node.record())
    assert [call.request["prevResult"] for call in node.calls(command) if call.plugin == "b"] == [
        {"cniVersion": "1.1.0", **result}
    ]


@pytest.mark.parametrize("result", [{"interfaces": [INTERFACE]}, {"routes": [ROUTE]}])
def test_conversion_between_1_0_0_and_1_1_0_loses_no_data(node: ConformanceNode, result: JsonObject) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": "1.1.0", **result}))
    assert node.runtime.add(node.network("a", version="1.0.0"), node.attachment()).keys == {
        "cniVersion": "1.0.0",
        **result,
    }
