# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kernel requirements of each reference plugin, with their reasons."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs, add_network
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

V4: JsonObject = {"type": "host-local", "subnet": "10.1.0.0/16"}
V6: JsonObject = {"type": "host-local", "ranges": [[{"subnet": "fd00::/64"}]]}
BOTH: JsonObject = {"type": "static", "addresses": [{"address": "10.1.0.2/16"}, {"address": "fd00::2/64"}]}
DHCP: JsonObject = {"type": "dhcp"}
FORWARD, FORWARD_6 = "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"
BRIDGED, BRIDGED_6 = "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"
NAT = {"nf_conntrack", "nf_nat"}
MASQUERADE = {*NAT, "xt_MASQUERADE", "xt_comment"}
PORTMAP = {*MASQUERADE, "xt_addrtype", "xt_mark", "xt_multiport", "xt_nat"}
PORTMAP_NFT = {*NAT, "nf_tables", "nft_chain_nat", "nft_nat", "nft_masq"}


def needs_of(*networks: t.Sequence[JsonObject]) -> Needs:
    needs = Needs()
    for name, plugins in zip("abc", networks):
        document = {"cniVersion": "1.0.0", "name": name, "plugins": list(plugins)}
        add_network(needs, config.parse(json.dumps(document).encode(), "x"))
    return needs


# By its name: the plugins, and the names of the modules, of the settings and of the programs.
CASES: dict[str, tuple[list[JsonObject], set[str], set[str], set[str]]] = {
    "a bridge of layer 2": ([{"type": "bridge"}], {"bridge", "veth"}, set(), set()),
    "a gateway without addresses": ([{"type": "bridge", "isGateway": True}], {"bridge", "veth"}, set(), set()),
    "addresses without a gateway": ([{"type": "bridge", "ipam": V4}], {"bridge", "veth"}, set(), set()),
    "a gateway": (
        [{"type": "bridge", "isGateway": True, "ipam": V4}],
        {"bridge", "veth", "br_netfilter"},
        {FORWARD, BRIDGED},
        set(),
    ),
    "a gateway that is switched off": (
        [{"type": "bridge", "isGateway": False, "ipMasq": False, "ipam": V4}],
        {"bridge", "veth"},
        set(),
        set(),
    ),
    "a gateway of IPv6": (
        [{"type": "bridge", "isDefaultGateway": True, "ipam": V6}],
        {"bridge", "veth", "br_netfilter"},
        {FORWARD_6, BRIDGED_6},
        set(),
    ),
    "a gateway of both": (
        [{"type": "bridge", "isGateway": True, "ipam": BOTH}],
        {"bridge", "veth", "br_netfilter"},
        {FORWARD, FORWARD_6, BRIDGED, BRIDGED_6},
        set(),
    ),
    "a gateway whose addresses come by DHCP": (
        [{"type": "bridge", "isGateway": True, "ipam": DHCP}],
        {"bridge", "veth", "br_netfilter"},
        {FORWARD, BRIDGED},
        set(),
    ),
    "masquerading": (
        [{"type": "bridge", "ipMasq": True, "ipam": V4}],
        {"bridge", "veth", *MASQUERADE},
        {FORWARD},
        {"iptables"},
    ),
    "masquerading by nftables": (
        [{"type": "bridge", "ipMasq": True, "ipMasqBackend": "nftables", "ipam": BOTH}],
        {"bridge", "veth", *NAT, "nf_tables", "nft_chain_nat", "nft_masq"},
        {FORWARD, FORWARD_6},
        {"nft"},
    ),
    "protection against spoofed addresses": (
        [{"type": "bridge", "macspoofchk": True}],
        {"bridge", "veth", "nf_tables"},
        set(),
        {"nft"},
    ),
    "a point-to-point link": ([{"type": "ptp", "ipam": V4}], {"veth"}, {FORWARD}, set()),
    "a point-to-point link that masquerades": (
        [{"type": "ptp", "ipMasq": True, "ipam": BOTH}],
        {"veth", *MASQUERADE},
        {FORWARD, FORWARD_6},
        {"iptables", "ip6tables"},
    ),
    "ports without a bridge": ([{"type": "portmap"}], PORTMAP, {FORWARD}, {"iptables"}),
    "ports without snat": (
        [{"type": "portmap", "snat": False}],
        PORTMAP - {"xt_MASQUERADE", "xt_mark"},
        {FORWARD},
        {"iptables"},
    ),
    "ports with nftables and without snat": (
        [{"type": "portmap", "snat": False, "backend": "nftables"}],
        {*PORTMAP_NFT, "nft_fib_ipv4"} - {"nft_masq"},
        {FORWARD},
        {"nft"},
    ),
    "ports behind a bridge": (
        [{"type": "bridge", "ipam": V4}, {"type": "portmap"}],
        {"bridge", "veth", "br_netfilter", *PORTMAP},
        {FORWARD, BRIDGED},
        {"iptables"},
    ),
    "ports by nftables": (
        [{"type": "ptp", "ipam": V6}, {"type": "portmap", "backend": "nftables"}],
        {"veth", *PORTMAP_NFT, "nft_fib_ipv6"},
        {FORWARD_6},
        {"nft"},
    ),
    "a firewall": (
        [{"type": "firewall"}],
        {"nf_conntrack", "xt_comment", "xt_conntrack"},
        set(),
        {"iptables", "ip6tables"},
    ),
    "firewalld": ([{"type": "firewall", "backend": "firewalld"}], set(), set(), set()),
    "firewalld, and policies by iptables": (
        [{"type": "firewall", "backend": "firewalld", "ingressPolicy": "same-bridge"}],
        {"nf_conntrack", "xt_comment", "xt_conntrack"},
        set(),
        {"iptables", "ip6tables"},
    ),
    "a firewall behind a bridge": (
        [{"type": "bridge", "ipam": V4}, {"type": "firewall", "ingressPolicy": "same-bridge"}],
        {"bridge", "veth", "nf_conntrack", "xt_comment", "xt_conntrack"},
        set(),
        {"iptables", "ip6tables"},
    ),
    "isolation within a bridge": (
        [{"type": "bridge", "ipam": V4}, {"type": "firewall", "ingressPolicy": "isolated"}],
        {"bridge", "veth", "br_netfilter", "nf_conntrack", "xt_comment", "xt_conntrack"},
        {BRIDGED},
        {"iptables", "ip6tables"},
    ),
    "isolation without a bridge": (
        [{"type": "ptp", "ipam": V4}, {"type": "firewall", "ingressPolicy": "isolated"}],
        {"veth", "nf_conntrack", "xt_comment", "xt_conntrack"},
        {FORWARD},
        {"iptables", "ip6tables"},
    ),
    "bandwidth without a limit": ([{"type": "bandwidth"}], set(), set(), set()),
    "bandwidth towards the container": ([{"type": "bandwidth", "ingressRate": 1000}], {"sch_tbf"}, set(), set()),
    "bandwidth both ways": (
        [{"type": "bandwidth", "capabilities": {"bandwidth": True}}],
        {"sch_tbf", "act_mirred", "cls_u32", "ifb", "sch_ingress"},
        set(),
        set(),
    ),
    "a tap": ([{"type": "tap"}], {"tun"}, set(), {"ip"}),
    "a tap on a bridge": ([{"type": "tap", "bridge": "br0"}], {"tun", "bridge"}, set(), {"ip"}),
    "macvlan": ([{"type": "macvlan", "ipam": BOTH}], {"macvlan"}, set(), set()),
    "ipvlan": ([{"type": "ipvlan"}], {"ipvlan"}, set(), set()),
    "vlan": ([{"type": "vlan", "vlanId": 5}], {"8021q"}, set(), set()),
    "vrf": ([{"type": "vrf"}], {"vrf"}, set(), set()),
    "dummy": ([{"type": "dummy"}], {"dummy"}, set(), set()),
    "settings in the container's namespace": ([{"type": "tuning", "sysctl": {"net.core.somaxconn": "5"}}], set(), set(), set()),
    "plugins that need nothing": ([{"type": "loopback"}, {"type": "host-device"}, {"type": "sbr"}], set(), set(), set()),
    "other plugins": ([{"type": "calico", "ipam": {"type": "calico-ipam"}}], set(), set(), set()),
}  # fmt: skip


