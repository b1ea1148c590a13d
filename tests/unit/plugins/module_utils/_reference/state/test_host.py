# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences that the recorded cases do not have: VLANs, other links in the place of a bridge, and what follows from what."""

from __future__ import annotations

import ipaddress
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import TokenBucket
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Route
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import Lease
from ansible_collections.cni.node.plugins.module_utils._reference.state import host, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.test_attachment_drift_links import (
    BLUE,
    CNI0,
    VETH,
)

GATEWAY = ipaddress.ip_interface("10.1.0.1/16")


class FakeSnapshot(Node):
    """A node with these links, addresses and limits, and a lease. All ports have the same VLANs."""

    def __init__(
        self,
        *links: Link,
        addresses: t.Collection[str] = (),
        bucket: TokenBucket | None = None,
        lease: Lease | None = None,
        vlans: PortVlans | None = None,
    ) -> None:
        self._links = links
        self._vlans = vlans
        self._addresses = [ipaddress.ip_interface(text) for text in addresses]
        self._bucket = bucket
        self._lease = lease

    def link(self, name: str) -> Link | None:
        return next((link for link in self._links if link.name == name), None)

    def link_by_index(self, ifindex: int) -> Link | None:
        return next((link for link in self._links if link.ifindex == ifindex), None)

    def vlans(self, dummy: int) -> PortVlans:
        assert self._vlans is not None
        return self._vlans

    def addresses(self, dummy: int) -> t.Collection[t.Any]:
        return self._addresses

    def routes(self, dummy: int) -> t.Collection[Route]:
        return ()

    def token_bucket(self, dummy: int) -> TokenBucket | None:
        return self._bucket

    def redirects(self, dummy: int) -> t.Collection[int]:
        return ()

    def setting(self, dummy: str) -> str | None:
        return None

    def lease(self, dummy: str, dummy2: str) -> Lease | None:
        return self._lease


def compare(node: FakeSnapshot, *state: resources.Resource) -> list[tuple[str, bool, bool]]:
    """Return message, whether it can be repaired, and whether it follows from another difference."""
    return [(each.message, each.is_repairable, each.follows) for each in host.find(state, node)]


FILTERING = CNI0._replace(filters_vlans=True, default_vlan=1)
# The VLANs that a port should have, those that it has, and what it lacks.
VLANS: dict[str, tuple[dict[str, t.Any], PortVlans, list[str]]] = {
    "the default stays": ({"vlan": 100}, PortVlans(100, frozenset((1, 100))), []),
    "the default is gone": ({"vlan": 100, "leaves_default_vlan": True}, PortVlans(100, frozenset((100,))), []),
    "another one was added": ({"vlan": 100}, PortVlans(100, frozenset((1, 100)), frozenset((7,))), []),
    "not in its VLAN": ({"vlan": 100}, PortVlans(1, frozenset((1,))), ["VLAN 100 without tags"]),
    "received into another": ({"vlan": 100}, PortVlans(1, frozenset((1, 100))), ["VLAN 100 without tags"]),
    "sent with a tag": ({"vlan": 100}, PortVlans(100, frozenset((1,)), frozenset((100,))), ["VLAN 100 without tags"]),
    "a trunk": ({"vlan": 1, "trunk": (2, 5, 6)}, PortVlans(1, frozenset((1,)), frozenset((2, 5, 6))), []),
    "a trunk lacks all": ({"vlan": 1, "trunk": (2, 5, 6)}, PortVlans(1, frozenset((1,))), ["VLAN 2, 5-6 with tags"]),
    "a trunk lacks one": (
        {"vlan": 1, "trunk": (2, 5)},
        PortVlans(1, frozenset((1, 2)), frozenset((5,))),
        ["VLAN 2 with tags"],
    ),
    "a trunk lacks VLAN 1": (
        {"vlan": 1, "trunk": (2,)},
        PortVlans(0, tagged=frozenset((2,))),
        ["VLAN 1 without tags"],
    ),
}


@pytest.mark.parametrize(("keys", "vlans", "lacks"), VLANS.values(), ids=VLANS)
def test_a_port_needs_the_vlans_of_its_network(keys: dict[str, t.Any], vlans: PortVlans, lacks: list[str]) -> None:
    port = resources.Port("veth7", "cni0", **keys)
    found = compare(FakeSnapshot(FILTERING, VETH, vlans=vlans), port)
    assert found == [(f"interface veth7 of the node does not have {lack}", True, False) for lack in lacks]
    # A bridge that does not keep VLANs apart is drift already.
    assert compare(FakeSnapshot(CNI0, VETH), port) == []


