# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences are written in an order that works, to the links that were seen, and each on its own account."""

from __future__ import annotations

import contextlib
import ipaddress
import struct
import typing as t
import unittest.mock

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import netns, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import (
    kernel_writer,
    qdiscs,
    rtnetlink,
    traffic_control,
)
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Route
from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.test_attachment_drift_links import (
    CNI0,
    VETH,
)


class RecordingWriter:
    """Notes what is written, and fails where a test says so."""

    def __init__(self, links: dict[str, Link]) -> None:
        self.links = links
        self.written: list[str] = []
        self.failing = self.unexpected = ""

    def __getattr__(self, name: str) -> t.Callable[..., None]:
        def write(*arguments: t.Any, **dummy: t.Any) -> None:
            if name == self.failing:
                raise CniError(Code.IO_FAILURE, f"cannot {name}")
            if name == self.unexpected:
                raise struct.error("argument out of range")
            vlan = f" {arguments[1]}" if name.endswith("_vlan") else ""
            self.written.append(f"{name} {arguments[0]}{vlan}")
            if name == "ensure_link":
                made = CNI0._replace(
                    ifindex=20,
                    name=arguments[0],
                    kind=arguments[1],
                    is_up=False,
                    table=5 if arguments[1] == "vrf" else 0,
                )
                self.links.setdefault(arguments[0], made)

        return write


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> RecordingWriter:
    made = RecordingWriter({"veth7": VETH})

    def find(ifindex: int) -> Link | None:
        return next((link for link in made.links.values() if link.ifindex == ifindex), None)

    monkeypatch.setattr(kernel_writer, "connect", lambda: contextlib.nullcontext(made))
    monkeypatch.setattr(rtnetlink, "link", made.links.get)
    monkeypatch.setattr(rtnetlink, "link_by_index", find)
    monkeypatch.setattr(rtnetlink, "routes", lambda dummy: ())
    monkeypatch.setattr(sysctl, "write_at", lambda path, value: made.written.append(f"{path} {value}"))
    return made


HOST_ROUTE = resources.ExpectedRoute("veth7", ipaddress.ip_network("10.1.0.2/32"), None, inside=False)
GATEWAY = resources.ExpectedAddress("cni0", ipaddress.ip_interface("10.1.0.1/16"), inside=False)
# A bridge that is gone, in the order in which nothing would work.
DIFFERENCES = (
    Difference(resources.Sysctl("net/ipv4/ip_forward", "1", inside=False), "not forwarding"),
    Difference(HOST_ROUTE, "no route", link=VETH),
    Difference(GATEWAY, "no address", follows=True),
    Difference(resources.Port("veth7", "cni0", is_hairpin=True), "no port", link=VETH, follows=True),
    Difference(resources.ExpectedLink("veth7", inside=False, is_up=True), "down", link=VETH),
    Difference(resources.Bridge("cni0"), "no bridge"),
)


WITHOUT_PORT = [
    "ensure_link cni0",
    "net/ipv6/conf/cni0/accept_ra 0",
    "set_up 20",
    "set_up 7",
    "add_address 20",
    "add_route 7",
    "net/ipv4/ip_forward 1",
]


def repair(differences: t.Sequence[Difference]) -> list[CniError]:
    return interface_repair.repair(t.cast("t.Any", None), differences)


def test_resources_that_others_depend_on_are_written_first(writer: RecordingWriter) -> None:
    assert repair(DIFFERENCES) == []
    assert writer.written == [
        "ensure_link cni0",
        "net/ipv6/conf/cni0/accept_ra 0",
        "set_up 20",
        "set_up 7",
        "set_master 7",
        "set_hairpin 7",
        "add_address 20",
        "add_route 7",
        "net/ipv4/ip_forward 1",
    ]


@pytest.mark.parametrize("is_up", [True, False])
def test_a_bridge_that_is_up_keeps_its_router_advertisements(writer: RecordingWriter, is_up: bool) -> None:
    writer.links["cni0"] = CNI0._replace(is_up=is_up)
    assert repair([Difference(resources.Bridge("cni0"), "not promiscuous")]) == []
    assert ("net/ipv6/conf/cni0/accept_ra 0" in writer.written) is not is_up


def test_writing_continues_after_a_failure(writer: RecordingWriter) -> None:
    writer.failing = "set_master"
    assert [str(error) for error in repair(DIFFERENCES)] == ["no port: cannot set_master"]
    assert writer.written == WITHOUT_PORT


def test_writing_continues_after_a_number_that_the_kernel_has_no_room_for(writer: RecordingWriter) -> None:
    writer.unexpected = "set_master"
    assert [str(error).startswith("no port: unexpected") for error in repair(DIFFERENCES)] == [True]
    assert writer.written == WITHOUT_PORT


def test_a_port_returns_to_its_vlans(writer: RecordingWriter) -> None:
    writer.links["cni0"] = CNI0._replace(filters_vlans=True, default_vlan=1)
    port = resources.Port("veth7", "cni0", trunk=(2, 3), leaves_default_vlan=True)
    assert repair([Difference(port, "no port", link=VETH)]) == []
    assert writer.written == ["set_master 7", "remove_vlan 7 1", "add_vlan 7 2", "add_vlan 7 3"]
    writer.written.clear()
    assert repair([Difference(resources.Port("veth7", "cni0", vlan=5), "no VLAN", link=VETH)]) == []
    assert writer.written == ["set_master 7", "add_vlan 7 5"]