@pytest.mark.parametrize(("plugins", "modules", "settings", "programs"), CASES.values(), ids=CASES)
def test_each_plugin_has_exactly_its_requirements(
    plugins: list[JsonObject], modules: set[str], settings: set[str], programs: set[str]
) -> None:
    needs = needs_of(plugins)
    assert (set(needs.modules), set(needs.settings), set(needs.programs)) == (modules, settings, programs)
    assert needs.values == dict.fromkeys(settings, "1")


def test_the_requirements_of_every_reference_plugin_are_tested() -> None:
    plugins = [plugin for case, *dummy in CASES.values() for plugin in case]
    types = {keys["type"] for plugin in plugins for keys in (plugin, plugin.get("ipam", plugin))}
    assert set(catalogue.types_where(lambda plugin: plugin.is_reference)) <= types


def test_every_requirement_names_its_plugin_network_and_reason() -> None:
    bridge = {"type": "bridge", "isGateway": True, "ipMasq": True, "macspoofchk": True, "ipam": V4}
    needs = needs_of(
        [bridge, {"type": "portmap"}], [{"type": "ptp", "ipMasq": True, "ipMasqBackend": "nftables", "ipam": V4}]
    )
    assert needs.modules["veth"] == ["network a, plugins[0] bridge", "network b, plugins[0] ptp"]
    assert needs.modules["br_netfilter"] == [
        "network a, plugins[0] bridge: isGateway, and iptables must see traffic between containers",
        "network a, plugins[1] portmap: containers on the same bridge reach each other through host ports",
    ]
    assert needs.modules["nf_tables"] == [
        "network a, plugins[0] bridge: macspoofchk",
        "network b, plugins[0] ptp: ipMasq with nftables",
    ]
    assert needs.settings[FORWARD] == [
        "network a, plugins[0] bridge: isGateway",
        "network a, plugins[0] bridge: ipMasq",
        "network a, plugins[1] portmap: host ports are forwarded to containers",
        "network b, plugins[0] ptp: the node routes between containers and networks",
        "network b, plugins[0] ptp: ipMasq with nftables",
    ]
    assert needs.programs["iptables"] == ["network a, plugins[0] bridge: ipMasq", "network a, plugins[1] portmap"]


def test_a_reason_is_listed_once() -> None:
    network = [{"type": "firewall"}]
    assert needs_of(network, network).programs["iptables"] == [
        "network a, plugins[0] firewall",
        "network b, plugins[0] firewall",
    ]
    needs = needs_of(network)
    document = {"cniVersion": "1.0.0", "name": "a", "plugins": network}
    add_network(needs, config.parse(json.dumps(document).encode(), "x"))
    assert needs.programs["iptables"] == ["network a, plugins[0] firewall"]


@pytest.mark.parametrize(
    "ipam", [{"type": "x", "subnet": 5}, {"type": "x", "ranges": [5, [None]]}, {"type": "x", "addresses": {}}]
)
def test_addresses_of_an_unknown_form_are_ignored(ipam: JsonObject) -> None:
    assert set(needs_of([{"type": "ptp", "ipam": ipam}]).settings) == {FORWARD}
