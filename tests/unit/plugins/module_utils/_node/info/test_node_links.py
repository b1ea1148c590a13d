# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.links import route_lookup, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_lookup import RouteAnswer
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Address, View
from ansible_collections.cni.node.plugins.module_utils._node.info.node_links import list_links


def _link(index: int, name: str, kind: str = "", **facts: t.Any) -> Link:
    return Link(index, name, f"02:00:00:00:00:{index:02}", 1500, True, 0, 0, kind)._replace(**facts)


LINKS = (
    _link(1, "lo"),
    _link(2, "eth0"),
    _link(3, "eth0.100", "vlan", peer=2, vlan=100),
    _link(4, "cni0", "bridge"),
    _link(5, "veth1", "veth", master=4, peer=2, peer_netns=0),
)


@pytest.fixture(autouse=True)
def _kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [(2, "192.0.2.7/24"), (2, "fe80::1/64"), (4, "10.1.0.1/16")]
    view = View(LINKS, tuple(Address(link, ipaddress.ip_interface(text)) for link, text in addresses), ())
    monkeypatch.setattr(rtnetlink, "snapshot", lambda **dummy: view)
    ways = {4: RouteAnswer("unicast", LINKS[1].ifindex), 6: RouteAnswer()}
    monkeypatch.setattr(route_lookup, "look_up", lambda address: ways[address.version])


def test_links_are_named_by_their_bridge_and_by_the_link_below_them() -> None:
    links = {link["name"]: link for link in list_links()}
    assert list(links) == ["eth0", "eth0.100", "cni0", "veth1"]
    assert (links["eth0.100"]["parent"], links["eth0.100"]["vlan"]) == ("eth0", 100)
    # The peer of a veth is in a container, so its index is that of another link here.
    assert (links["veth1"]["master"], links["veth1"]["parent"]) == ("cni0", "")


def test_an_uplink_has_a_default_route_and_link_local_addresses_are_left_out() -> None:
    assert [link["name"] for link in list_links() if link["uplink"]] == ["eth0"]
    assert [link["addresses"] for link in list_links()] == [["192.0.2.7/24"], [], ["10.1.0.1/16"], []]
