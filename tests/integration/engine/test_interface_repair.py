# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drift of interfaces is named, and repaired in place: the attachment remains the same."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference import attachment_drift, interface_repair
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import (
    inside,
    spare_duplicate_address_detection,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]
pytest.importorskip("pyroute2")


class Repaired:
    """An attachment that a test breaks and repairs."""

    def __init__(
        self, node: EngineNode, engine: Engine, namespace: Namespace, *plugins: JsonObject, **keys: t.Any
    ) -> None:
        for kind in [reference_networks.missing_kind(plugins)]:
            if kind:
                pytest.skip(f"the kernel has no {kind}")
        node.write(reference_networks.network(*plugins))
        self.item = attachment("net", namespace, **keys)
        engine.add(self.item)
        self.record = engine.record(self.item)
        self.snapshot = NodeView()
        self._namespace = namespace
        assert self.drift()[:3] == ((), (), ())

    @property
    def words(self) -> dict[str, str]:
        """The names that commands and messages use."""
        assert self.record.result is not None
        names = [name for name in self.record.node_interfaces if name.startswith("veth")]
        ifbs = [name for name in self.record.node_interfaces if name.startswith("bwp")]
        address = self.record.addresses[0].partition("/")[0]
        return {"host": (names or [""])[0], "ifb": (ifbs or [""])[0], "address": address}

    def drift(self) -> LinkDrift:
        drift = attachment_drift.find_link_drift(RecordedRequests(self.record), self.snapshot)
        assert drift is not None
        return drift

    def run(self, command: str) -> None:
        """Run a command on the node, or in the container if it begins with ``inside``."""
        where, dummy, rest = command.format(**self.words).partition(" ")
        argv = (["sh", "-ec", rest]) if where == "inside" else ["sh", "-ec", f"{where} {rest}"]
        if where == "inside":
            self._namespace.run(*argv)
        else:
            subprocess.run(argv, check=True)

    def links(self) -> list[tuple[str, int]]:
        """Return name and index of the links that only ADD makes."""
        inside = [(link["ifname"], link["ifindex"]) for link in ip("link", namespace=self._namespace.name)]
        return inside + [(link["ifname"], link["ifindex"]) for link in ip("link") if link["ifname"].startswith("veth")]

    def spoil_and_repair(self, commands: str, *messages: str) -> None:
        """Run commands, find exactly this drift, repair it, and find none."""
        links = self.links()
        for command in commands.split("; "):
            self.run(command)
        self.snapshot = NodeView()
        found = self.drift()
        named = [*found.inside, *found.on_node]
        assert named == [message.format(**self.words) for message in messages]
        assert all(difference.is_repairable for difference in found.differences)
        assert interface_repair.repair(self.record, found.differences) == []
        assert self.drift()[:3] == ((), (), ())
        assert self.links() == links

    def reach(self, address: str, *options: str) -> None:
        self._namespace.run("ping", "-c1", "-W2", *options, address)


IPAM = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES)
BRIDGE: JsonObject = {"type": "bridge", "bridge": "cni0", "isGateway": True, "mtu": 1400, "ipam": IPAM}
# Newer releases of the plugins let an interface keep its IPv6 addresses while it is down.
FORGET = "inside sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=0"
# A change of an attachment to a bridge, and what is said about it.
BRIDGE_DRIFT: dict[str, tuple[str, list[str]]] = {
    "interface down": (
        f"{FORGET}; inside ip link set eth0 down",
        [
            "interface eth0 is down",
            "address fd00:1::2/64 is missing",
            "the route to 0.0.0.0/0 is missing",
            "the route to ::/0 is missing",
        ],
    ),
    "MTU": ("inside ip link set eth0 mtu 1300", ["the MTU of eth0 is 1300, not 1400"]),
    "MAC": ("inside ip link set eth0 address 02:00:00:00:00:01", ["the MAC of eth0 is 02:00:00:00:00:01, not {mac}"]),
    "address": (
        "inside ip address delete {address}/16 dev eth0",
        ["address {address}/16 is missing", "the route to 0.0.0.0/0 is missing"],
    ),
    "default route": ("inside ip route delete default", ["the route to 0.0.0.0/0 is missing"]),
    "route of the kernel": ("inside ip route delete 10.1.0.0/16 dev eth0", ["the route to 10.1.0.0/16 is missing"]),
    "all routes": (
        "inside ip route flush table main; inside ip -6 route flush table main",
        [
            "the route to 10.1.0.0/16 is missing",
            "the route to fd00:1::/64 is missing",
            "the route to 0.0.0.0/0 is missing",
            "the route to ::/0 is missing",
        ],
    ),
    "IPv6 switched off": (
        "inside echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6",
        ["address fd00:1::2/64 is missing", "the route to ::/0 is missing"],
    ),
    "host end down": ("ip link set {host} down", ["interface {host} of the node is down"]),
    "host end's MTU": (  # a bridge follows the least MTU of its ports
        "ip link set {host} mtu 1300; ip link set cni0 mtu 1300",
        ["the MTU of cni0 of the node is 1300, less than 1400", "the MTU of {host} of the node is 1300, not 1400"],
    ),
    "port": ("ip link set {host} nomaster", ["interface {host} of the node is not a port of cni0"]),
    "bridge down": (
        "ip link set cni0 down",
        ["interface cni0 of the node is down", "address fd00:1::1/64 of interface cni0 of the node is missing"],
    ),
    "gateway": (
        "ip address delete 10.1.0.1/16 dev cni0",
        ["address 10.1.0.1/16 of interface cni0 of the node is missing"],
    ),
    "bridge": ("ip link delete cni0", ["interface cni0 of the node is gone"]),
    "forwarding": (
        "sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0",
        [
            "net/ipv4/ip_forward of the node is 0, not 1",
            "net/ipv6/conf/all/forwarding of the node is 0, not 1",
        ],
    ),
}


