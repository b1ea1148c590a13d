# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import networks as fleet_networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import plugins as fleet_plugins


def network(subnet: str, name: str = "pods", **keys: t.Any) -> Document:
    plugin = {"type": "ptp", "ipam": {"type": "host-local", "subnet": subnet}, **keys}
    content = json.dumps({"cniVersion": "1.0.0", "name": name, "plugins": [plugin]}, indent=1).encode()
    document, dummy = read(Source(f"10-{name}.conflist", content))
    assert document is not None
    return document


def find_codes(**nodes: Document | list[Document]) -> list[tuple[str, str, str]]:
    listed = {node: documents if isinstance(documents, list) else [documents] for node, documents in nodes.items()}
    return [(finding.code, finding.file, finding.path) for finding in fleet_networks.findings(listed)]


def test_different_subnets_on_each_node_cause_no_finding() -> None:
    assert find_codes(a=network("10.1.0.0/24"), b=network("10.1.1.0/24"), c=network("10.1.2.0/24")) == []


def test_a_network_that_ends_at_each_node_may_be_the_same_on_all() -> None:
    assert find_codes(a=network("10.1.0.0/24"), b=network("10.1.0.0/24")) == []


def test_no_part_of_a_divided_network_may_be_on_two_nodes() -> None:
    collision = ("node-subnets-collide", "c: 10-pods.conflist", "/plugins/0/ipam")
    assert find_codes(a=network("10.1.0.0/24"), b=network("10.1.1.0/24"), c=network("10.1.0.0/24")) == [collision]
    assert find_codes(a=network("10.1.0.0/24"), c=network("10.1.0.0/16")) == [collision]


@pytest.mark.parametrize("shared", ["macvlan", "ipvlan", "vlan"])
def test_on_one_link_the_same_range_on_two_nodes_gives_out_addresses_twice(shared: str) -> None:
    nodes = {node: network("192.0.2.0/24", type=shared, master="eth0") for node in ("a", "b")}
    assert [code for code, *dummy in find_codes(**nodes)] == ["node-subnets-collide"]


def _whereabouts(**keys: t.Any) -> Document:
    return network("", type="macvlan", master="eth0", ipam={"type": "whereabouts", **keys})


def test_whereabouts_assigns_an_address_once_in_the_cluster() -> None:
    whole, half = _whereabouts(range="192.0.2.0/24"), _whereabouts(range="192.0.2.0/25")
    assert "node-subnets-collide" not in [code for code, *dummy in find_codes(a=whole, b=whole, c=half)]


def test_ranges_of_whereabouts_without_a_common_pool_may_not_overlap_on_two_nodes() -> None:
    apart = {"enable_overlapping_ranges": False}
    whole, half = (_whereabouts(range=f"192.0.2.0/{length}", **apart) for length in (24, 25))
    collisions = [file for code, file, dummy in find_codes(a=whole, b=whole, c=half) if code == "node-subnets-collide"]
    assert collisions == ["c: 10-pods.conflist"]


def test_a_range_of_a_thousand_nodes_is_one_finding_that_has_them_all() -> None:
    nodes = [f"node{number:04}" for number in range(1000)]
    shared = network("192.0.2.0/24", type="macvlan", master="eth0")
    (finding,) = fleet_networks.findings({node: [shared] for node in nodes})
    assert finding.message == (
        "192.0.2.1 to 192.0.2.254 of the network 'pods' is on 1000 nodes: node0000, node0001, node0002, node0003, node0004,"
        " node0005, node0006, node0007 and 992 more (10-pods.conflist)"
    )
    assert finding.as_dict()["nodes"] == nodes


def test_each_group_of_overlapping_ranges_is_one_finding() -> None:
    nodes = {
        "a": [network("", ipam=_ranges("10.1.0.0/16", "10.5.0.0/24"))],
        "b": [network("", ipam=_ranges("10.1.7.0/24", "10.6.0.0/24"))],
        "c": [network("", ipam=_ranges("10.1.8.0/24", "10.5.0.0/25"))],
    }
    found = [(finding.message, finding.nodes) for finding in fleet_networks.findings(nodes)]
    assert found == [
        (
            "10.1.0.1 to 10.1.255.254 of the network 'pods' on a overlaps with 10.1.7.1 to 10.1.7.254 on b and"
            " 10.1.8.1 to 10.1.8.254 on c (10-pods.conflist)",
            ("a", "b", "c"),
        ),
        (
            "10.5.0.1 to 10.5.0.254 of the network 'pods' on a overlaps with 10.5.0.1 to 10.5.0.126 on c"
            " (10-pods.conflist)",
            ("a", "c"),
        ),
    ]


