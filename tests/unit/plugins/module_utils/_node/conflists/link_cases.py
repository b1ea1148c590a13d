# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of links and devices."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    network,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    ALL_BY_VPN,
    CLOUD,
    CORPORATE,
    NO_WAY_OUT,
    PLAIN,
    VPN,
    example_node,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import present
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    Corpus,
    NodeCase,
    expect,
    on,
)

NO_MAIN_WAY = example_node(["eth0", "wg0 mtu 1420"], ["192.168.1.9/24 dev eth0"], ["0.0.0.0/0 dev wg0 table 51820"])
DEVICE = {"type": "host-device", "device": "ens6f0v3"}

BROKEN: t.Final[Corpus] = {
    "missing-link": {
        "named as on another distribution": on(
            CLOUD,
            {"type": "macvlan", "master": "eth0"},
            expected=[expect("missing-link", "/plugins/0/master", "no link 'eth0'", "its links are ens5, ens6")],
        ),
        "a VLAN that nobody has made": on(
            PLAIN,
            {"type": "ipvlan", "master": "eth0.100"},
            expected=[expect("missing-link", "/plugins/0/master", "'eth0.100'", "its links are eth0")],
        ),
        "a bond that nobody has made": on(
            PLAIN,
            {"type": "vlan", "master": "bond0", "vlanId": 100},
            expected=[expect("missing-link", "/plugins/0/master", "'bond0'")],
        ),
        "no default route to take a master from": on(
            NO_WAY_OUT,
            {"type": "macvlan"},
            expected=[
                expect(
                    "missing-link", "/plugins/0", "macvlan has no master", "no default route", "set master to a link"
                )
            ],
        ),
        "a default route in the table of a VPN only": on(
            NO_MAIN_WAY, {"type": "ipvlan"}, expected=[expect("missing-link", "/plugins/0", "ipvlan has no master")]
        ),
        "of what Multus runs": on(
            PLAIN,
            {"type": "multus", "delegates": [bridge("10.1.0.0/16"), {"type": "macvlan", "master": "eth1"}]},
            expected=[expect("missing-link", "/plugins/0/delegates/1/master", "'eth1'")],
        ),
        "two masters": on(
            PLAIN,
            {"type": "multus", "delegates": [{"type": "macvlan", "master": one} for one in ("eth1", "eth2")]},
            expected=[
                expect("missing-link", "/plugins/0/delegates/0/master", "'eth1'"),
                expect("missing-link", "/plugins/0/delegates/1/master", "'eth2'"),
            ],
        ),
        "of a single plugin's configuration": NodeCase(
            [present("net", b'{"cniVersion": "0.4.0", "name": "net", "type": "macvlan", "master": "em1"}')],
            [expect("missing-link", "/master", "'em1'", file="10-net.conf")],
        ),
    },
    "missing-device": {
        "a virtual function that is gone": on(
            PLAIN, DEVICE, expected=[expect("missing-device", "/plugins/0/device", "'ens6f0v3'", "inside a container")]
        ),
        "a card that was replaced": on(
            CLOUD,
            {"type": "host-device", "hwaddr": "3c:fd:fe:9e:10:42"},
            expected=[expect("missing-device", "/plugins/0/hwaddr", "3c:fd:fe:9e:10:42")],
        ),
        "a slot that is empty": on(
            PLAIN,
            {"type": "host-device", "kernelpath": "/sys/devices/pci0000:00/0000:00:1f.9/net/ens99"},
            expected=[expect("missing-device", "/plugins/0/kernelpath", "0000:00:1f.9/net/ens99")],
        ),
        "an address on PCI where nothing is": on(
            PLAIN,
            {"type": "host-device", "pciBusID": "ffff:ff:1f.7"},
            expected=[expect("missing-device", "/plugins/0/pciBusID", "ffff:ff:1f.7")],
        ),
        "another device than until now": on(
            PLAIN,
            {**DEVICE, "device": "ens6f0v4"},
            {"type": "tuning"},
            expected=[expect("missing-device", "/plugins/0/device", "'ens6f0v4'")],
            files={"10-net.conflist": network("net", DEVICE, {"type": "tuning"})},
        ),
        "of what Multus runs": on(
            PLAIN,
            {"type": "multus", "delegates": [{"name": "sriov", "plugins": [DEVICE]}]},
            expected=[expect("missing-device", "/plugins/0/delegates/0/plugins/0/device", "'ens6f0v3'")],
        ),
    },
    "mtu-above-master": {
        "jumbo frames on a usual link": on(
            PLAIN,
            {"type": "macvlan", "master": "eth0", "mtu": 9000},
            expected=[
                expect(
                    "mtu-above-master", "/plugins/0/mtu", "MTU of 9000", "1500 bytes of the master eth0", "at most 1500"
                )
            ],
        ),
        "one byte too many": on(
            CORPORATE,
            {"type": "vlan", "master": "eth0", "vlanId": 7, "mtu": 1501},
            expected=[expect("mtu-above-master", "/plugins/0/mtu", "1501", "1500 bytes of the master eth0")],
        ),
        "more than a cloud's jumbo frames": on(
            CLOUD,
            {"type": "ipvlan", "master": "ens5", "mtu": 9216},
            expected=[expect("mtu-above-master", "/plugins/0/mtu", "9216", "9001 bytes of the master ens5")],
        ),
        "by the alternative name": on(
            CLOUD,
            {"type": "macvlan", "master": "enp0s6", "mtu": 9216},
            expected=[expect("mtu-above-master", "/plugins/0/mtu", "9216", "9001 bytes of the master ens6")],
        ),
        "in a tunnel": on(
            VPN,
            {"type": "ipvlan", "master": "wg0", "mtu": 1500},
            expected=[
                expect(
                    "mtu-above-master",
                    "/plugins/0/mtu",
                    "1500",
                    "1420 bytes of the master wg0",
                    "0 to use the master's",
                )
            ],
        ),
        "of the link of the default route": on(
            VPN,
            {"type": "macvlan", "mtu": 1600},
            expected=[expect("mtu-above-master", "/plugins/0/mtu", "1600", "1500 bytes of the master eth0")],
        ),
        "of what flannel runs": on(
            PLAIN,
            {"type": "flannel", "delegate": {"type": "macvlan", "master": "eth0", "mtu": 8951}},
            expected=[expect("mtu-above-master", "/plugins/0/delegate/mtu", "8951", "1500 bytes of the master eth0")],
        ),
    },
}

