# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.plugin_utils._validation import fleet
from ansible_collections.cni.node.plugins.plugin_utils._validation.document import Document, read

Json = dict[str, t.Any]


def network(subnet: str, name: str = "pods", **keys: t.Any) -> Document:
    plugin = {"type": "ptp", "ipam": {"type": "host-local", "subnet": subnet}, **keys}
    content = json.dumps({"cniVersion": "1.0.0", "name": name, "plugins": [plugin]}, indent=1).encode()
    document, dummy = read(content, f"10-{name}.conflist")
    assert document is not None
    return document


def found(**nodes: Document | list[Document]) -> list[tuple[str, str, str]]:
    listed = {node: one if isinstance(one, list) else [one] for node, one in nodes.items()}
    return [(finding.code, finding.file, finding.path) for finding in fleet.findings(listed)]


def test_a_subnet_for_each_node_is_as_it_should_be() -> None:
    assert found(a=network("10.1.0.0/24"), b=network("10.1.1.0/24"), c=network("10.1.2.0/24")) == []


def test_a_network_that_ends_at_each_node_may_be_the_same_on_all() -> None:
    assert found(a=network("10.1.0.0/24"), b=network("10.1.0.0/24")) == []


def test_of_a_network_cut_into_subnets_none_may_be_on_two_nodes() -> None:
    collision = ("node-subnets-collide", "c: 10-pods.conflist", "/plugins/0/ipam")
    assert found(a=network("10.1.0.0/24"), b=network("10.1.1.0/24"), c=network("10.1.0.0/24")) == [collision]
    assert found(a=network("10.1.0.0/24"), c=network("10.1.0.0/16")) == [collision]


@pytest.mark.parametrize("shared", ["macvlan", "ipvlan", "vlan"])
def test_on_one_link_the_same_range_on_two_nodes_gives_out_addresses_twice(shared: str) -> None:
    nodes = {node: network("192.0.2.0/24", type=shared, master="eth0") for node in ("a", "b")}
    assert [code for code, *dummy in found(**nodes)] == ["node-subnets-collide"]


def test_one_name_for_two_networks_is_seen() -> None:
    (one,) = fleet.findings({"a": [network("10.1.0.0/24")], "b": [network("10.1.0.0/24", mtu=1400)]})
    assert (one.code, one.level, one.file) == ("network-differs", "fleet", "b: 10-pods.conflist")
    assert one.message == "the network 'pods' is not the same on b as on a (10-pods.conflist)"


def test_networks_of_other_names_are_not_compared() -> None:
    assert found(a=network("10.1.0.0/24"), b=network("10.1.0.0/16", name="other")) == []