def test_ranges_of_two_families_do_not_overlap() -> None:
    nodes = {
        "a": network("", ipam=_ranges("0.0.0.0/8", "10.1.0.0/24")),
        "b": network("", ipam=_ranges("::/104", "10.1.1.0/24")),
    }
    assert find_codes(**nodes) == []


def test_ranges_of_one_node_do_not_collide_with_each_other() -> None:
    both = network("", ipam=_ranges("10.1.0.0/16", "10.1.7.0/24"))
    assert find_codes(a=both, b=network("10.2.0.0/24")) == []


def test_one_name_for_two_networks_is_a_finding() -> None:
    (finding,) = fleet_networks.findings({"a": [network("10.1.0.0/24")], "b": [network("10.1.0.0/24", mtu=1400)]})
    assert (finding.code, finding.level, finding.file) == ("network-differs", "fleet", "b: 10-pods.conflist")
    assert finding.message == "the network 'pods' on b differs from the one on a (10-pods.conflist)"


def test_nodes_that_differ_from_most_are_one_finding() -> None:
    same, other = network("10.1.0.0/24"), network("10.1.0.0/24", mtu=1400)
    nodes = {f"n{number:04}": [other if number in (0, 7) else same] for number in range(1000)}
    (finding,) = fleet_networks.findings(nodes)
    assert finding.message == "the network 'pods' on n0000 and n0007 differs from the one on n0001 (10-pods.conflist)"
    assert (finding.file, finding.nodes) == ("n0000: 10-pods.conflist", ("n0000", "n0007"))


def test_networks_of_other_names_are_not_compared() -> None:
    assert find_codes(a=network("10.1.0.0/24"), b=network("10.1.0.0/16", name="other")) == []


def _ranges(*subnets: str, **keys: t.Any) -> JsonObject:
    return {"type": "host-local", "ranges": [[{"subnet": subnet, **keys}] for subnet in subnets]}


