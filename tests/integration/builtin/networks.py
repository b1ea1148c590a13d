# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks whose attachments go from built-in plugins to executables and back, with damage that is repaired."""

from __future__ import annotations

import re
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import is_false_alarm
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.reference_networks import DEFAULT_ROUTES, host_local, network
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support import ring, state
from ansible_collections.cni.node.tests.support.key_case import in_other_case
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip

FLUSH = "nft flush ruleset"
DUAL_STACK = host_local("10.1.0.0/16", routes=DEFAULT_ROUTES)
DUAL_STACK["ranges"].append([{"subnet": "fd00:1::/64"}])
GATEWAY = reference_networks.bridge(ipMasq=True, ipam=DUAL_STACK)
PORTS: JsonObject = {
    "portMappings": [
        {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 5353, "containerPort": 53, "protocol": "udp"},
        {"hostPort": 8081, "containerPort": 81, "protocol": "tcp", "hostIP": "127.0.0.1"},
        {"hostPort": 8082, "containerPort": 82, "protocol": "tcp", "hostIP": "::1"},
    ]
}
PORTMAP: JsonObject = {**reference_networks.PORTMAP, "backend": "iptables"}
TUNING: JsonObject = {
    "type": "tuning",
    "mac": "02:00:00:00:03:03",
    "mtu": 1400,
    "promisc": True,
    "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1", "net.core.somaxconn": "500"},
}
SAME_BRIDGE: JsonObject = {**reference_networks.FIREWALL, "ingressPolicy": "same-bridge"}


class Case(t.NamedTuple):
    """A network, its attachment, and commands that damage it; those that begin with ``inside`` run in the container."""

    plugins: tuple[JsonObject, ...]
    damage: tuple[str, ...]
    keys: JsonObject = {}
    # Addresses that the container pings through its interface, after the attachment and after each repair.
    reaches: tuple[str, ...] = ()

    def sampled_damage(self) -> list[str]:
        """Return the commands; in the inner ring, half of those of a case that needs another kernel, where all is slow."""
        return ring.sample(self.damage, 2 if reference_networks.other_kernel_marks(self.plugins) else 1)


