# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks compared with a node: its links, addresses and routes, and the networks of other files."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks as conflist_checks
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
    network,
    ptp,
    static,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import example_node
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import NetD, present

DEFAULT_ROUTE = "0.0.0.0/0 via 192.168.1.1 dev eth0"


def view(addresses: t.Sequence[str] = (), routes: t.Sequence[str] = (DEFAULT_ROUTE,), *, is_idle: bool = False) -> View:
    """Return a node's view, in which Docker's bridge has a port unless it is idle."""
    port = "veth7" if is_idle else "veth7 master docker0"
    links = ["eth0", "eth1 mtu 9000", "cni0 kind bridge", "docker0 kind bridge", port, "cni0.5"]
    return example_node(links, addresses, routes).view


class Lab:
    def __init__(self, net_d: NetD, monkeypatch: pytest.MonkeyPatch) -> None:
        self.net_d = net_d
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(sysctl, "read_at", {}.get)
        monkeypatch.setattr(router_advertisements, "find_dependent_links", list)
        monkeypatch.setattr(dhcp_daemon, "find_fault", lambda dummy: "")
        self.has(view())

    def has(self, seen: View) -> None:
        self._monkeypatch.setattr(rtnetlink, "snapshot", lambda: seen)

    def find_codes(self, *plugins: JsonObject, check_mode: bool = False) -> list[str]:
        planned = self.net_d.plan_directory(present("net", network("net", *plugins)))
        findings = conflist_checks.check(planned, tolerate_missing=check_mode)
        return [f"{finding.severity} {finding.code} {finding.path}" for finding in findings]


