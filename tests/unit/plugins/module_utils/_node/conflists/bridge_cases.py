# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of bridges that have another address than the gateway of the network."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
    network,
    static,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    PLAIN,
    example_node,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import Corpus, expect, on

RANGE = "/plugins/0/ipam/ranges/0/0"
SECOND = "/plugins/0/ipam/ranges/1/0"
BRIDGES = ["eth0", "cni0 kind bridge", "cni0.5 kind veth"]
PORTS = ["veth1 kind veth master cni0", "veth2 kind veth master cni0"]
OWN = "192.168.1.9/24 dev eth0"
OLD = example_node([*BRIDGES, *PORTS], [OWN, "10.1.0.1/16 dev cni0"])
OLD_WITHOUT_PORTS = example_node(BRIDGES, [OWN, "10.1.0.1/16 dev cni0"])
OLD_VLAN = example_node([*BRIDGES, *PORTS], [OWN, "10.1.0.1/16 dev cni0.5"])
OLD_IPV6 = example_node([*BRIDGES, *PORTS], [OWN, "fd00:1::1/48 dev cni0"])
BOTH = example_node([*BRIDGES, *PORTS], [OWN, "10.1.0.1/16 dev cni0", "10.9.0.1/16 dev cni0"])
DIFFERS = "bridge-address-differs"
REPLACED = "bridge-address-replaced"

BROKEN: t.Final[Corpus] = {
    DIFFERS: {
        "another subnet": on(
            OLD,
            bridge("10.9.0.0/16"),
            expected=[
                expect(DIFFERS, RANGE, "cni0 has the address 10.1.0.1/16", "10.9.0.1/16", '"forceAddress": true')
            ],
        ),
        "a wider subnet": on(OLD, bridge("10.0.0.0/8"), expected=[expect(DIFFERS, RANGE, "the gateway 10.0.0.1/8")]),
        "the same gateway, and another length": on(
            OLD, bridge("10.1.0.0/24"), expected=[expect(DIFFERS, RANGE, "the gateway 10.1.0.1/24")]
        ),
        "another gateway of the same subnet": on(
            OLD_WITHOUT_PORTS,
            bridge("", ipam=host_local("10.1.0.0/16", gateway="10.1.0.254")),
            expected=[expect(DIFFERS, RANGE, "the gateway 10.1.0.254/16")],
        ),
        "on the network's VLAN": on(
            OLD_VLAN, bridge("10.9.0.0/16", vlan=5), expected=[expect(DIFFERS, RANGE, "cni0.5 has the address")]
        ),
        "a part of an IPv6 subnet": on(
            OLD_IPV6,
            bridge("", ipam=host_local("10.9.0.0/16", "fd00:1:0:9::/64")),
            expected=[expect(DIFFERS, SECOND, "fd00:1::1/48", "the gateway fd00:1:0:9::1/64")],
        ),
        "given to one container": on(
            OLD,
            bridge("", ipam=static("10.9.0.7/16")),
            expected=[expect(DIFFERS, "/plugins/0/ipam/addresses/0", "the gateway 10.9.0.1/16")],
        ),
        "beside its own, which comes later": on(
            BOTH, bridge("10.9.0.0/16"), expected=[expect(DIFFERS, RANGE, "cni0 has the address 10.1.0.1/16,")]
        ),
    },
    REPLACED: {
        "another subnet": on(
            OLD,
            bridge("10.9.0.0/16", forceAddress=True),
            expected=[expect(REPLACED, RANGE, "10.9.0.1/16 replaces 10.1.0.1/16 on cni0", "2 ports", "cut off")],
        ),
        "a wider subnet": on(
            OLD, bridge("10.0.0.0/8", forceAddress=True), expected=[expect(REPLACED, RANGE, "10.0.0.1/8 replaces")]
        ),
        "as the default gateway": on(
            OLD,
            bridge("10.9.0.0/16", forceAddress=True, isDefaultGateway=True, isGateway=False),
            expected=[expect(REPLACED, RANGE, "10.9.0.1/16")],
        ),
        "of IPv6": on(
            OLD_IPV6,
            bridge("", ipam=host_local("fd00:1:0:9::/64"), forceAddress=True),
            expected=[expect(REPLACED, RANGE, "fd00:1:0:9::1/64", "fd00:1::1/48")],
        ),
        "on the network's VLAN": on(
            OLD_VLAN, bridge("10.9.0.0/16", vlan=5, forceAddress=True), expected=[expect(REPLACED, RANGE, "on cni0.5")]
        ),
    },
}

FINE: t.Final[Corpus] = {
    DIFFERS: {
        "it has the gateway": on(OLD, bridge("10.1.0.0/16")),
        "its own comes first": on(BOTH, bridge("10.1.0.0/16")),
        "there is no bridge yet": on(PLAIN, bridge("10.9.0.0/16")),
        "its link-local address comes from the kernel": on(
            OLD, bridge("", ipam=host_local("fd00:9::/64", gateway="fe80::1"))
        ),
        "it has no gateway": on(OLD, bridge("10.9.0.0/16", isGateway=False)),
        "another subnet of IPv6 goes beside": on(OLD_IPV6, bridge("", ipam=host_local("fd00:9::/64"))),
        "the VLAN has an address of its own": on(OLD, bridge("10.9.0.0/16", vlan=5)),
        "a server gives addresses out": on(OLD, bridge("", ipam={"type": "dhcp"})),
        "one range of the set fits": on(
            OLD,
            bridge(
                "",
                ipam={"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/16"}, {"subnet": "10.1.0.0/16"}]]},
            ),
        ),
    },
    REPLACED: {
        "nothing is a port": on(
            OLD_WITHOUT_PORTS,
            bridge("10.9.0.0/16", forceAddress=True),
            files={"10-net.conflist": network("net", bridge("10.1.0.0/16"))},
        ),
        "it has the gateway": on(OLD, bridge("10.1.0.0/16", forceAddress=True)),
    },
}