def test_drift_of_a_bridge_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    assert repaired.record.result is not None
    mac = repaired.record.result.keys["interfaces"][2]["mac"]
    gateway_mac = ip("link", "show", "cni0")[0]["address"]
    for commands, messages in BRIDGE_DRIFT.values():
        repaired.spoil_and_repair(commands, *(message.replace("{mac}", mac) for message in messages))
        repaired.reach("10.1.0.1")
        repaired.reach("fd00:1::1")
        assert ip("link", "show", "cni0")[0]["address"] == gateway_mac


@pytest.fixture
def red(node: EngineNode) -> t.Iterator[Namespace]:
    with namespace("red") as made:
        with inside(made.path):
            spare_duplicate_address_detection()
        yield made


def test_two_attachments_return_to_a_bridge_that_was_gone(
    node: EngineNode, engine: Engine, blue: Namespace, red: Namespace
) -> None:
    first = Repaired(node, engine, blue, BRIDGE)
    second = Repaired(node, engine, red, BRIDGE)
    subprocess.run(["ip", "link", "delete", "cni0"], check=True)
    first.spoil_and_repair("true ", "interface cni0 of the node is gone")
    second.spoil_and_repair("true ", f"interface {second.words['host']} of the node is not a port of cni0")
    first.reach(second.words["address"])


PORT_FLAGS: dict[str, tuple[JsonObject, str, str]] = {
    "hairpin": (
        {"hairpinMode": True},
        "bridge link set dev {host} hairpin off",
        "interface {host} of the node does not have hairpin mode",
    ),
    "promiscuous": (
        {"promiscMode": True},
        "ip link set cni0 promisc off",
        "interface cni0 of the node is not promiscuous",
    ),
    "isolated": (
        {"portIsolation": True},
        "bridge link set dev {host} isolated off",
        "interface {host} of the node is not isolated from other ports",
    ),
}


@pytest.mark.parametrize(("keys", "command", "message"), PORT_FLAGS.values(), ids=PORT_FLAGS)
def test_flags_of_links_are_repaired(
    node: EngineNode, engine: Engine, blue: Namespace, keys: JsonObject, command: str, message: str
) -> None:
    if "portIsolation" in keys:  # older releases of the plugin do not know it
        plain = {key: value for key, value in BRIDGE.items() if key != "portIsolation"}
        repaired = Repaired(node, engine, blue, plain)
        network = reference_networks.network({**BRIDGE, **keys})
        repaired.record = repaired.record._replace(config=__import__("json").dumps(network).encode())
        subprocess.run(["bridge", "link", "set", "dev", repaired.words["host"], "isolated", "on"], check=True)
    else:
        repaired = Repaired(node, engine, blue, {**BRIDGE, **keys})
    repaired.spoil_and_repair(command, message)
    message = f"interface {repaired.words['host']} of the node is not a port of cni0"
    repaired.spoil_and_repair("ip link set {host} nomaster", message)