@pytest.fixture
def lab(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(NetD(tmp_path / "net.d"), monkeypatch)


ON_LINKS: t.Final[dict[str, tuple[JsonObject, list[str]]]] = {
    "a master that is there": ({"type": "macvlan", "master": "eth0", "mtu": 1500}, []),
    "none": ({"type": "macvlan", "master": "eth7"}, ["error missing-link /plugins/0/master"]),
    "none of ipvlan": ({"type": "ipvlan", "master": "eth7"}, ["error missing-link /plugins/0/master"]),
    "none of vlan": ({"type": "vlan", "master": "eth7", "vlanId": 5}, ["error missing-link /plugins/0/master"]),
    "in the container": ({"type": "macvlan", "master": "eth7", "linkInContainer": True}, []),
    "of the default route": ({"type": "macvlan"}, []),
    "too large": ({"type": "macvlan", "master": "eth0", "mtu": 1501}, ["error mtu-above-master /plugins/0/mtu"]),
    "too large for vlan": ({"type": "vlan", "master": "eth0", "mtu": 9000}, ["error mtu-above-master /plugins/0/mtu"]),
    "large enough": ({"type": "ipvlan", "master": "eth1", "mtu": 9000}, []),
    "too large for the default": ({"type": "ipvlan", "mtu": 9000}, ["error mtu-above-master /plugins/0/mtu"]),
    "the master's": ({"type": "ipvlan", "master": "eth0", "mtu": 0}, []),
    "a bridge that is made": ({"type": "bridge", "bridge": "br7"}, []),
    "a bridge of tap, which is in the container": ({"type": "tap", "bridge": "br7"}, []),
    "no bridge of tap": ({"type": "tap"}, []),
    "a bridge of tap that is not a name": ({"type": "tap", "bridge": ["br7"]}, []),
    "a device": ({"type": "host-device", "device": "eth1"}, []),
    "a device by its MAC": ({"type": "host-device", "hwaddr": "02:fe:00:00:00:03"}, []),
    "no device": ({"type": "host-device", "device": "eth7"}, ["warning missing-device /plugins/0/device"]),
    "no such MAC": (
        {"type": "host-device", "hwaddr": "02:00:00:00:00:99"},
        ["warning missing-device /plugins/0/hwaddr"],
    ),
    "no such path": (
        {"type": "host-device", "kernelpath": "/sys/devices/none"},
        ["warning missing-device /plugins/0/kernelpath"],
    ),
    "nothing on PCI": (
        {"type": "host-device", "pciBusID": "ffff:ff:1f.7"},
        ["warning missing-device /plugins/0/pciBusID"],
    ),
    "another plugin": ({"type": "acme", "master": "eth7"}, []),
    "what Multus runs": (
        {"type": "multus", "delegates": [{"type": "macvlan", "master": "eth7"}]},
        ["error missing-link /plugins/0/delegates/0/master"],
    ),
    "what Multus runs one after the other": (
        {"type": "multus", "delegates": [{"plugins": [{"type": "bridge"}, {"type": "ipvlan", "mtu": 9999}]}]},
        [],
    ),
    "what flannel runs": (
        {"type": "flannel", "delegate": {"type": "macvlan", "master": "eth0", "mtu": 9999}},
        ["error mtu-above-master /plugins/0/delegate/mtu"],
    ),
}


@pytest.mark.parametrize(("plugin", "expected"), ON_LINKS.values(), ids=ON_LINKS)
def test_missing_links_and_links_with_a_smaller_mtu_are_found(
    lab: Lab, plugin: JsonObject, expected: list[str]
) -> None:
    assert lab.find_codes(plugin) == expected


def test_a_master_is_required_without_a_default_route(lab: Lab) -> None:
    lab.has(view(routes=()))
    assert lab.find_codes({"type": "macvlan"}) == ["error missing-link /plugins/0"]
    assert lab.find_codes({"type": "bridge"}, {"type": "ipvlan"}) == []


def test_check_mode_tolerates_a_missing_link(lab: Lab) -> None:
    assert lab.find_codes({"type": "macvlan", "master": "eth7"}, check_mode=True) == [
        "warning missing-link /plugins/0/master"
    ]


def test_a_missing_device_of_an_existing_network_causes_no_finding(lab: Lab) -> None:
    lab.net_d.put("10-net.conflist", network("net", {"type": "host-device", "device": "eth7"}))
    assert lab.find_codes({"type": "host-device", "device": "eth7"}) == []
    assert lab.find_codes({"type": "host-device", "device": "eth8"}) == ["warning missing-device /plugins/0/device"]


RANGE = "/plugins/0/ipam/ranges/0/0"
TAKEN, ROUTED = f"error address-taken {RANGE}", f"error overlaps-route {RANGE}"
ON_NODE: t.Final[dict[str, tuple[JsonObject, list[str], list[str], list[str]]]] = {
    "nothing of it": (bridge("10.1.0.0/16"), ["192.168.1.9/24 dev eth0"], ["192.168.1.0/24 dev eth0"], []),
    "its own bridge": (bridge("10.1.0.0/16"), ["10.1.0.1/16 dev cni0"], ["10.1.0.0/16 dev cni0"], []),
    "its own VLAN": (bridge("10.1.0.0/16", vlan=5), ["10.1.0.1/16 dev cni0.5"], ["10.1.0.0/16 dev cni0.5"], []),
    "another bridge": (bridge("10.1.0.0/16"), ["10.1.0.1/16 dev docker0"], ["10.1.0.0/16 dev docker0"], [ROUTED]),
    "another bridge that is down": (bridge("10.1.0.0/16"), ["10.1.0.1/16 dev docker0"], [], [ROUTED]),
    "a part": (bridge("10.1.0.0/16"), [], ["10.1.7.0/24 via 192.168.1.7 dev eth0"], [ROUTED]),
    "the LAN": (
        bridge("192.168.0.0/16"),
        ["192.168.1.9/24 dev eth0"],
        ["192.168.1.0/24 dev eth0"],
        [f"error address-taken {RANGE}", ROUTED],
    ),
    "a part of the LAN": (bridge("10.1.0.0/24"), ["10.9.9.9/8 dev eth0"], [], [f"warning inside-route {RANGE}"]),
    "behind a router": (bridge("10.1.0.0/24"), [], ["10.0.0.0/8 via 192.168.1.7 dev eth0"], []),
    "behind a router, but for a part": (
        bridge("10.1.0.0/24"),
        [],
        ["10.0.0.0/8 via 192.168.1.7 dev eth0", "10.1.0.64/26 via 192.168.1.8 dev eth0"],
        [ROUTED],
    ),
    "a part of the LAN, and a part of that": (
        bridge("10.1.0.0/24"),
        ["10.9.9.9/8 dev eth0"],
        ["10.1.0.64/26 via 192.168.1.8 dev eth0"],
        [ROUTED],
    ),
    "another table": (bridge("10.1.0.0/16"), [], ["10.1.0.0/16 dev eth0 table 100"], []),
    "IPv6": (bridge("fd00:1::/64"), [], ["fd00:1::/64 dev eth0"], [ROUTED]),
    "another family": (bridge("10.1.0.0/16"), [], ["::/2 dev eth0"], []),
    "no gateway": (bridge("10.1.0.0/16", isGateway=False), [], ["10.1.0.0/16 dev eth0"], []),
    "ptp": (ptp("10.1.0.0/16"), [], ["10.1.0.0/16 dev eth0"], [ROUTED]),
    "containers of ptp": (
        ptp("10.1.0.0/16"),
        ["10.1.0.1/32 dev veth7"],
        ["10.1.0.5/32 dev veth7"],
        [],
    ),
    "macvlan on the LAN": (
        {"type": "macvlan", "master": "eth0", "ipam": host_local("192.168.1.0/24", rangeStart="192.168.1.200")},
        ["192.168.1.9/24 dev eth0"],
        ["192.168.1.0/24 dev eth0"],
        [],
    ),
    "the node's address given out": (
        {"type": "macvlan", "master": "eth0", "ipam": host_local("192.168.1.0/24")},
        ["192.168.1.9/24 dev eth0"],
        [],
        [TAKEN],
    ),
    "the node's address given to one": (
        {"type": "macvlan", "master": "eth0", "ipam": static("192.168.1.8/24", "192.168.1.9/24")},
        ["192.168.1.9/24 dev eth0"],
        [],
        ["error address-taken /plugins/0/ipam/addresses/1"],
    ),
    "the node is the gateway": (
        {"type": "macvlan", "master": "eth0", "ipam": host_local("192.168.1.0/24")},
        ["192.168.1.1/24 dev eth0"],
        [],
        [],
    ),
    "the older form": (
        bridge("10.1.0.0/16", ipam={"type": "host-local", "subnet": "10.1.0.0/16"}),
        [],
        ["10.1.0.0/16 dev eth0"],
        ["error overlaps-route /plugins/0/ipam"],
    ),
    "what Multus runs": (
        {"type": "multus", "delegates": [{"name": "inner", "plugins": [bridge("10.1.0.0/16")]}]},
        [],
        ["10.1.0.0/16 dev eth0"],
        ["error overlaps-route /plugins/0/delegates/0/plugins/0/ipam/ranges/0/0"],
    ),
    "nothing that can be told": (bridge("10.1.0.0/16", ipam={"type": "dhcp"}), [], ["10.1.0.0/16 dev eth0"], []),
    "two families in one range": (
        bridge("", ipam=host_local("10.1.0.0/16", rangeStart="fd00::1")),
        [],
        ["10.1.0.0/16 dev eth0"],
        [],
    ),
}


@pytest.mark.parametrize(("plugin", "addresses", "routes", "expected"), ON_NODE.values(), ids=ON_NODE)
def test_a_subnet_does_not_overlap_with_routes_of_the_node(
    lab: Lab, plugin: JsonObject, addresses: list[str], routes: list[str], expected: list[str]
) -> None:
    lab.has(view(addresses, [DEFAULT_ROUTE, *routes]))
    assert lab.find_codes(plugin) == expected


# The desired network, the route to an idle bridge with 10.1.0.1/16, and the severity.
IDLE: t.Final[dict[str, tuple[JsonObject, list[str], str]]] = {
    "its route is the only one": (bridge("10.1.0.0/16"), ["10.1.0.0/16 dev docker0"], "error"),
    "a part of the subnet": (bridge("10.0.0.0/15"), ["10.1.0.0/16 dev docker0"], "error"),
    "its route is the first one": (
        bridge("10.1.0.0/16"),
        ["10.1.0.0/16 dev docker0", "10.1.0.0/16 dev eth0"],
        "error",
    ),
    "a later address": (bridge("10.1.0.0/16"), ["10.1.0.0/16 dev cni0", "10.1.0.0/16 dev docker0"], "warning"),
    "down, so without a route": (bridge("10.1.0.0/16"), [], "warning"),
    "another table": (bridge("10.1.0.0/16"), ["10.1.0.0/16 dev docker0 table 100"], "warning"),
    "a larger subnet": (bridge("10.1.7.0/24"), ["10.1.0.0/16 dev docker0"], "warning"),
    "a route for each container": (ptp("10.1.0.0/16"), ["10.1.0.0/16 dev docker0"], "warning"),
}


@pytest.mark.parametrize(("plugin", "routes", "severity"), IDLE.values(), ids=IDLE)
def test_an_idle_bridge_is_an_error_if_it_takes_the_traffic(
    lab: Lab, plugin: JsonObject, routes: list[str], severity: str
) -> None:
    addressed = view(["10.1.0.1/16 dev docker0"], is_idle=True)
    lab.has(addressed._replace(routes=view([], [DEFAULT_ROUTE, *routes]).routes))
    assert f"{severity} idle-bridge {RANGE}" in lab.find_codes(plugin)


def test_an_idle_bridge_is_a_warning_for_an_unchanged_network(lab: Lab) -> None:
    lab.has(view(["10.1.0.1/16 dev docker0"], [DEFAULT_ROUTE, "10.1.0.0/16 dev docker0"], is_idle=True))
    lab.net_d.put("10-net.conflist", network("net", bridge("10.1.0.0/16")))
    assert lab.find_codes(bridge("10.1.0.0/16")) == [f"warning idle-bridge {RANGE}"]
    assert lab.find_codes(bridge("10.1.0.0/16", mtu=1400)) == [f"error idle-bridge {RANGE}"]


def test_a_bridge_with_another_address_is_an_error_only_for_a_changed_network(lab: Lab) -> None:
    plugin = bridge("10.1.0.0/16")
    lab.has(view(["10.9.0.1/16 dev cni0"]))
    assert lab.find_codes(plugin) == ["error bridge-address-differs /plugins/0/ipam/ranges/0/0"]
    lab.net_d.ensure(present("net", network("net", plugin)))
    assert lab.find_codes(plugin) == ["warning bridge-address-differs /plugins/0/ipam/ranges/0/0"]
    assert lab.find_codes({**plugin, "mtu": 1400}) == ["error bridge-address-differs /plugins/0/ipam/ranges/0/0"]


def test_the_previous_subnet_of_a_network_does_not_conflict(lab: Lab) -> None:
    lab.has(view(["10.1.0.1/16 dev docker0"], [DEFAULT_ROUTE, "10.1.0.0/16 dev docker0"]))
    lab.net_d.put("10-net.conflist", network("net", bridge("10.1.0.0/16", "docker0")))
    assert lab.find_codes(bridge("10.1.0.0/16")) == [f"warning idle-bridge {RANGE}"]
    lab.has(view(["10.1.0.1/32 dev veth7"], [DEFAULT_ROUTE, "10.1.0.5/32 dev veth7"]))
    assert lab.find_codes(bridge("10.1.0.0/16")) == [ROUTED]
    lab.net_d.put("10-net.conflist", network("net", ptp("10.1.0.0/16")))
    assert lab.find_codes(bridge("10.1.0.0/16")) == []


BESIDE: t.Final[dict[str, tuple[JsonObject, JsonObject, bool]]] = {
    "two bridges": (bridge("10.1.0.0/16"), bridge("10.1.2.0/24", "cni1"), True),
    "two bridges that are no gateways": (bridge("10.1.0.0/16", isGateway=False), bridge("10.1.0.0/24", "cni1"), False),
    "two subnets": (bridge("10.1.0.0/16"), bridge("10.2.0.0/16", "cni1"), False),
    "two families": (bridge("10.1.0.0/16"), bridge("fd00::/64", "cni1"), False),
    "one bridge": (bridge("10.1.0.0/16"), bridge("10.1.0.0/16"), True),
    "one bridge, two ranges": (
        bridge("", ipam=host_local("10.1.0.0/16", rangeEnd="10.1.0.99")),
        bridge("", ipam=host_local("10.1.0.0/16", rangeStart="10.1.1.0", gateway="10.1.0.1")),
        False,
    ),
    "two VLANs of a bridge": (bridge("10.1.0.0/16", vlan=5), bridge("10.1.0.0/16", vlan=6), True),
    "ptp and a bridge": (ptp("10.1.0.0/16"), bridge("10.1.0.0/16"), True),
    "ptp twice": (
        ptp("10.1.0.0/16"),
        ptp("10.1.0.0/24"),
        True,
    ),
    "one master": (
        {"type": "macvlan", "master": "eth0", "ipam": host_local("10.1.0.0/16")},
        {"type": "ipvlan", "master": "eth0", "ipam": static("10.1.0.77/16")},
        True,
    ),
}


@pytest.mark.parametrize(("document", "beside", "collide"), BESIDE.values(), ids=BESIDE)
def test_a_subnet_does_not_overlap_with_the_subnet_of_another_file(
    lab: Lab, document: JsonObject, beside: JsonObject, collide: bool
) -> None:
    lab.net_d.put("20-other.conflist", network("other", beside))
    assert lab.find_codes(document) == ([f"error overlaps-network {RANGE}"] if collide else [])


def test_a_removed_network_does_not_conflict(lab: Lab) -> None:
    lab.net_d.put("20-other.conflist", network("net", bridge("10.1.0.0/16", "cni1")))
    lab.net_d.ensure(present("gone", network("gone", bridge("10.1.0.0/16", "cni2"))))
    planned = lab.net_d.plan_directory(present("net", network("net", bridge("10.1.0.0/16"))), purge=True)
    assert [finding.code for finding in conflist_checks.check(planned, tolerate_missing=False)] == ["shadowed-network"]
