# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The topology of a node, and its drawing."""

from __future__ import annotations

import collections
import typing as t
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible_collections.cni.node.plugins.plugin_utils._report import drawing, topology
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


def draw(**parts: t.Any) -> ET.Element:
    return ET.fromstring(drawing.draw(read(**parts), "one"))


def texts(svg: ET.Element, css: str) -> list[list[str]]:
    """Return the lines of each box of a class."""
    groups = [group for group in svg.iter("g") if css in group.get("class", "").split()]
    return [[text.text or "" for text in group.iter("text")] for group in groups]


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


def test_a_container_with_two_interfaces_is_one_box() -> None:
    assert [(each.name, len(each.interfaces)) for each in read().containers] == [("red", 1), ("blue", 2)]


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


def test_a_drawing_has_a_box_for_each_part_and_lines_between_them() -> None:
    svg = draw()
    assert texts(svg, "uplink") == [["eth0", "198.18.0.2/24"], ["eth0.100", "VLAN 100 on eth0"]]
    assert texts(svg, "container") == [
        ["red", "eth0 10.1.0.2/16", "port 8080->80/tcp"],
        ["blue", "eth0 10.1.0.3/16", "eth1 192.0.2.100/24"],
    ]
    edges = collections.Counter(path.get("class") for path in svg.iter("path"))
    assert edges == {"edge joined": 5, "edge masquerade": 1}


def test_boxes_do_not_overlap() -> None:
    svg = draw(attachments=[attachment("dbnet", f"c{number}") for number in range(30)])
    rects = [tuple(float(rect.get(key, "0")) for key in ("x", "y", "width", "height")) for rect in svg.iter("rect")]
    for place, (x, y, width, height) in enumerate(rects):
        for other_x, other_y, other_width, other_height in rects[:place]:
            apart = (
                x + width <= other_x
                or other_x + other_width <= x
                or y + height <= other_y
                or other_y + other_height <= y
            )
            assert apart
    size = [float(number) for number in svg.get("viewBox", "").split()]
    assert all(x >= 0 and y >= 0 and x + width <= size[2] and y + height <= size[3] for x, y, width, height in rects)


def test_drift_is_drawn_with_its_reason_and_other_runtimes_are_marked() -> None:
    attachments = [attachment("dbnet", "red", drift=["eth0 is gone"]), attachment("dbnet", "pod", own=False)]
    svg = draw(attachments=attachments)
    assert texts(svg, "drifted") == [["red", "eth0 10.1.0.2/16", "eth0 is gone"]]
    assert texts(svg, "foreign") == [["pod", "eth0 10.1.0.2/16"]]


def test_a_drawing_of_many_containers_has_those_with_problems_and_counts_the_others() -> None:
    attachments = [attachment("dbnet", f"c{number:03}") for number in range(100)]
    svg = draw(attachments=[*attachments, attachment("dbnet", "last", drift=["eth0 is gone"])])
    assert len(texts(svg, "container")) == 40
    assert [lines[0] for lines in texts(svg, "drifted")] == ["last"]
    assert texts(svg, "more") == [["and 61 more containers"]]


def test_long_names_are_cut_and_complete_in_the_title() -> None:
    name = "a" * 200
    svg = draw(attachments=[attachment("dbnet", name)])
    ((shown, *dummy),) = texts(svg, "container")
    assert shown.endswith("…")
    assert len(shown) < 60
    assert any(name in (title.text or "") for title in svg.iter("title"))


def test_a_hostile_name_is_text() -> None:
    name = '"><script>alert(1)</script>'
    text = drawing.draw(read(attachments=[attachment("dbnet", name)]), name)
    assert "<script" not in text
    assert name in [line for lines in texts(ET.fromstring(text), "container") for line in lines]


def test_a_node_without_networks_has_no_drawing_of_containers() -> None:
    assert drawing.draw(read(networks=[], attachments=[], links=[]), "one") == ""