PTP_DRIFT: dict[str, tuple[str, list[str]]] = {
    "host route": (
        "ip route delete {address}/32",
        ["the route to {address}/32 on interface {host} of the node is missing"],
    ),
    "gateway": (
        "ip address delete 10.3.0.1/32 dev {host}",
        [
            "address 10.3.0.1/32 of interface {host} of the node is missing",
            "the route to {address}/32 on interface {host} of the node is missing",
        ],
    ),
    "host end down": (
        "ip link set {host} down",
        [
            "interface {host} of the node is down",
            "address fd00:3::1/128 of interface {host} of the node is missing",
            "the route to fd00:3::2/128 on interface {host} of the node is missing",
        ],
    ),
    "routes": (
        "inside ip route flush dev eth0",
        [
            "the route to 10.3.0.1/32 is missing",
            "the route to 10.3.0.0/16 via 10.3.0.1 is missing",
            "the route to 0.0.0.0/0 is missing",
        ],
    ),
    "interface down": (
        f"{FORGET}; inside ip link set eth0 down",
        [
            "interface eth0 is down",
            "address fd00:3::2/64 is missing",
            "the route to 10.3.0.1/32 is missing",
            "the route to 10.3.0.0/16 via 10.3.0.1 is missing",
            "the route to fd00:3::1/128 is missing",
            "the route to fd00:3::/64 via fd00:3::1 is missing",
            "the route to 0.0.0.0/0 is missing",
            "the route to ::/0 is missing",
        ],
    ),
}


@pytest.mark.parametrize(("commands", "messages"), PTP_DRIFT.values(), ids=PTP_DRIFT)
def test_drift_of_a_point_to_point_link_is_repaired(
    node: EngineNode, engine: Engine, blue: Namespace, commands: str, messages: list[str]
) -> None:
    repaired = Repaired(node, engine, blue, reference_networks.PTP)
    before = sorted(map(str, ip("route", namespace=blue.name)))
    repaired.spoil_and_repair(commands, *messages)
    repaired.reach("10.3.0.1")
    repaired.reach("fd00:3::1")
    assert [str(route) for route in ip("route", namespace=blue.name) if str(route) not in before] == []


TUNING: JsonObject = {
    "type": "tuning",
    "sysctl": {"net.core.somaxconn": "500", "net.ipv4.conf.IFNAME.rp_filter": "2"},
    "mac": reference_networks.MAC,
    "mtu": 1380,
    "promisc": True,
    "allmulti": True,
}
TUNED: dict[str, tuple[str, str]] = {
    "setting": ("inside sysctl -qw net.core.somaxconn=100", "net/core/somaxconn is 100, not 500"),
    "setting of the interface": (
        "inside sysctl -qw net.ipv4.conf.eth0.rp_filter=0",
        "net/ipv4/conf/eth0/rp_filter is 0, not 2",
    ),
    "MTU": ("inside ip link set eth0 mtu 1500", "the MTU of eth0 is 1500, not 1380"),
    "promiscuous": ("inside ip link set eth0 promisc off", "interface eth0 is not promiscuous"),
    "multicast": ("inside ip link set eth0 allmulticast off", "interface eth0 does not receive all multicast packets"),
    "MAC": (
        "inside ip link set eth0 address 02:00:00:00:00:01",
        f"the MAC of eth0 is 02:00:00:00:00:01, not {reference_networks.MAC}",
    ),
}


def test_values_that_tuning_set_are_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE, TUNING)
    for command, message in TUNED.values():
        repaired.spoil_and_repair(command, message)
    repaired.reach("10.1.0.1")


def test_rates_of_bandwidth_are_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, reference_networks.PTP, reference_networks.BANDWIDTH)
    qdiscs = subprocess.run(["tc", "qdisc"], check=True, capture_output=True, text=True).stdout
    no_redirect = "interface {host} of the node does not redirect what it receives to {ifb}"
    for commands, *messages in (
        ("tc qdisc delete dev {host} root", "the rate limit of interface {host} of the node is missing"),
        ("tc qdisc delete dev {ifb} root", "the rate limit of interface {ifb} of the node is missing"),
        (
            "tc qdisc change dev {host} root tbf rate 4mbit burst 1000000 latency 25ms",
            "the rate limit of interface {host} of the node is 500000 bytes/s with bursts of 1000000 bytes, "
            "not 1000000 and 1000000",
        ),
        ("tc qdisc delete dev {host} ingress", no_redirect),
        ("ip link set {ifb} down", "interface {ifb} of the node is down"),
        ("ip link delete {ifb}", "interface {ifb} of the node is gone"),
    ):
        repaired.spoil_and_repair(commands, *messages)
        repaired.reach("10.3.0.1")
        assert sorted(_limits(subprocess.run(["tc", "qdisc"], check=True, capture_output=True, text=True).stdout)) == (
            sorted(_limits(qdiscs))
        )


