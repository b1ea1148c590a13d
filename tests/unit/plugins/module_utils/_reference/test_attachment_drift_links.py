# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drift names the parts of an attachment that the kernel no longer has, whatever CHECK of the plugins returns."""

from __future__ import annotations

import ipaddress
import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import bridge_vlans, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.routing_rules import Rule
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Address, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference import attachment_drift
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.tests.support.listed_links import ListedLinks

MAC = "02:00:00:00:00:01"
# The number by which the node knows the network namespace.
BLUE = 3
RESULT: JsonObject = {
    "cniVersion": "1.1.0",
    "interfaces": [
        {"name": "cni0", "mac": "02:00:00:00:00:09"},
        {"name": "veth7"},
        {"name": "eth0", "mac": MAC.upper(), "mtu": 1500, "sandbox": "/run/netns/blue"},
    ],
    "ips": [{"address": "10.1.0.2/16", "interface": 2}, {"address": "fd00:0::2/64", "interface": 2}],
    "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.9.1.1/16", "gw": "10.1.0.1"}],
}
ETH0 = Link(ifindex=2, name="eth0", mac=MAC, mtu=1500, is_up=True, master=0, peer=7, kind="veth")
# What the kernel makes of the addresses.
CONNECTED = tuple(Route(ipaddress.ip_network(text), None, 2, 254) for text in ("10.1.0.0/16", "fd00::/64"))
INSIDE = View(
    links=(ETH0,),
    addresses=tuple(Address(2, ipaddress.ip_interface(text)) for text in ("10.1.0.2/16", "fd00::2/64")),
    routes=(
        *(
            Route(ipaddress.ip_network(text), ipaddress.ip_address("10.1.0.1"), 2, 254)
            for text in ("0.0.0.0/0", "10.9.0.0/16")
        ),
        *CONNECTED,
    ),
)
# What sbr makes for the addresses.
RULES = tuple(
    Rule(ipaddress.ip_network(text), 100, 32765, family) for text, family in (("10.1.0.2/32", 2), ("fd00::2/128", 10))
)
CNI0 = Link(ifindex=3, name="cni0", mac="02:00:00:00:00:0a", mtu=1500, is_up=True, master=0, peer=0, kind="bridge")
VETH = Link(7, "veth7", "02:00:00:00:00:0b", 1500, is_up=True, master=3, peer=2, kind="veth", peer_netns=BLUE)


class DriftedKernel:
    """A fake kernel whose links, addresses and routes a test changes."""

    def __init__(self) -> None:
        self.inside = INSIDE
        self.node: dict[str, Link] = {"cni0": CNI0, "veth7": VETH}

    def take_snapshot(self, path: str, *, routes: bool, rules: bool, settings: t.Collection[str]) -> View:
        inside = self.inside._replace(settings=dict.fromkeys(settings, "1"))
        return inside if routes else inside._replace(routes=())

    def link(self, name: str) -> Link | None:
        return self.node.get(name)

    def link_by_index(self, ifindex: int) -> Link | None:
        return next((link for link in self.node.values() if link.ifindex == ifindex), None)

    def find_drift(
        self, result: JsonObject | None = None, *plugins: JsonObject, **keys: object
    ) -> tuple[str, ...] | None:
        document = {"cniVersion": "1.1.0", "name": "net", "plugins": plugins or [{"type": "bridge"}], **keys}
        record = self.record(document, RESULT if result is None else result)
        drift = attachment_drift.find_link_drift(RecordedRequests(record), NodeView())
        return (*drift.inside, *drift.on_node) if drift else None

    def record(self, document: JsonObject, result: JsonObject) -> Record:
        network = config.parse(json.dumps(document).encode(), "net")
        attachment = Attachment("net", "blue", "eth0", "/run/netns/blue")
        return Record(attachment, network.content, Result(result["cniVersion"], result))


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> DriftedKernel:
    made = DriftedKernel()
    monkeypatch.setattr(rtnetlink, "snapshot", made.take_snapshot)
    monkeypatch.setattr(rtnetlink, "link_table", lambda: ListedLinks(tuple(made.node.values())))
    monkeypatch.setattr(rtnetlink, "netns_id", {"/run/netns/blue": BLUE}.__getitem__)
    monkeypatch.setattr(rtnetlink, "link", made.link)
    monkeypatch.setattr(rtnetlink, "link_by_index", made.link_by_index)
    monkeypatch.setattr(bridge_vlans, "read", lambda: {VETH.ifindex: IN_VLAN, VLAN_PORT.ifindex: IN_VLAN})
    monkeypatch.setattr(sysctl, "read_at", lambda path: "1")
    return made


