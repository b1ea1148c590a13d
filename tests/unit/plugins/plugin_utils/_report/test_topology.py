# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The topology of a node."""

from __future__ import annotations

import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible_collections.cni.node.plugins.plugin_utils._report import topology
from ansible_collections.cni.node.plugins.plugin_utils._report.topology import Topology
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report.example_fleet import (
    LINKS,
    attachment,
    bridge,
    facts,
    fleet,
    link,
    network,
)


def read(**parts: t.Any) -> Topology:
    (node,) = fleet({"one": facts(**parts)})["nodes"]
    return topology.read(node)


def test_a_bridge_is_masqueraded_and_a_macvlan_is_on_its_link() -> None:
    bridge_segment, macvlan = read().segments
    assert (bridge_segment.title, bridge_segment.networks, bridge_segment.addresses) == (
        "bridge cni0",
        ("dbnet",),
        ("10.1.0.1/16",),
    )
    assert [(path.uplink, path.how) for path in bridge_segment.paths] == [("eth0", "masquerade")]
    assert (macvlan.title, [(path.uplink, path.how) for path in macvlan.paths]) == (
        "macvlan on eth0.100",
        [("eth0.100", "joined")],
    )


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_two_networks_on_one_bridge_are_one_segment_with_the_paths_of_both(names: str) -> None:
    networks = {"a": network("a", bridge()), "b": network("b", bridge(ipMasq=False, isGateway=False))}
    listed = [networks[name] for name in names]
    (segment,) = read(networks=listed, attachments=[attachment("gone", "red")]).segments
    assert segment.networks == (*names, "gone")
    assert [(path.uplink, path.how) for path in segment.paths] == [("eth0", "masquerade")]


def test_a_bridge_port_other_than_a_veth_joins_the_bridge_with_the_outside_network() -> None:
    links = [*LINKS, link("eth1", master="cni0")]
    (segment,) = read(networks=[network("a", bridge(ipMasq=False))], attachments=[], links=links).segments
    assert [(path.uplink, path.how) for path in segment.paths] == [("eth1", "joined"), ("eth0", "routed")]


def test_a_missing_bridge_is_marked_only_if_something_is_attached_to_it() -> None:
    links = [entry for entry in LINKS if entry["name"] != "cni0"]
    assert [segment.is_missing for segment in read(links=links).segments] == [True, False]
    assert [segment.is_missing for segment in read(links=links, attachments=[]).segments] == [False, False]
    # Links that were not gathered say nothing.
    assert [segment.is_missing for segment in read(links=[]).segments] == [False, False]


def test_a_missing_link_of_a_macvlan_is_marked() -> None:
    links = [entry for entry in LINKS if entry["name"] != "eth0.100"]
    assert {uplink.name: uplink.is_missing for uplink in read(links=links).uplinks} == {"eth0": False, "eth0.100": True}


def test_an_attachment_of_a_removed_network_is_on_the_bridge_of_its_result() -> None:
    (segment,) = read(networks=[], attachments=[attachment("gone", "red")]).segments
    assert (segment.title, segment.networks) == ("bridge cni0", ("gone",))
    bare = attachment("gone", "red", result=None)
    (segment,) = read(networks=[], attachments=[bare]).segments
    assert segment.title == "no configuration"


def test_links_that_refer_to_each_other_in_a_circle_are_listed_once() -> None:
    links = [link("a", parent="b", uplink=True), link("b", parent="a"), link("c", parent="c", uplink=True)]
    assert [uplink.name for uplink in read(links=links, networks=[], attachments=[]).uplinks] == ["a", "b", "c"]


def test_a_link_on_top_of_another_one_follows_it() -> None:
    links = [link("eth0.7", parent="eth0", vlan=7, uplink=True), link("eth1", uplink=True), link("eth0")]
    names = [uplink.name for uplink in read(links=links, networks=[], attachments=[]).uplinks]
    assert names.index("eth0.7") == names.index("eth0") + 1


def test_the_report_has_one_path_of_a_segment_to_a_link() -> None:
    links = [link("eth0", uplink=True, master="cni0"), link("cni0", kind="bridge")]
    (segment,) = read(links=links, networks=[network("dbnet", bridge())], attachments=[]).as_dict()["segments"]
    assert segment["paths"] == [{"uplink": "eth0", "how": "joined"}]
