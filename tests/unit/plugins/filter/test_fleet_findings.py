# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.fleet_findings import fleet_findings


def pods(subnet: str) -> JsonObject:
    plugin = {"type": "ptp", "ipam": {"type": "host-local", "subnet": subnet}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [plugin]}


def find_codes(nodes: t.Any) -> list[tuple[str, str]]:
    return [(finding["file"], finding["code"]) for finding in fleet_findings(nodes)]


def test_nodes_are_compared_for_every_form_of_networks() -> None:
    assert find_codes({"a": pods("10.1.0.0/24"), "b": [json.dumps(pods("10.1.1.0/24"))]}) == []
    collision = ("b: conflists[0]", "node-subnets-collide")
    assert find_codes({"a": pods("10.1.0.0/24"), "b": [json.dumps(pods("10.1.0.0/25"))]}) == [collision]


def test_a_broken_network_is_found_and_does_not_hide_others() -> None:
    nodes = {"a": ["{"], "b": pods("10.1.0.0/24"), "c": pods("10.1.0.0/16")}
    assert find_codes(nodes) == [("a: conflists[0]", "not-json"), ("c: conflists[0]", "node-subnets-collide")]


@pytest.mark.parametrize("nonsense", [5, None, [], {"a": 5}, {"a": [[]]}])
def test_input_of_another_type_is_refused_in_one_sentence(nonsense: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"fleet_findings: .*found "):
        fleet_findings(nonsense)


class TaggedList(list[t.Any]):
    """A value of a class of its own, as ansible-core 2.19 and later pass them."""


def test_an_error_names_the_type_in_plain_words() -> None:
    for nodes, node_info in ((TaggedList(), None), ({}, TaggedList()), ({}, {"a": TaggedList()})):
        with pytest.raises(AnsibleFilterError, match=r"found a list; "):
            fleet_findings(nodes, node_info)
    with pytest.raises(AnsibleFilterError, match=r"plugins of a: found a number; "):
        fleet_findings({}, {"a": {"plugins": 5}})


def test_plugins_of_the_nodes_are_compared() -> None:
    info = {
        node: {"plugins": [{"type": "bridge", "path": "/opt/cni/bin/bridge", "versions": [version]}]}
        for node, version in (("a", "1.0.0"), ("b", "1.1.0"))
    }
    (finding,) = fleet_findings({}, info)
    assert (finding["code"], finding["file"]) == ("plugin-differs", "b: /opt/cni/bin/bridge")


@pytest.mark.parametrize("nonsense", [5, [], {"a": 5}, {"a": {"plugins": 5}}, {"a": {"releases": [5]}}])
def test_nodes_of_another_type_are_refused_in_one_sentence(nonsense: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"fleet_findings: .*found "):
        fleet_findings({}, nonsense)