def test_an_unchanged_attachment_has_no_drift(kernel: DriftedKernel) -> None:
    assert kernel.find_drift() == ()


@pytest.mark.parametrize("looks_again", [True, False])
def test_what_an_older_view_lacks_is_looked_for_again(kernel: DriftedKernel, looks_again: bool) -> None:
    record = kernel.record({"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "bridge"}]}, RESULT)
    view, bridge = NodeView(), kernel.node.pop("cni0")
    assert view.link("cni0") is None
    kernel.node["cni0"] = bridge
    drift = attachment_drift.find_link_drift(RecordedRequests(record), view, looks_again=looks_again)
    assert drift is not None
    assert drift.on_node == (() if looks_again else ("interface cni0 of the node is gone",))
    assert drift.compare_again(record.attachment.netns, NodeView()).on_node == ()


INSIDE_DRIFT = {
    "gone": (INSIDE._replace(links=()), "interface eth0 is gone"),
    "renamed": (INSIDE._replace(links=(ETH0._replace(name="eth5"),)), "interface eth0 is called eth5 now"),
    "down": (INSIDE._replace(links=(ETH0._replace(is_up=False),)), "interface eth0 is down"),
    "another MAC": (
        INSIDE._replace(links=(ETH0._replace(mac="02::2"),)),
        f"the MAC of eth0 is 02::2, not {MAC}",
    ),
    "another MTU": (INSIDE._replace(links=(ETH0._replace(mtu=1400),)), "the MTU of eth0 is 1400, not 1500"),
    "an address less": (INSIDE._replace(addresses=INSIDE.addresses[:1]), "address fd00::2/64 is missing"),
    "another length": (
        INSIDE._replace(addresses=(INSIDE.addresses[1], Address(2, ipaddress.ip_interface("10.1.0.2/24")))),
        "address 10.1.0.2/16 is missing",
    ),
    "a route less": (INSIDE._replace(routes=INSIDE.routes[1:]), "the route to 0.0.0.0/0 is missing"),
    "a route of the kernel less": (INSIDE._replace(routes=INSIDE.routes[:-1]), "the route to fd00::/64 is missing"),
    "another gateway": (
        INSIDE._replace(
            routes=(INSIDE.routes[0], INSIDE.routes[1]._replace(gateway=ipaddress.ip_address("10.1.0.9")), *CONNECTED)
        ),
        "the route to 10.9.0.0/16 via 10.1.0.1 is missing",
    ),
}


@pytest.mark.parametrize(("inside", "message"), INSIDE_DRIFT.values(), ids=INSIDE_DRIFT)
def test_drift_names_differences_in_the_container(kernel: DriftedKernel, inside: View, message: str) -> None:
    kernel.inside = inside
    assert kernel.find_drift() == (message,)


NODE_DRIFT = {
    "a veth less": ({"cni0": CNI0}, "interface veth7 of the node is gone"),
    "down": ({"cni0": CNI0, "veth7": VETH._replace(is_up=False)}, "interface veth7 of the node is down"),
    "off its bridge": (
        {"cni0": CNI0, "veth7": VETH._replace(master=0)},
        "interface veth7 of the node is not a port of cni0",
    ),
    "no bridge": ({"veth7": VETH._replace(master=0)}, "interface cni0 of the node is gone"),
}


@pytest.mark.parametrize(("node", "message"), NODE_DRIFT.values(), ids=NODE_DRIFT)
def test_drift_names_differences_on_the_node(kernel: DriftedKernel, node: dict[str, Link], message: str) -> None:
    kernel.node = node
    assert kernel.find_drift() == (message,)


# What bridge makes for a VLAN with a gateway: a veth pair, both ends on the node, one of them a port of the bridge.
VLAN_RESULT: JsonObject = {
    **RESULT,
    "interfaces": [*RESULT["interfaces"], {"name": "cni0.100", "mac": "02:00:00:00:00:0c"}],
}
VLAN_LINK = VETH._replace(ifindex=8, name="cni0.100", master=0, peer=9, peer_netns=None)
VLAN_PORT = VETH._replace(ifindex=9, name="veth9", master=3, peer=8, peer_netns=None)
IN_VLAN = PortVlans(100, frozenset((1, 100)))
VLAN_DRIFT: dict[str, tuple[list[Link], list[str]]] = {
    "as it was made": ([VLAN_LINK, VLAN_PORT], []),
    "gone": ([], ["interface cni0.100 of the node is gone"]),
    "down": ([VLAN_LINK._replace(is_up=False), VLAN_PORT], ["interface cni0.100 of the node is down"]),
    "its port off the bridge": (
        [VLAN_LINK, VLAN_PORT._replace(master=0)],
        ["the peer of interface cni0.100 of the node is not a port of cni0"],
    ),
    "its port in another namespace": (
        [VLAN_LINK],
        ["the peer of interface cni0.100 of the node is not a port of cni0"],
    ),
}


@pytest.mark.parametrize(("links", "messages"), VLAN_DRIFT.values(), ids=VLAN_DRIFT)
def test_the_link_of_a_vlan_is_paired_with_a_port_of_the_bridge(
    kernel: DriftedKernel, links: list[Link], messages: list[str]
) -> None:
    kernel.node.update({link.name: link for link in (CNI0._replace(filters_vlans=True), *links)})
    assert kernel.find_drift(VLAN_RESULT, {"type": "bridge", "vlan": 100, "isGateway": True}) == tuple(messages)


def test_drift_names_all_differences_at_once(kernel: DriftedKernel) -> None:
    kernel.inside = INSIDE._replace(links=(ETH0._replace(is_up=False),), routes=())
    kernel.node = {}
    assert len(kernel.find_drift() or ()) == 5


NOT_PROMISED = {
    "an MTU that tuning may have changed": (
        RESULT,
        [{"type": "bridge"}, {"type": "tuning", "mtu": 1400}],
        INSIDE._replace(links=(ETH0._replace(mtu=1400),)),
        {"cni0": CNI0, "veth7": VETH},
    ),
    "a link left down on purpose": (
        {**RESULT, "ips": [], "routes": []},
        [{"type": "bridge", "disableContainerInterface": True}],
        View((ETH0._replace(is_up=False),), (), ()),
        {"cni0": CNI0, "veth7": VETH},
    ),
    "routes in a table of their own": (
        RESULT,
        [{"type": "bridge"}, {"type": "sbr"}],
        INSIDE._replace(routes=tuple(route._replace(table=100) for route in INSIDE.routes), rules=RULES),
        {"cni0": CNI0, "veth7": VETH},
    ),
    "the gateway of a default route": (
        {**RESULT, "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.7"}]},
        [{"type": "bridge"}],
        INSIDE,
        {"cni0": CNI0, "veth7": VETH},
    ),
    "a gateway of a route with several": (
        RESULT,
        [{"type": "bridge"}],
        INSIDE._replace(routes=(INSIDE.routes[0], INSIDE.routes[1]._replace(gateway=None, link=0), *CONNECTED)),
        {"cni0": CNI0, "veth7": VETH},
    ),
}