# Executables of 1.1 lose the routes of an interface that goes into a VRF.
WITHOUT_ROUTES = {**GATEWAY, "ipMasq": False, "ipam": {key: DUAL_STACK[key] for key in ("type", "ranges")}}
GATEWAYS = ("10.1.0.1", "fd00:1::1")
FLUSH_ADDRESSES = "inside ip address flush dev eth0 scope global"
LOST_ADDRESS = "inside ip address delete {address}/16 dev eth0"
LOST_ROUTE = "inside ip route delete default"
CASES = {
    "bridge": Case(
        ({"type": "bridge", "ipam": host_local("10.1.0.0/16")},), (LOST_ADDRESS, "ip link set {host} nomaster")
    ),
    "bridge without addresses": Case(({"type": "bridge"},), ("ip link set {host} nomaster",)),
    "bridge as gateway of both families": Case((GATEWAY,), (FLUSH, LOST_ROUTE, "ip address flush dev cni0")),
    "bridge, checking MACs": Case((reference_networks.bridge(macspoofchk=True),), ("nft flush table bridge nat",)),
    "bridge, promiscuous": Case((reference_networks.bridge(promiscMode=True),), ("ip link set cni0 promisc off",)),
    "bridge, hairpin": Case(
        (reference_networks.bridge(hairpinMode=True),), ("bridge link set dev {host} hairpin off",)
    ),
    "ptp": Case((reference_networks.PTP,), (FLUSH, LOST_ROUTE, "ip route delete {address}")),
    "macvlan": Case((reference_networks.MACVLAN,), ("inside ip address flush dev eth0",)),
    "ipvlan": Case(
        ({**reference_networks.IPVLAN, "mode": "l3s"},),
        (FLUSH_ADDRESSES, "inside ip link set eth0 type ipvlan mode l2"),
    ),
    "vlan": Case(
        (reference_networks.VLAN,),
        (FLUSH_ADDRESSES, "inside ip link set eth0 mtu 1300"),
        reaches=(reference_networks.WORLD_IN_VLAN,),
    ),
    "bridge in a VLAN": Case(
        # Executables before 1.3 do not have this key, and leave the port in VLAN 1.
        ({**GATEWAY, "vlan": 97, "preserveDefaultVlan": True},),
        (
            "iptables -t nat -F",
            "bridge vlan delete dev {port} vid 97",
            "ip link set {port} nomaster",
            "ip address flush dev cni0.97 scope global",
            "ip link delete cni0",
        ),
        reaches=GATEWAYS,
    ),
    "vrf": Case(
        (WITHOUT_ROUTES, {**reference_networks.VRF, "table": 97}),
        ("inside ip link set eth0 nomaster", "inside ip link delete customer"),
        reaches=GATEWAYS,
    ),
    "host-device": Case((reference_networks.HOST_DEVICE,), ("inside ip address delete 10.4.1.1/16 dev eth0",)),
    "loopback": Case((reference_networks.LOOPBACK,), ("inside ip link set lo down",), {"ifname": "lo"}),
    "static": Case(
        (
            reference_networks.bridge(
                ipam={
                    "type": "static",
                    "addresses": [{"address": "10.1.7.7/16", "gateway": "10.1.0.1"}, {"address": "fd00:1::7/64"}],
                    "routes": [{"dst": "0.0.0.0/0"}],
                }
            ),
        ),
        (LOST_ROUTE, "inside ip address delete fd00:1::7/64 dev eth0"),
    ),
    "tuning": Case(
        (reference_networks.bridge(), TUNING),
        (
            "inside ip link set eth0 mtu 1300",
            "inside ip link set eth0 promisc off",
            "inside sysctl -qw net.ipv4.conf.eth0.arp_filter=0",
        ),
    ),
    "portmap": Case((GATEWAY, PORTMAP), (FLUSH,), {"capability_args": PORTS}),
    "keys in capitals": Case(
        (in_other_case(GATEWAY), in_other_case(PORTMAP)),
        (FLUSH,),
        {"capability_args": {name: in_other_case(value) for name, value in PORTS.items()}},
        reaches=GATEWAYS,
    ),
    "firewall": Case((GATEWAY, reference_networks.FIREWALL), (FLUSH,)),
    "firewall, same bridge": Case((GATEWAY, SAME_BRIDGE), ("iptables -F CNI-ISOLATION-STAGE-1", FLUSH)),
    "bandwidth": Case(
        (reference_networks.bridge(), reference_networks.BANDWIDTH),
        ("tc qdisc delete dev {host} root", "ip link set {ifb} down"),
    ),
    "sbr": Case(
        (reference_networks.bridge(), {"type": "sbr"}),
        ("inside ip rule delete from {address} table 100", "inside ip route flush table 100"),
    ),
    "everything": Case(
        (
            {**GATEWAY, "hairpinMode": True, "macspoofchk": True, "mtu": 1450},
            {**TUNING, "mac": ""},
            PORTMAP,
            SAME_BRIDGE,
            reference_networks.BANDWIDTH,
            {"type": "sbr"},
        ),
        # Rules that check a MAC, which tuning may have changed, are not in the record, and are not repaired in place.
        (
            "iptables -t nat -F",
            "ip6tables -F",
            "tc qdisc delete dev {host} root",
            "inside ip route flush table 100",
            LOST_ADDRESS,
        ),
        {"capability_args": PORTS},
    ),
}


# What executables before 1.3 do not have.
BUILT_IN_CASES = {
    "dummy": Case((reference_networks.DUMMY,), (FLUSH_ADDRESSES, "inside ip link set eth0 down")),
    "bridge in a VLAN alone": Case(
        ({**GATEWAY, "vlan": 97},),
        ("bridge vlan delete dev {port} vid 97", "ip link set {port} nomaster", "ip link delete cni0"),
        reaches=GATEWAYS,
    ),
    "bridge with a VLAN trunk and VLAN 1": Case(
        ({"type": "bridge", "vlanTrunk": [{"id": 1}, {"id": 20}]},),
        ("bridge vlan delete dev {host} vid 20", "ip link set {host} nomaster", "ip link delete cni0"),
    ),
    "bridge with a VLAN trunk": Case(
        ({"type": "bridge", "vlanTrunk": [{"minID": 10, "maxID": 12}, {"id": 20}], "preserveDefaultVlan": False},),
        ("bridge vlan delete dev {host} vid 10-12", "ip link set {host} nomaster", "ip link delete cni0"),
    ),
    "vrf with routes": Case(
        (GATEWAY, reference_networks.VRF),
        ("inside ip link set eth0 nomaster", "inside ip link delete customer", "inside ip link set customer down"),
        reaches=GATEWAYS,
    ),
}