def _limits(text: str) -> list[str]:
    return [line.partition(" dev ")[2] for line in text.splitlines() if "tbf" in line or "ingress" in line]


def test_routing_by_source_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE, {"type": "sbr"})
    before = _routes(blue)
    rules = ip("rule", namespace=blue.name)
    network, everywhere = "the route to 10.1.0.0/16 is missing", "the route to 0.0.0.0/0 is missing"
    for commands, *messages in (
        ("inside ip rule delete from {address}", "the rule for packets from {address} is missing"),
        ("inside ip route flush table 100", network, everywhere),
        ("inside ip address delete {address}/16 dev eth0", "address {address}/16 is missing", network, everywhere),
    ):
        repaired.spoil_and_repair(commands, *messages)
        assert ip("rule", namespace=blue.name) == rules
        assert _routes(blue) == before
        repaired.reach("10.1.0.1", "-I", repaired.words["address"])


def _routes(namespace: Namespace) -> list[str]:
    """Return the routes of all tables, without the program that made them."""
    routes = ip("route", "show", "table", "all", namespace=namespace.name)
    return sorted(str({key: value for key, value in route.items() if key != "protocol"}) for route in routes)


def test_drift_of_a_macvlan_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    reference_networks.make_uplink()
    repaired = Repaired(node, engine, blue, reference_networks.MACVLAN)
    repaired.spoil_and_repair(
        "inside ip link set eth0 down; inside ip address flush dev eth0",
        "interface eth0 is down",
        "address {address}/16 is missing",
    )
    for mode in ("private", "vepa"):
        command = f"inside ip link set eth0 type macvlan mode {mode}"
        repaired.spoil_and_repair(command, f"interface eth0 has macvlan mode {mode}, not bridge")
    repaired.reach(reference_networks.WORLD)


@pytest.mark.other_kernel
def test_drift_of_an_ipvlan_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    reference_networks.make_uplink()
    repaired = Repaired(node, engine, blue, reference_networks.IPVLAN)
    for mode in ("l3", "l3s"):
        command = f"inside ip link set eth0 type ipvlan mode {mode}"
        repaired.spoil_and_repair(command, f"interface eth0 has ipvlan mode {mode}, not l2")
    repaired.reach(reference_networks.WORLD)


@pytest.mark.other_kernel
def test_a_lost_vlan_of_a_bridge_port_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, {**BRIDGE, "vlan": 97})
    lost = "interface {host} of the node does not have VLAN 97 without tags"
    repaired.spoil_and_repair("bridge vlan delete dev {host} vid 97", lost)
    repaired.reach("10.1.0.1")


@pytest.mark.other_kernel
def test_a_bridge_that_does_not_filter_vlans_any_more_is_left_alone(
    node: EngineNode, engine: Engine, blue: Namespace
) -> None:
    repaired = Repaired(node, engine, blue, {**BRIDGE, "vlan": 97})
    repaired.run("ip link set cni0 type bridge vlan_filtering 0")
    repaired.snapshot = NodeView()
    drift = repaired.drift()
    assert drift.on_node == ("interface cni0 of the node does not filter VLANs",)
    assert not any(difference.is_repairable for difference in drift.differences)


@pytest.mark.other_kernel
def test_drift_of_a_vrf_is_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    # Executables of 1.1 lose the routes of an interface that goes into a VRF.
    ipam = {key: IPAM[key] for key in ("type", "ranges")}
    repaired = Repaired(node, engine, blue, {**BRIDGE, "ipam": ipam}, reference_networks.VRF)
    for command, *messages in (
        ("inside ip link set eth0 nomaster", "interface eth0 is not in VRF customer"),
        ("inside ip link set customer down", "VRF customer is down"),
    ):
        repaired.spoil_and_repair(command, *messages)
        repaired.reach("10.1.0.1", "-I", "eth0")
        repaired.reach("fd00:1::1", "-I", "eth0")


