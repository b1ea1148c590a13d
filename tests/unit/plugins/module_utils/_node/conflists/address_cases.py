# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of addresses that the node has itself, or that another file's network has too."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
    network,
    ptp,
    static,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    CLOUD,
    CORPORATE,
    DUAL_STACK,
    HYPERVISOR,
    PLAIN,
    example_node,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import Corpus, expect, on

RANGE = "/plugins/0/ipam/ranges/0/0"
SECOND = "/plugins/0/ipam/ranges/1/0"
FLOATING = example_node(["eth0"], ["192.168.1.9/24 dev eth0", "192.168.1.200/32 dev eth0"])
ANYCAST = example_node(["eth0"], ["192.168.1.9/24 dev eth0", "10.1.0.53/32 dev lo"])
OWN_BRIDGE = example_node(
    ["eth0", "cni0 kind bridge"], ["192.168.1.9/24 dev eth0", "10.1.0.1/16 dev cni0", "10.1.0.2/16 dev cni0"]
)
# As its package brings it; CRI-O's has had the same subnet.
PODMAN = network("podman", bridge("10.88.0.0/16", "cni-podman0", ipMasq=True), {"type": "portmap"})
CALICO_IPAM = network("k8s-pod-network", {"type": "calico", "ipam": {"type": "calico-ipam"}})


def on_lan(ipam: JsonObject, plugin: str = "macvlan", master: str = "eth0", **keys: t.Any) -> JsonObject:
    return {"type": plugin, "master": master, "ipam": ipam, **keys}


BROKEN: t.Final[Corpus] = {
    "address-taken": {
        "the whole LAN is given out": on(
            PLAIN,
            on_lan(host_local("192.168.1.0/24")),
            expected=[expect("address-taken", RANGE, "192.168.1.9 is", "own address on eth0", "exclude it")],
        ),
        "of both families": on(
            DUAL_STACK,
            on_lan(host_local("192.168.1.0/24", "2001:db8:1::/64"), "ipvlan"),
            expected=[
                expect("address-taken", RANGE, "192.168.1.9 is"),
                expect("address-taken", SECOND, "2001:db8:1::9 is"),
            ],
        ),
        "given to one container": on(
            PLAIN,
            on_lan(static("192.168.1.8/24", "192.168.1.9/24")),
            expected=[expect("address-taken", "/plugins/0/ipam/addresses/1", "192.168.1.9 is", "eth0")],
        ),
        "in the node's VLAN": on(
            CORPORATE,
            on_lan(host_local("192.168.100.0/24"), "vlan", vlanId=100),
            expected=[expect("address-taken", RANGE, "192.168.100.5 is", "eth0.100")],
        ),
        "on a bridge into the LAN": on(
            HYPERVISOR,
            bridge("192.168.1.0/24", "br0", isGateway=False),
            expected=[expect("address-taken", RANGE, "192.168.1.9 is", "br0")],
        ),
        "the address that floats": on(
            FLOATING,
            on_lan(host_local("192.168.1.0/24", rangeStart="192.168.1.192", rangeEnd="192.168.1.223")),
            expected=[expect("address-taken", RANGE, "192.168.1.200 is", "eth0")],
        ),
        "a service's address on the loopback": on(
            ANYCAST, bridge("10.1.0.0/16"), expected=[expect("address-taken", RANGE, "10.1.0.53 is", "lo")]
        ),
        "of two in the cloud's subnets": on(
            CLOUD,
            on_lan(host_local("172.31.0.0/16"), "ipvlan", "ens5"),
            expected=[
                expect("address-taken", RANGE, "172.31.16.5 is", "ens5"),
                expect("address-taken", RANGE, "172.31.48.7 is", "ens6"),
            ],
        ),
    },
    "overlaps-network": {
        "podman's": on(
            PLAIN,
            bridge("10.88.0.0/16"),
            expected=[expect("overlaps-network", RANGE, "10.88.0.0/16 overlaps", "'podman'", "87-podman.conflist")],
            files={"87-podman.conflist": PODMAN},
        ),
        "a part of CRI-O's": on(
            PLAIN,
            ptp("10.85.7.0/24"),
            expected=[expect("overlaps-network", RANGE, "10.85.7.0/24 overlaps with 10.85.0.0/16", "'crio'")],
            files={"100-crio-bridge.conflist": network("crio", bridge("10.85.0.0/16"))},
        ),
        "one bridge, on which each gives out addresses by itself": on(
            PLAIN,
            bridge("10.1.0.0/16", isGateway=False),
            expected=[expect("overlaps-network", RANGE, "'lab'", "its own addresses")],
            files={"20-lab.conflist": network("lab", bridge("10.1.0.0/16", isGateway=False))},
        ),
        "one master": on(
            PLAIN,
            on_lan(host_local("192.168.1.0/24", rangeStart="192.168.1.64", rangeEnd="192.168.1.127")),
            expected=[expect("overlaps-network", RANGE, "'printer'", "20-printer.conflist")],
            files={"20-printer.conflist": network("printer", on_lan(static("192.168.1.77/24"), "ipvlan"))},
        ),
        "one VLAN": on(
            PLAIN,
            on_lan(host_local("10.30.0.0/24"), "vlan", vlanId=30),
            expected=[expect("overlaps-network", RANGE, "'old'")],
            files={"30-old.conflist": network("old", on_lan(host_local("10.30.0.0/16"), "vlan", vlanId=30))},
        ),
        "of the second family": on(
            PLAIN,
            bridge("", ipam=host_local("10.1.0.0/16", "fd00:1::/64")),
            expected=[expect("overlaps-network", SECOND, "fd00:1::/64 overlaps with fd00::/16")],
            files={
                "20-lab.conflist": network("lab", bridge("", "br-lab", ipam=host_local("10.2.0.0/16", "fd00::/16")))
            },
        ),
        "what Multus runs in the other file": on(
            PLAIN,
            bridge("10.1.0.0/16"),
            expected=[expect("overlaps-network", RANGE, "'multus'", "00-multus.conflist")],
            files={"00-multus.conflist": network("multus", {"type": "multus", "delegates": [ptp("10.0.0.0/8")]})},
        ),
        "two others": on(
            PLAIN,
            bridge("10.88.0.0/15"),
            expected=[expect("overlaps-network", RANGE, "'podman'"), expect("overlaps-network", RANGE, "'lab'")],
            files={"87-podman.conflist": PODMAN, "90-lab.conflist": network("lab", ptp("10.89.0.0/24"))},
        ),
    },
}