def parameters(cases: t.Mapping[str, Case], way: int | None = None) -> list[t.Any]:
    """Return the parameters of a test that runs once for each case.

    Args:
        way: Of the cases that need another kernel, the inner ring runs every second one in a test with 0, and the others
            in a test of the same cases with 1.
    """
    return [
        pytest.param(case, id=name, marks=_marks(case, way is not None and (number + ring.SEED) % 2 != way))
        for number, (name, case) in enumerate(cases.items())
    ]


def _marks(case: Case, is_other_way: bool) -> list[pytest.MarkDecorator]:
    marks = reference_networks.other_kernel_marks(case.plugins)
    repetition = [pytest.mark.outer("repetition: the inner ring takes every second case")] if is_other_way else []
    return [*marks, *repetition] if marks else []


def prepare(node: EngineNode, namespace: Namespace, case: Case) -> JsonObject:
    """Write the network of a case and return the item of its attachment."""
    reference_networks.make_uplink()
    if kind := reference_networks.missing_kind(case.plugins):
        pytest.skip(f"this kernel has no {kind}")
    if "vlan" in reference_networks.needed_kinds(case.plugins):
        reference_networks.make_vlan_of_world()
    node.write(network(*case.plugins))
    return attachment("net", namespace, **case.keys)


def complete_state(node: EngineNode, namespace: Namespace) -> state.State:
    """Return the state of the node and of the container's namespace."""
    with inside(namespace.path):
        container = state.network_state().sections
    return state.State(
        {**node.state().sections, **{f"{name} of the container": lines for name, lines in container.items()}}
    )


def run_damage(command: str, result: JsonObject, namespace: Namespace) -> None:
    """Run a command of `Case.damage`; one that has ``{port}`` is run for each port of the bridge."""
    names = [item["name"] for item in result.get("interfaces") or () if not item.get("sandbox")]
    addresses = [entry["address"].partition("/")[0] for entry in result.get("ips") or ()]
    words = {
        "address": next(iter(addresses), ""),
        "host": next((name for name in names if name.startswith("veth")), ""),
        "ifb": next((name for name in names if name.startswith("bwp")), ""),
    }
    ports = [link["ifname"] for link in ip("link", "show", "master", "cni0")] if "{port}" in command else [""]
    for port in ports:
        argv = command.format(port=port, **words).split()
        if argv[0] == "inside":
            namespace.run(*argv[1:])
        else:
            subprocess.run(argv, check=True)


def ping(namespace: Namespace, case: Case) -> None:
    """Require that the container reaches the addresses of its case."""
    for address in case.reaches:
        namespace.run("ping", "-I", "eth0", "-c1", "-W5", address)


def require_check(engine: Engine, item: JsonObject) -> None:
    """Check an attachment by its plugins, and by the engine's comparison with the kernel."""
    assert engine.runtime.check(engine.record(item), is_false_alarm).was_run
    assert require_success(engine.ensure(item, on_drift="report"))[:2] == ("checked", False)


def as_set(given: state.State) -> state.State:
    """Return a state without what a repair does not restore.

    A flush removes chains that the programs then list elsewhere. A repair writes rules with the comments of the newest
    release, and a route of the kernel as one of the operator.
    """
    restored = re.compile(r" protocol 2\b|\|isolated(?=\))")
    sections = {name: sorted(restored.sub("", line) for line in lines) for name, lines in given.sections.items()}
    return state.State(
        {**sections, "nftables": [line for line in sections["nftables"] if "{" not in line and line != "}"]}
    )