def test_resources_that_only_add_can_make_are_not_repaired(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    repaired.run("inside ip link delete eth0")
    repaired.snapshot = NodeView()
    drift = repaired.drift()
    assert drift.inside == ("interface eth0 is gone",)
    assert not any(difference.is_repairable for difference in drift.differences)
    errors = interface_repair.repair(repaired.record, drift.differences)
    assert len(errors) == len(drift.differences)
    assert "interface eth0 is gone: it cannot be repaired without ADD" in map(str, errors)


def test_another_link_with_the_same_name_is_not_changed(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    repaired.run("ip link delete cni0")
    repaired.snapshot = NodeView()
    differences = repaired.drift().differences
    repaired.run("ip link add cni0 type ifb")
    before = ip("link", "show", "cni0")
    errors = interface_repair.repair(repaired.record, differences)
    assert "another link has the name cni0, and is not a bridge" in str(errors[0])
    assert ip("link", "show", "cni0") == before
    repaired.snapshot = NodeView()
    assert repaired.drift().on_node[0] == "interface cni0 of the node is not a bridge"


def _replace_host_end(node: EngineNode, repaired: Repaired, name: str) -> None:
    """Let the record name another link of the node as the host end."""
    path = node.record_of(repaired.item)
    path.write_text(path.read_text(encoding="utf-8").replace(repaired.words["host"], name), encoding="utf-8")


def test_a_network_card_that_a_record_names_is_not_changed(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    repaired.run("ip link add card type ifb")
    _replace_host_end(node, repaired, "card")
    repaired.run("ip link delete cni0")
    before = ip("link")
    (entry,) = node.run("repair", resources=["interfaces"]).succeeded().entries
    assert (entry["action"], entry["left"]) == ("drifted", ["interface card of the node is not a veth"])
    assert ip("link") == before


def test_the_end_of_another_veth_pair_with_the_same_index_is_not_changed(
    node: EngineNode, engine: Engine, blue: Namespace
) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    index = dict(repaired.links())["eth0"]
    with namespace("red") as red:
        repaired.run(f"ip link add card type veth peer name eth0 index {index} netns {red.name}")
        _replace_host_end(node, repaired, "card")
        before = ip("link")
        (entry,) = node.run("repair", resources=["interfaces"]).succeeded().entries
        assert ip("link") == before
    assert (entry["action"], entry["reason"]) == ("drifted", "interface eth0 is another link than the recorded one")


def test_a_pair_that_a_container_made_with_the_recorded_indexes_is_not_the_recorded_one(
    node: EngineNode, engine: Engine, blue: Namespace
) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    indexes, host_end = dict(repaired.links()), repaired.words["host"]
    mac = next(link["address"] for link in ip("link", namespace=blue.name) if link["ifname"] == "eth0")
    with namespace("red") as red:
        repaired.run(f"inside ip link set eth0 netns {red.name}")
        forged = f"index {indexes['eth0']} address {mac} type veth peer name tap index {indexes[host_end]}"
        repaired.run(f"inside ip link add eth0 {forged}")
        repaired.run(f"ip link set {host_end} nomaster")
        (entry,) = node.run("repair", resources=["interfaces"]).succeeded().entries
        assert ["master" in link for link in ip("link") if link["ifname"] == host_end] == [False]
    assert (entry["action"], entry["reason"]) == ("drifted", "interface eth0 is another link than the recorded one")


def test_a_bridge_with_another_address_is_not_changed(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE)
    repaired.run("ip address replace 10.7.0.1/16 dev cni0")
    repaired.run("ip address delete 10.1.0.1/16 dev cni0")
    repaired.snapshot = NodeView()
    drift = repaired.drift()
    assert drift.on_node == ("address 10.1.0.1/16 of interface cni0 of the node is missing, which has 10.7.0.1/16",)
    assert not any(difference.is_repairable for difference in drift.differences)


def test_everything_except_rates_is_repaired_without_the_library(
    node: EngineNode, engine: Engine, blue: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repaired = Repaired(node, engine, blue, BRIDGE, reference_networks.BANDWIDTH)
    repaired.run("tc qdisc delete dev {host} root")
    repaired.run("ip link set cni0 down")
    monkeypatch.setitem(__import__("sys").modules, "pyroute2", None)
    repaired.snapshot = NodeView()
    drift = repaired.drift()
    assert "interface cni0 of the node is down" in drift.on_node
    (error,) = interface_repair.repair(repaired.record, drift.differences)
    repaired.snapshot = NodeView()
    assert "interface cni0 of the node is down" not in repaired.drift().on_node
    assert "rate limits need the Python library pyroute2, which the node lacks" in str(error)
    assert "install the package python3-pyroute2" in str(error)