def test_the_vlan_of_a_gateway_is_on_the_peer_of_its_link() -> None:
    gateway = VETH._replace(ifindex=8, name="cni0.100", master=0, peer=9, peer_netns=None)
    peer = VETH._replace(ifindex=9, name="veth9", peer=8, peer_netns=None)
    port = resources.Port("cni0.100", "cni0", by_peer=True, vlan=100)
    (lost,) = host.find((port,), FakeSnapshot(FILTERING, gateway, peer, vlans=PortVlans(1, frozenset((1,)))))
    assert lost.message == "the peer of interface cni0.100 of the node does not have VLAN 100 without tags"
    assert (lost.resource, lost.link) == (port, gateway)
    message = "the peer of interface cni0.100 of the node is not a port of cni0"
    assert compare(FakeSnapshot(FILTERING, gateway, peer._replace(master=0)), port) == [(message, True, False)]
    assert compare(FakeSnapshot(FILTERING, gateway), port) == [(message, False, False)]


def test_a_bridge_that_does_not_keep_vlans_apart_is_drift() -> None:
    bridge = resources.Bridge("cni0", filters_vlans=True)
    assert compare(FakeSnapshot(CNI0), bridge) == [("interface cni0 of the node does not filter VLANs", False, False)]
    assert compare(FakeSnapshot(CNI0._replace(filters_vlans=True)), bridge) == []


def test_consequences_of_a_missing_bridge_are_repaired_with_it() -> None:
    state = (
        resources.Bridge("cni0"),
        resources.Port("veth7", "cni0"),
        resources.ExpectedAddress("cni0", GATEWAY, inside=False, is_only=True),
        resources.Sysctl("net/ipv4/conf/cni0/route_localnet", "1", inside=False, link="cni0"),
    )
    differences = compare(FakeSnapshot(VETH._replace(master=0)), *state)
    assert [(is_repairable, follows) for dummy, is_repairable, follows in differences] == [
        (True, False),
        *(3 * [(True, True)]),
    ]


def test_another_link_in_the_place_of_a_bridge_is_named_and_not_changed() -> None:
    state = resources.Bridge("cni0"), resources.Port("veth7", "cni0")
    differences = compare(FakeSnapshot(CNI0._replace(kind="veth"), VETH), *state)
    assert differences == [("interface cni0 of the node is not a bridge", False, False)]


def test_a_network_card_is_not_the_end_of_a_veth_pair() -> None:
    card = VETH._replace(name="eth0", kind="", master=0, is_up=False)
    lease = resources.ExpectedLease("/x/net", ipaddress.ip_address("10.1.0.2"), "blue", "eth0", "/x")
    state = (
        resources.Bridge("cni0"),
        resources.ExpectedLink("eth0", inside=False, mtu=1400, is_up=True, kind="veth"),
        resources.Port("eth0", "cni0"),
        resources.ExpectedAddress("eth0", GATEWAY, inside=False),
        lease,
    )
    assert compare(FakeSnapshot(card), *state) == [
        ("interface eth0 of the node is not a veth", False, False),
        ("the lease of 10.1.0.2 in /x/net is gone", True, False),
    ]


def test_a_link_of_the_node_that_another_plugin_has_added_may_have_any_kind() -> None:
    tunnel = VETH._replace(name="tunl0", kind="ipip", master=0, is_up=False)
    link = resources.ExpectedLink("tunl0", inside=False, is_up=True)
    assert compare(FakeSnapshot(tunnel), link) == [("interface tunl0 of the node is down", True, False)]


def test_a_bridge_gets_no_second_address_of_ipv4() -> None:
    address = resources.ExpectedAddress("cni0", GATEWAY, inside=False, is_only=True)
    message = "address 10.1.0.1/16 of interface cni0 of the node is missing"
    assert compare(FakeSnapshot(CNI0), address) == [(message, True, False)]
    assert compare(FakeSnapshot(CNI0, addresses=["fe80::1/64"]), address) == [(message, True, False)]
    other = FakeSnapshot(CNI0, addresses=["10.2.0.1/16"])
    assert compare(other, address) == [(f"{message}, which has 10.2.0.1/16", False, False)]


def test_a_larger_mtu_of_a_bridge_is_not_drift() -> None:
    bridge = resources.Bridge("cni0", mtu=1400)
    assert compare(FakeSnapshot(CNI0._replace(mtu=9000)), bridge) == []
    small = compare(FakeSnapshot(CNI0._replace(mtu=1300)), bridge)
    assert small == [("the MTU of cni0 of the node is 1300, less than 1400", True, False)]


def test_a_setting_that_the_kernel_does_not_have_cannot_be_repaired() -> None:
    setting = resources.Sysctl("net/ipv6/conf/all/forwarding", "1", inside=False)
    message = "net/ipv6/conf/all/forwarding of the node is None, not 1"
    assert compare(FakeSnapshot(), setting) == [(message, False, False)]