FINE: t.Final[Corpus] = {
    "address-taken": {
        "a range beside the node's address": on(
            PLAIN, on_lan(host_local("192.168.1.0/24", rangeStart="192.168.1.128", rangeEnd="192.168.1.191"))
        ),
        "the gateway is the node": on(PLAIN, on_lan(host_local("192.168.1.0/24", gateway="192.168.1.9"))),
        "the network's own bridge has it": on(OWN_BRIDGE, bridge("10.1.0.0/16")),
        "the other family": on(PLAIN, on_lan(host_local("2001:db8:1::/64"))),
        "a server on the LAN gives it out": on(PLAIN, on_lan({"type": "dhcp"})),
        "link-local addresses of containers": on(DUAL_STACK, on_lan(host_local("fd00:1::/64"), "ipvlan")),
    },
    "overlaps-network": {
        "podman's beside CRI-O's": on(
            PLAIN, bridge("10.85.0.0/16", ipMasq=True, hairpinMode=True), files={"87-podman.conflist": PODMAN}
        ),
        "one subnet on one bridge, parted": on(
            PLAIN,
            bridge("", ipam=host_local("10.1.0.0/16", rangeEnd="10.1.127.255")),
            files={
                "20-lab.conflist": network(
                    "lab", bridge("", ipam=host_local("10.1.0.0/16", rangeStart="10.1.128.0", gateway="10.1.0.1"))
                )
            },
        ),
        "bridges that the node is not on": on(
            PLAIN,
            bridge("10.1.0.0/16", "br-a", isGateway=False),
            files={"20-lab.conflist": network("lab", bridge("10.1.0.0/16", "br-b", isGateway=False))},
        ),
        "addresses that a controller gives out": on(
            PLAIN, ptp("10.244.0.0/16"), files={"90-calico.conflist": CALICO_IPAM}
        ),
        "the network's own file": on(PLAIN, bridge("10.1.0.0/16"), files={"10-net.conflist": PODMAN}),
        "what it was before, under another subnet": on(
            PLAIN, bridge("10.1.0.0/16"), files={"10-net.conflist": network("net", bridge("10.0.0.0/8"))}
        ),
    },
}