@pytest.mark.parametrize(("result", "plugins", "inside", "node"), NOT_PROMISED.values(), ids=NOT_PROMISED)
def test_a_difference_that_the_result_does_not_cover_is_not_drift(
    kernel: DriftedKernel, result: JsonObject, plugins: list[JsonObject], inside: View, node: dict[str, Link]
) -> None:
    kernel.inside, kernel.node = inside, node
    assert kernel.find_drift(result, *plugins) == ()


@pytest.mark.parametrize("mover", ["sbr", "vrf"])
def test_a_route_that_check_does_not_find_is_compared_in_its_table(kernel: DriftedKernel, mover: str) -> None:
    moved = tuple(route._replace(table=100) for route in INSIDE.routes)
    vrf = Link(ifindex=9, name="red", mac="", mtu=1500, is_up=True, master=0, peer=0, kind="vrf", table=100)
    links = (ETH0._replace(master=9), vrf) if mover == "vrf" else (ETH0,)
    kernel.inside = INSIDE._replace(links=links, routes=moved[:-1], rules=RULES)
    chain: list[JsonObject] = [{"type": "bridge"}, {"type": mover, **({"vrfname": "red"} if mover == "vrf" else {})}]
    assert kernel.find_drift(RESULT, *chain) == ("the route to fd00::/64 is missing",)
    assert kernel.find_drift({**RESULT, "routes": []}, *chain) == ("the route to fd00::/64 is missing",)