COLLIDING: dict[str, tuple[Document, Document]] = {
    "one inside the other": (network("10.1.0.0/16"), network("10.1.7.0/24")),
    "the end of one is the start of the other": (network("10.1.0.0/23"), network("10.1.1.0/24")),
    "ranges that meet in one address": (
        network("", ipam=_ranges("10.1.0.0/24", rangeStart="10.1.0.10", rangeEnd="10.1.0.20")),
        network("", ipam=_ranges("10.1.0.0/24", rangeStart="10.1.0.20", rangeEnd="10.1.0.30")),
    ),
    "the second family only": (
        network("", ipam=_ranges("10.1.0.0/24", "fd00:1::/64")),
        network("", ipam=_ranges("10.1.1.0/24", "fd00:1::/65")),
    ),
    "one link for all": (
        network("10.9.0.0/24", type="macvlan", master="eth0"),
        network("10.9.0.0/24", type="macvlan", master="eth0"),
    ),
}
DIFFERING: dict[str, tuple[JsonObject, JsonObject]] = {
    "an MTU": ({}, {"mtu": 1400}),
    "another plugin": ({}, {"type": "bridge"}),
    "a plugin's option": ({"ipMasq": True}, {"ipMasq": False}),
    "routes": ({"ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}]}}, {"ipam": {"type": "host-local"}}),
    "another IPAM plugin": ({"ipam": {"type": "dhcp"}}, {"ipam": {"type": "static"}}),
}


@pytest.mark.parametrize(("first", "second"), COLLIDING.values(), ids=COLLIDING)
def test_addresses_that_two_nodes_give_out_collide(first: Document, second: Document) -> None:
    assert [code for code, *dummy in find_codes(a=first, b=second)] == ["node-subnets-collide"]


@pytest.mark.parametrize(("first", "second"), DIFFERING.values(), ids=DIFFERING)
def test_a_network_defined_in_another_way_differs(first: JsonObject, second: JsonObject) -> None:
    assert [
        code for code, *dummy in find_codes(a=network("10.1.0.0/24", **first), b=network("10.1.1.0/24", **second))
    ] == ["network-differs"]


def _release(
    version: str, digest: str = "sha256:1", bin_dir: str = "/opt/cni/bin", *, current: bool = True
) -> JsonObject:
    return {"bin_dir": bin_dir, "version": version, "digest": digest, "current": current}


def _plugin(*versions: str, path: str = "/opt/cni/bin/bridge", shadowed: bool = False) -> JsonObject:
    return {"type": "bridge", "path": path, "versions": list(versions), "shadowed": shadowed}


OTHER_PLUGINS: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "another release": (
        {"releases": [_release("1.8.0")]},
        {"releases": [_release("1.9.1")]},
        "the release in /opt/cni/bin is 1.9.1 (sha256:1) on b, and 1.8.0 (sha256:1) on a",
    ),
    "the same release, built anew": (
        {"releases": [_release("1.9.1")]},
        {"releases": [_release("1.9.1", "sha256:2")]},
        "the release in /opt/cni/bin is 1.9.1 (sha256:2) on b, and 1.9.1 (sha256:1) on a",
    ),
    "another release than the one kept": (
        {"releases": [_release("1.9.1"), _release("1.8.0", current=False)]},
        {"releases": [_release("1.9.1", current=False), _release("1.8.0")]},
        "the release in /opt/cni/bin is 1.8.0 (sha256:1) on b",
    ),
    "an older plugin": (
        {"plugins": [_plugin("1.0.0", "1.1.0")]},
        {"plugins": [_plugin("1.0.0")]},
        "the list of versions that bridge supports is 1.0.0 on b, and 1.0.0, 1.1.0 on a",
    ),
    "an older plugin in another directory": (
        {"plugins": [_plugin("1.0.0", "1.1.0")]},
        {"plugins": [_plugin("1.0.0", path="/usr/lib/cni/bridge")]},
        "the list of versions that bridge supports is 1.0.0 on b",
    ),
    "another release of a set": (
        {"releases": [_release("1.9.1"), {**_release("1.9.5"), "set": "consul-cni"}]},
        {"releases": [_release("1.9.1"), {**_release("1.9.0"), "set": "consul-cni"}]},
        "the release of the set consul-cni in /opt/cni/bin is 1.9.0",
    ),
}
SAME_PLUGINS: dict[str, tuple[JsonObject, JsonObject]] = {
    "a plugin that one node has not": ({"plugins": [_plugin("1.0.0")]}, {"plugins": []}),
    "another release that is only kept": (
        {"releases": [_release("1.9.1")]},
        {"releases": [_release("1.9.1"), _release("1.8.0", current=False)]},
    ),
    "an older plugin that is never run": (
        {"plugins": [_plugin("1.1.0")]},
        {"plugins": [_plugin("1.1.0"), _plugin("1.0.0", path="/usr/lib/cni/bridge", shadowed=True)]},
    ),
    "releases in other directories": (
        {"releases": [_release("1.9.1")]},
        {"releases": [_release("1.8.0", bin_dir="/opt/other")]},
    ),
    "another set beside the same release": (
        {"releases": [_release("1.9.1")]},
        {"releases": [_release("1.9.1"), {**_release("1.9.5"), "set": "consul-cni"}]},
    ),
    "nothing gathered": ({}, {"plugins": [_plugin("1.0.0")]}),
}


@pytest.mark.parametrize(("first", "second", "message"), OTHER_PLUGINS.values(), ids=OTHER_PLUGINS)
def test_different_plugins_on_another_node_are_a_finding(first: JsonObject, second: JsonObject, message: str) -> None:
    (finding,) = fleet_plugins.findings({"a": first, "b": second})
    assert (finding.code, finding.level, finding.severity) == ("plugin-differs", "fleet", "warning")
    assert finding.file.startswith("b: /")
    assert message in finding.message


def test_nodes_with_another_release_than_most_are_one_finding() -> None:
    nodes = {
        f"n{number:04}": {"releases": [_release("1.8.0" if number in (0, 7) else "1.9.1")]} for number in range(1000)
    }
    (finding,) = fleet_plugins.findings(nodes)
    assert finding.message == (
        "the release in /opt/cni/bin is 1.8.0 (sha256:1) on n0000 and n0007, and 1.9.1 (sha256:1) on n0001"
    )
    assert finding.nodes == ("n0000", "n0007")


@pytest.mark.parametrize(("first", "second"), SAME_PLUGINS.values(), ids=SAME_PLUGINS)
def test_equivalent_plugins_cause_no_finding(first: JsonObject, second: JsonObject) -> None:
    assert list(fleet_plugins.findings({"a": first, "b": second})) == []