def test_the_vlan_of_a_gateway_returns_to_the_peer_of_its_link(writer: RecordingWriter) -> None:
    gateway = VETH._replace(ifindex=8, name="cni0.5", master=0, peer=9, peer_netns=None)
    port = VETH._replace(ifindex=9, name="veth9", peer=8, peer_netns=None)
    writer.links.update({"cni0": CNI0, "cni0.5": gateway, "veth9": port})
    lost = Difference(resources.Port("cni0.5", "cni0", by_peer=True, vlan=5), "no port", link=gateway)
    assert repair([lost]) == []
    assert writer.written == ["set_master 9", "add_vlan 9 5"]
    writer.links["veth9"] = VETH._replace(ifindex=9, name="veth9", peer=99)
    assert "the peer of cni0.5 is not in this network namespace" in str(repair([lost])[0])


def test_an_interface_returns_to_a_vrf_that_was_gone(writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "run_inside", lambda dummy, run: run())
    writer.links["eth0"] = eth0 = VETH._replace(ifindex=2, name="eth0", peer=7, master=0)
    network, everywhere = ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("0.0.0.0/0")
    monkeypatch.setattr(rtnetlink, "routes", lambda dummy: (Route(network, None, 2, 5),))  # made by the kernel
    lost = (
        Difference(
            resources.ExpectedRoute("eth0", everywhere, GATEWAY.interface.ip, True, table=5), "default", link=eth0
        ),
        Difference(resources.ExpectedRoute("eth0", network, None, True, table=5), "network", link=eth0),
        Difference(resources.ExpectedAddress("eth0", ipaddress.ip_interface("fd00::2/64"), True), "address", link=eth0),
        Difference(resources.Port("eth0", "red", inside=True), "no member", link=eth0),
        Difference(resources.Vrf("red", 5), "no VRF"),
    )
    record = t.cast("t.Any", unittest.mock.Mock())
    monkeypatch.setattr(sysctl, "read_at", lambda dummy: "0")
    assert interface_repair.repair(record, lost) == []
    made = ["ensure_link red", "set_up 20", "set_master 2", "add_address 2", "add_route 2"]
    assert writer.written == made
    writer.links["red"] = writer.links["red"]._replace(table=6)
    assert "the link red of the container is a VRF with table 6, not 5" in str(
        interface_repair.repair(record, lost[-1:])[0]
    )


OTHERS = {
    "renamed": VETH._replace(name="other"),
    "of another kind": VETH._replace(kind="macvlan"),
    "with another peer": VETH._replace(peer=99),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_link_with_the_same_name_is_not_changed(writer: RecordingWriter, other: Link) -> None:
    writer.links["veth7"] = other
    (error,) = repair([DIFFERENCES[1]])
    assert "the link has just been removed or replaced" in str(error)
    assert writer.written == []


def test_the_error_names_a_link_that_is_not_a_bridge(writer: RecordingWriter) -> None:
    writer.links["cni0"] = CNI0._replace(kind="veth")
    assert "another link has the name cni0, and is not a bridge" in str(repair(DIFFERENCES[-1:])[0])
    assert writer.written == ["ensure_link cni0"]  # the kernel has refused it


def test_resources_that_only_add_can_make_are_not_written(writer: RecordingWriter) -> None:
    (error,) = repair([DIFFERENCES[-1]._replace(is_repairable=False)])
    assert str(error) == "no bridge: it cannot be repaired without ADD"
    assert writer.written == []


def test_everything_except_rates_is_written_without_the_library(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyroute2", None)
    rate = Difference(resources.Rate("veth7", 1000, 1000), "no rate limit", link=VETH)
    (error,) = repair([DIFFERENCES[0], DIFFERENCES[1], rate])
    assert str(error).startswith("no rate limit:")
    assert "python3-pyroute2" in str(error)
    assert writer.written == ["add_route 7", "net/ipv4/ip_forward 1"]


def test_add_limits_a_rate_that_something_else_limits_already(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited: list[tuple[int, int, int]] = []
    monkeypatch.setattr(qdiscs, "token_buckets", lambda: {VETH.ifindex: qdiscs.OTHER_LIMIT})
    monkeypatch.setattr(traffic_control, "limit_rate", lambda *limit: limited.append(limit))
    writing.make_on_node((resources.Rate("veth7", 1000, 2000),), VETH)
    assert limited == [(VETH.ifindex, 1000, 2000)]


def test_add_makes_nothing_where_another_link_has_the_name_of_an_ifb(writer: RecordingWriter) -> None:
    writer.links["bwp0"] = CNI0._replace(name="bwp0")
    with pytest.raises(CniError, match="bwp0 of the node is"):
        writing.make_on_node((resources.Ifb("bwp0", "veth7"),), VETH)
    assert writer.written == []
