# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of subnets that the node sends elsewhere."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
    network,
    ptp,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    ALL_BY_VPN,
    CALICO,
    CLOUD,
    CORPORATE,
    DOCKER,
    DUAL_STACK,
    IDLE_BRIDGES,
    K3S,
    PLAIN,
    VPN,
    example_node,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import Corpus, expect, on

RANGE = "/plugins/0/ipam/ranges/0/0"
SECOND = "/plugins/0/ipam/ranges/1/0"
OWN_BRIDGE = example_node(
    ["eth0", "cni0 kind bridge", "cni0.5 kind vlan", "veth1 master cni0"],
    ["192.168.1.9/24 dev eth0", "10.1.0.1/16 dev cni0", "10.5.0.1/16 dev cni0.5", "fd00:1::1/64 dev cni0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0"],
)
OF_PTP = example_node(
    ["eth0", "veth1 kind veth", "veth2 kind veth"],
    ["192.168.1.9/24 dev eth0", "10.1.0.1/32 dev veth1", "10.1.0.1/32 dev veth2"],
    ["10.1.0.5/32 dev veth1", "10.1.0.6/32 dev veth2"],
)
BEHIND_ROUTER = example_node(["eth0"], ["192.168.1.9/24 dev eth0"], ["10.0.0.0/8 via 192.168.1.7 dev eth0"])


def idle(path: str, *words: str) -> list[t.Any]:
    return [expect("idle-bridge", path, "which has no ports", *words)]


BROKEN: t.Final[Corpus] = {
    "overlaps-route": {
        "Docker's bridge": on(
            DOCKER,
            bridge("172.17.0.0/16"),
            expected=[expect("overlaps-route", RANGE, "172.17.0.0/16", "to docker0", "choose another subnet")],
        ),
        "Docker's IPv6": on(
            DOCKER,
            bridge("", ipam=host_local("10.1.0.0/16", "fd00:d::/64")),
            expected=[expect("overlaps-route", SECOND, "fd00:d::/64", "to docker0")],
        ),
        "flannel's pods, here and on other nodes": on(
            K3S,
            bridge("10.42.0.0/16", "br-pods"),
            expected=[
                expect("overlaps-route", RANGE, "10.42.0.0/24", "to cni0"),
                expect("overlaps-route", RANGE, "10.42.0.0/32", "to flannel.1"),
            ],
        ),
        "flannel's pods of another node": on(
            K3S, ptp("10.42.1.0/24"), expected=[expect("overlaps-route", RANGE, "10.42.1.0/24", "to flannel.1")]
        ),
        "Calico's pods, here and on other nodes": on(
            CALICO,
            bridge("10.244.0.0/16"),
            expected=[
                expect("overlaps-route", RANGE, "10.244.0.5/32", "to cali12ab"),
                expect("overlaps-route", RANGE, "10.244.0.1/32", "to tunl0"),
            ],
        ),
        "a VPN": on(
            VPN,
            bridge("10.20.0.0/16"),
            expected=[expect("overlaps-route", RANGE, "10.20.0.0/16", "to wg0", "remove the route on wg0")],
        ),
        "the VPN's own subnet": on(
            VPN,
            ptp("10.8.0.0/24"),
            expected=[expect("overlaps-route", RANGE, "to wg0"), expect("address-taken", RANGE, "10.8.0.2 is", "wg0")],
        ),
        "a route of the cloud": on(
            CLOUD,
            bridge("10.1.0.0/16"),
            expected=[expect("overlaps-route", RANGE, "10.1.7.0/24, a part of the subnet 10.1.0.0/16")],
        ),
        "a route with several ways": on(
            CLOUD,
            bridge("10.60.0.0/16"),
            expected=[expect("overlaps-route", RANGE, "10.60.0.0/16", "to several links")],
        ),
        "the LAN": on(
            PLAIN,
            bridge("192.168.0.0/16"),
            expected=[
                expect("overlaps-route", RANGE, "192.168.1.0/24", "to eth0"),
                expect("address-taken", RANGE, "192.168.1.9 is"),
            ],
        ),
        "of what Multus runs": on(
            VPN,
            {"type": "multus", "delegates": [{"name": "lab", "plugins": [bridge("10.20.0.0/16"), {"type": "tuning"}]}]},
            expected=[
                expect("overlaps-route", "/plugins/0/delegates/0/plugins/0/ipam/ranges/0/0", "10.20.0.0/16", "wg0")
            ],
        ),
    },
    "inside-route": {
        "of a company's network": on(
            CORPORATE,
            bridge("10.1.0.0/16"),
            expected=[expect("inside-route", RANGE, "10.1.0.0/16 is a part of 10.0.0.0/8", "on eth0", "cannot reach")],
        ),
        "of its IPv6": on(
            CORPORATE, ptp("2001:db8:1:42::/64"), expected=[expect("inside-route", RANGE, "a part of 2001:db8:1::/48")]
        ),
        "of a VLAN": on(
            CORPORATE,
            bridge("192.168.100.128/25"),
            expected=[expect("inside-route", RANGE, "a part of 192.168.100.0/24", "eth0.100")],
        ),
        "of a VPN": on(VPN, bridge("172.30.0.0/24"), expected=[expect("inside-route", RANGE, "172.16.0.0/12", "tun0")]),
        "of a VPN's IPv6": on(
            VPN,
            bridge("", ipam=host_local("10.1.0.0/16", "fd00:20:0:7::/64")),
            expected=[expect("inside-route", SECOND, "fd00:20::/48", "wg0")],
        ),
        "of Docker's": on(
            DOCKER,
            bridge("172.17.200.0/24"),
            expected=[expect("inside-route", RANGE, "a part of 172.17.0.0/16", "docker0")],
        ),
        "of addresses without a server": on(
            CORPORATE,
            bridge("169.254.77.0/24"),
            expected=[expect("inside-route", RANGE, "a part of 169.254.0.0/16", "eth0")],
        ),
        "of what is here on the LAN": on(
            PLAIN,
            ptp("192.168.1.64/26"),
            expected=[expect("inside-route", RANGE, "192.168.1.64/26", "192.168.1.0/24", "eth0")],
        ),
    },
    "idle-bridge": {
        "Docker without containers": on(
            IDLE_BRIDGES,
            bridge("172.17.0.0/16", "br-pods"),
            expected=idle(RANGE, "has the address 172.17.0.1/16", "ip link delete docker0", "choose another subnet"),
        ),
        "a part of Docker's": on(IDLE_BRIDGES, ptp("172.17.9.0/24"), expected=idle(RANGE, "docker0", "172.17.0.1/16")),
        "libvirt without machines": on(
            IDLE_BRIDGES, bridge("192.168.122.0/24", "br-pods"), expected=idle(RANGE, "virbr0", "192.168.122.1/24")
        ),
        "what k3s has left": on(
            IDLE_BRIDGES, bridge("10.42.0.0/16", "br-pods"), expected=idle(RANGE, "cni0", "10.42.0.1/24")
        ),
        "what k3s has left of IPv6": on(
            IDLE_BRIDGES,
            bridge("", "br-pods", ipam=host_local("10.1.0.0/16", "fd00:42::/64")),
            expected=idle(SECOND, "cni0", "fd00:42::"),
        ),
        "a network of docker compose": on(
            DOCKER, bridge("172.18.0.0/16"), expected=idle(RANGE, "br-4f2a7c", "172.18.0.1/16")
        ),
        "the bridge that the network leaves": on(
            DOCKER,
            bridge("172.17.0.0/16"),
            files={"10-net.conflist": network("net", bridge("172.17.0.0/16", "docker0"))},
            expected=[expect("idle-bridge", RANGE, "stays on the bridge docker0", "ip link delete docker0")],
        ),
    },
}