@pytest.mark.parametrize(("burst", "is_drift"), [(100_000, False), (99_998, False), (90_000, True)])
def test_the_kernel_may_round_a_burst(burst: int, is_drift: bool) -> None:
    rate = resources.Rate("veth7", 1_000_000, 100_000)
    assert bool(compare(FakeSnapshot(VETH, bucket=TokenBucket(1_000_000, burst)), rate)) is is_drift


LEASES: dict[str, tuple[Lease | None, list[tuple[str, bool, bool]]]] = {
    "none": (None, [("the lease of 10.1.0.2 in /x/net is gone", True, False)]),
    "empty": (
        Lease("/x/net/10.1.0.2", "10.1.0.2", "", "", 0.0, ()),
        [("the lease of 10.1.0.2 in /x/net is empty", True, False)],
    ),
    "its own": (Lease("/x/net/10.1.0.2", "10.1.0.2", "blue", "eth0", 0.0, ()), []),
    "its own, of an old release": (Lease("/x/net/10.1.0.2", "10.1.0.2", "blue", "", 0.0, ()), []),
    "that of another interface": (
        Lease("/x/net/10.1.0.2", "10.1.0.2", "blue", "eth1", 0.0, ()),
        [("the lease of 10.1.0.2 in /x/net belongs to container blue (eth1)", False, False)],
    ),
}


@pytest.mark.parametrize(("found", "differences"), LEASES.values(), ids=LEASES)
def test_a_lease_belongs_to_the_container_and_the_interface(
    found: Lease | None, differences: list[tuple[str, bool, bool]]
) -> None:
    wanted = resources.ExpectedLease("/x/net", ipaddress.ip_address("10.1.0.2"), "blue", "eth0", "/x")
    assert compare(FakeSnapshot(lease=found), wanted) == differences


def test_the_directory_of_a_lease_that_is_there_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    monkeypatch.setattr(lease_files, "is_followed", lambda path, dummy: listed.append(path))
    wanted = resources.ExpectedLease("/other/net", ipaddress.ip_address("10.1.0.2"), "blue", "eth0", "/x")
    compare(FakeSnapshot(lease=Lease("/other/net/10.1.0.2", "10.1.0.2", "blue", "eth0", 0.0, ())), wanted)
    assert listed == []
    compare(FakeSnapshot(), wanted)
    assert listed == ["/other/net"]


def test_a_lease_is_written_only_into_a_directory_that_host_local_has_used(tmp_path: pathlib.Path) -> None:
    wanted = resources.ExpectedLease(str(tmp_path), ipaddress.ip_address("10.1.0.2"), "blue", "eth0", "/x")
    gone = f"the lease of 10.1.0.2 in {tmp_path} is gone"
    assert compare(FakeSnapshot(), wanted) == [(gone, False, False)]
    (tmp_path / "last_reserved_ip.0").touch()
    assert compare(FakeSnapshot(), wanted) == [(gone, True, False)]


@pytest.mark.parametrize("kind", ["", "veth"])
def test_nothing_is_written_to_a_link_that_is_not_the_recorded_bridge(kind: str) -> None:
    state = (
        resources.Bridge("cni0"),
        resources.Port("veth7", "cni0"),
        resources.ExpectedAddress("cni0", GATEWAY, inside=False),
        resources.Sysctl("net/ipv4/conf/cni0/route_localnet", "1", inside=False, link="cni0"),
    )
    node = FakeSnapshot(CNI0._replace(kind=kind), VETH._replace(master=0))
    assert compare(node, *state) == [("interface cni0 of the node is not a bridge", False, False)]


OTHER_ENDS = {"index": {"peer": 9}, "namespace": {"peer_netns": BLUE + 1}, "place on the node": {"peer_netns": None}}


@pytest.mark.parametrize("keys", [{}, *OTHER_ENDS.values()], ids=["the same", *OTHER_ENDS])
def test_a_veth_of_the_node_is_the_other_end_of_the_containers_interface(
    monkeypatch: pytest.MonkeyPatch, keys: dict[str, t.Any]
) -> None:
    """Containers choose the indexes of pairs that they make."""
    monkeypatch.setattr(rtnetlink, "netns_id", {"/run/netns/blue": BLUE}.__getitem__)
    state = (
        resources.ExpectedLink("veth7", inside=False, is_up=True, kind="veth", peer="eth0"),
        resources.Port("veth7", "cni0"),
    )
    eth0 = VETH._replace(ifindex=2, name="eth0", peer=7, master=0)
    node = FakeSnapshot(CNI0, VETH._replace(is_up=False, master=0, **keys))
    differences = host.find(state, t.cast("t.Any", node), [eth0], "/run/netns/blue")
    stranger = ["interface veth7 of the node is not the other end of eth0"]
    own = ["interface veth7 of the node is down", "interface veth7 of the node is not a port of cni0"]
    assert [difference.message for difference in differences] == (stranger if keys else own)
