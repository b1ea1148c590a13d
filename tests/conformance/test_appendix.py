# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The specification's own examples: ADD, CHECK and DEL of the network dbnet."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.tests.conformance import appendix
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> ConformanceNode:
    """Return a node after ADD, CHECK and DEL with plugins that answer as in the appendix."""
    node = ConformanceNode(pathlib.Path(tmp_path_factory.mktemp("node")))
    node.write("host-local", "portmap")
    node.write("bridge", ADD=ScriptedAnswer(stdout=json.dumps(appendix.OF_BRIDGE)))
    node.write("tuning", ADD=ScriptedAnswer(stdout=json.dumps(appendix.FINAL)))
    network = config.parse(json.dumps(appendix.NETWORK).encode(), "dbnet.conflist")
    capability_args = {"portMappings": appendix.PORT_MAPPINGS, "mac": appendix.MAC}
    attachment = node.attachment(network="dbnet", args={"argA": "foo"}, capability_args=capability_args)
    node.runtime.add(network, attachment)
    node.runtime.check(node.record(attachment))
    node.runtime.delete(node.record(attachment))
    return node


@pytest.mark.parametrize(
    ("command", "printed"), [("ADD", appendix.ADD), ("CHECK", appendix.CHECK), ("DEL", appendix.DELETE)]
)
def test_requests_equal_those_of_the_specification(
    node: ConformanceNode, command: str, printed: list[JsonObject]
) -> None:
    assert node.requests(command) == printed


def test_plugins_run_in_the_order_of_the_specification(node: ConformanceNode) -> None:
    order = ["bridge", "tuning", "portmap"]
    assert [call.plugin for call in node.calls()] == [*order, *order, *reversed(order)]


def test_the_generic_argument_is_given_to_every_plugin(node: ConformanceNode) -> None:
    assert {(call.env["CNI_ARGS"], call.env["CNI_IFNAME"]) for call in node.calls()} == {("argA=foo", "eth0")}