FINE: t.Final[Corpus] = {
    "missing-link": {
        "an alternative name": on(CLOUD, {"type": "macvlan", "master": "enp0s5"}),
        "a master inside of the container": on(PLAIN, {"type": "macvlan", "master": "net1", "linkInContainer": True}),
        "the link that the plugin before has made": on(NO_WAY_OUT, bridge("10.1.0.0/16"), {"type": "ipvlan"}),
        "the bridge of tap, which is inside of the container": on(PLAIN, {"type": "tap", "bridge": "br0"}),
        "a bridge that the plugin itself makes": on(PLAIN, bridge("10.1.0.0/16", "br-pods")),
        "the key of a plugin that means something else by it": on(PLAIN, {"type": "acme", "master": "eth7"}),
    },
    "missing-device": {
        "it is inside of a container already": on(PLAIN, DEVICE, files={"10-net.conflist": network("net", DEVICE)}),
        "the address in capital letters": on(PLAIN, {"type": "host-device", "hwaddr": "02-FE-00-00-00-02"}),
        "the address with dots": on(PLAIN, {"type": "host-device", "hwaddr": "02FE.0000.0002"}),
        "an alternative name": on(CLOUD, {"type": "host-device", "device": "enp0s6"}),
        "a path of the kernel": on(PLAIN, {"type": "host-device", "kernelpath": "/sys/devices/virtual/net"}),
        "one that the runtime chooses": on(PLAIN, {"type": "host-device", "capabilities": {"deviceID": True}}),
    },
    "mtu-above-master": {
        "0 for the master's": on(PLAIN, {"type": "macvlan", "master": "eth0", "mtu": 0}),
        "just the master's": on(CLOUD, {"type": "ipvlan", "master": "ens5", "mtu": 9001}),
        "not the link of another table's default route": on(VPN, {"type": "macvlan", "mtu": 1500}),
        "nor of half a default route": on(ALL_BY_VPN, {"type": "macvlan", "mtu": 1500}),
        "a master inside of the container": on(
            PLAIN, {"type": "vlan", "master": "net1", "vlanId": 5, "mtu": 9000, "linkInContainer": True}
        ),
        "a bridge has no master": on(PLAIN, bridge("10.1.0.0/16", mtu=9000)),
    },
}