FINE: t.Final[Corpus] = {
    "overlaps-route": {
        "the network's own bridge": on(OWN_BRIDGE, bridge("", ipam=host_local("10.1.0.0/16", "fd00:1::/64"))),
        "its own VLAN on the bridge": on(OWN_BRIDGE, bridge("10.5.0.0/16", vlan=5)),
        "the containers of ptp": on(OF_PTP, ptp("10.1.0.0/16")),
        "a link that the network has had until now": on(
            OF_PTP, bridge("10.1.0.0/16"), files={"10-net.conflist": network("net", ptp("10.1.0.0/16"))}
        ),
        "a default route": on(DUAL_STACK, bridge("", ipam=host_local("10.1.0.0/16", "fd00:1::/64"))),
        "another table": on(CLOUD, bridge("10.50.0.0/16")),
        "a host of the cloud": on(CLOUD, bridge("169.254.0.0/17")),
        "the same link-local addresses on every link": on(DUAL_STACK, bridge("fd80::/64")),
        "no gateway, so no route": on(DOCKER, bridge("172.17.0.0/16", isGateway=False)),
        "addresses that are not known": on(K3S, {"type": "flannel", "delegate": {"isDefaultGateway": True}}),
    },
    "inside-route": {
        "behind a router": on(BEHIND_ROUTER, bridge("10.1.0.0/16")),
        "behind several routers": on(CLOUD, bridge("10.60.7.0/24")),
        "all of the world by a VPN, in halves": on(ALL_BY_VPN, bridge("", ipam=host_local("10.1.0.0/16", "fd00::/64"))),
        "a part of the LAN, on the LAN": on(
            CORPORATE, {"type": "macvlan", "master": "eth0", "ipam": host_local("10.1.0.0/16")}
        ),
    },
    "idle-bridge": {
        "the network's own": on(IDLE_BRIDGES, bridge("10.42.0.0/24")),
        "one with another subnet": on(IDLE_BRIDGES, bridge("172.19.0.0/16", "br-pods")),
        "one without a subnet": on(IDLE_BRIDGES, bridge("10.1.0.0/16", "br0")),
        "a network that the node is not on": on(IDLE_BRIDGES, bridge("172.17.0.0/16", "br-pods", isGateway=False)),
    },
}
