# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of a node on which IPv6 is switched off, or whose default route comes from router advertisements."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
    ptp,
    static,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    PLAIN,
    example_node,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import Corpus, expect, on

RANGE = "/plugins/0/ipam/ranges/0/0"
SECOND = "/plugins/0/ipam/ranges/1/0"
BRIDGES = example_node(
    ["eth0", "cni0 kind bridge", "cni0.5 kind veth"],
    ["192.168.1.9/24 dev eth0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0"],
)
OFF = "family-switched-off"
IGNORED = "router-ignored"
BY_DEFAULT = {"net/ipv6/conf/default/disable_ipv6": "1"}
ON_THE_BRIDGE = {"net/ipv6/conf/cni0/disable_ipv6": "0"}

BROKEN: t.Final[Corpus] = {
    OFF: {
        "a new bridge": on(
            PLAIN,
            bridge("fd00:1::/64"),
            settings=BY_DEFAULT,
            expected=[expect(OFF, RANGE, "is switched off", "net.ipv6.conf.default.disable_ipv6 is 1", "to 0")],
        ),
        "a bridge with both families": on(
            PLAIN,
            bridge("", ipam=host_local("10.1.0.0/16", "fd00:1::/64")),
            settings=BY_DEFAULT,
            expected=[expect(OFF, SECOND, "remove fd00:1::/64")],
        ),
        "an existing bridge": on(
            BRIDGES,
            bridge("fd00:1::/64"),
            settings={"net/ipv6/conf/cni0/disable_ipv6": "1"},
            expected=[expect(OFF, RANGE, "net.ipv6.conf.cni0.disable_ipv6 is 1")],
        ),
        "a VLAN of a bridge": on(
            BRIDGES,
            bridge("fd00:1::/64", vlan=5),
            settings={"net/ipv6/conf/cni0.5/disable_ipv6": "1"},
            expected=[expect(OFF, RANGE, "net.ipv6.conf.cni0/5.disable_ipv6 is 1")],
        ),
        "ptp": on(PLAIN, ptp("fd00:1::/64"), settings=BY_DEFAULT, expected=[expect(OFF, RANGE, "ADD fails")]),
        "an address for one container": on(
            PLAIN,
            bridge("", ipam=static("fd00:1::7/64")),
            settings=BY_DEFAULT,
            expected=[expect(OFF, "/plugins/0/ipam/addresses/0", "remove fd00:1::/64")],
        ),
    },
    IGNORED: {
        "a bridge": on(
            PLAIN,
            bridge("fd00:1::/64"),
            advertised=["eth0"],
            expected=[expect(IGNORED, RANGE, "the default route of eth0", "set net.ipv6.conf.eth0.accept_ra to 2")],
        ),
        "a bridge with both families": on(
            PLAIN,
            bridge("", ipam=host_local("10.1.0.0/16", "fd00:1::/64")),
            advertised=["eth0"],
            expected=[expect(IGNORED, SECOND, "ADD switches on IPv6 forwarding")],
        ),
        "ptp": on(PLAIN, ptp("fd00:1::/64"), advertised=["eth0"], expected=[expect(IGNORED, RANGE)]),
        "a link of a VLAN": on(
            PLAIN,
            bridge("fd00:1::/64"),
            advertised=["eth0.5"],
            expected=[expect(IGNORED, RANGE, "of eth0.5", "net.ipv6.conf.eth0/5.accept_ra")],
        ),
        "two links": on(
            PLAIN,
            bridge("fd00:1::/64"),
            advertised=["eth0", "eth1"],
            expected=[expect(IGNORED, RANGE, "of eth0"), expect(IGNORED, RANGE, "of eth1")],
        ),
    },
}

FINE: t.Final[Corpus] = {
    OFF: {
        "IPv4 alone": on(PLAIN, bridge("10.1.0.0/16"), settings=BY_DEFAULT),
        "the bridge is not a gateway": on(PLAIN, bridge("fd00:1::/64", isGateway=False), settings=BY_DEFAULT),
        "the container alone": on(
            PLAIN, {"type": "macvlan", "master": "eth0", "ipam": host_local("fd00:1::/64")}, settings=BY_DEFAULT
        ),
        "the bridge has it on": on(BRIDGES, bridge("fd00:1::/64"), settings={**BY_DEFAULT, **ON_THE_BRIDGE}),
        "it is on": on(PLAIN, bridge("fd00:1::/64"), settings={"net/ipv6/conf/default/disable_ipv6": "0"}),
        "the kernel does not tell": on(PLAIN, bridge("fd00:1::/64")),
    },
    IGNORED: {
        "IPv4 alone": on(PLAIN, bridge("10.1.0.0/16"), advertised=["eth0"]),
        "the bridge is not a gateway": on(PLAIN, bridge("fd00:1::/64", isGateway=False), advertised=["eth0"]),
        "no link learns a router": on(PLAIN, bridge("fd00:1::/64")),
    },
}