def test_a_route_with_a_table_is_compared_in_that_table(kernel: DriftedKernel) -> None:
    result = {**RESULT, "routes": [{"dst": "10.9.0.0/16", "gw": "10.1.0.1", "table": 200}]}
    assert kernel.find_drift(result) == ("the route to 10.9.0.0/16 via 10.1.0.1 in table 200 is missing",)
    kernel.inside = INSIDE._replace(routes=(INSIDE.routes[1]._replace(table=200), *CONNECTED))
    assert kernel.find_drift(result) == ()


DEVICE = {"name": "net1", "sandbox": "/run/netns/blue", "pciID": "0000:00:01.0"}
NOT_LOOKED_AT = {
    "a plugin whose results are not known": (RESULT, [{"type": "calico"}]),
    "a device that no link stands for": ({**RESULT, "interfaces": [DEVICE]}, [{"type": "host-device"}]),
}


@pytest.mark.parametrize(("result", "plugins"), NOT_LOOKED_AT.values(), ids=NOT_LOOKED_AT)
def test_an_attachment_with_an_incomparable_result_is_not_compared(
    kernel: DriftedKernel, result: JsonObject, plugins: list[JsonObject]
) -> None:
    assert kernel.find_drift(result, *plugins) is None


def test_a_result_without_interfaces_has_addresses_and_routes_to_compare(kernel: DriftedKernel) -> None:
    old = {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.2/16", "routes": [{"dst": "0.0.0.0/0"}]}}
    assert kernel.find_drift(old) == ()
    kernel.inside = View((), (), ())
    assert kernel.find_drift(old) == ("address 10.1.0.2/16 is missing", "the route to 0.0.0.0/0 is missing")


def test_disable_check_disables_the_comparison(kernel: DriftedKernel) -> None:
    kernel.inside = View((), (), ())
    assert kernel.find_drift(RESULT, disableCheck=True) is None


def test_interfaces_in_other_namespaces_are_not_compared(kernel: DriftedKernel) -> None:
    machine = {"name": "eth0", "mac": "02:00:00:00:00:77", "sandbox": "vm-7"}
    elsewhere = [{"address": "10.1.0.3/16", "interface": 3}, {"address": "203.0.113.7/32"}]
    result = {**RESULT, "interfaces": [*RESULT["interfaces"], machine], "ips": [*RESULT["ips"], *elsewhere]}
    assert kernel.find_drift(result) == ()


def test_a_namespace_at_another_path_is_compared(kernel: DriftedKernel) -> None:
    interfaces = [
        {**interface, "sandbox": "/proc/7/ns/net"} if "sandbox" in interface else interface
        for interface in RESULT["interfaces"]
    ]
    kernel.inside = INSIDE._replace(links=())
    assert kernel.find_drift({**RESULT, "interfaces": interfaces}) == ("interface eth0 is gone",)


def test_a_route_of_a_runtimes_record_without_table_is_compared_in_the_table_of_the_network(
    kernel: DriftedKernel,
) -> None:
    routes = (*INSIDE.routes[1:], INSIDE.routes[0]._replace(table=100))
    kernel.inside = INSIDE._replace(routes=routes)
    assert kernel.find_drift() == ("the route to 0.0.0.0/0 is missing",)
    ipam = {"type": "static", "routes": [{"dst": "0.0.0.0/0", "table": 100}, {"dst": "10.9.0.0/16", "table": 7}, 5]}
    assert kernel.find_drift(None, {"type": "bridge", "ipam": ipam}) == ()


def test_a_delegate_has_numbers_with_an_integers_value_as_integers(kernel: DriftedKernel) -> None:
    assert kernel.find_drift(None, {"type": "flannel", "delegate": {"type": "bridge", "mtu": 1500.0}}) == ()
