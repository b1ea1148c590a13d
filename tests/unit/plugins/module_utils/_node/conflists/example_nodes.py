# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Example nodes, described in words that `ip` prints."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Address, Route, View

MAIN = "254"


class ExampleNode(t.NamedTuple):
    """Links, addresses and routes of a node, and the alternative names of its links."""

    view: View
    altnames: t.Mapping[str, str]

    def link(self, name: str) -> Link | None:
        """Return a link by any of its names, as the kernel does."""
        return next((link for link in self.view.links if link.name == self.altnames.get(name, name)), None)


def example_node(links: t.Sequence[str], addresses: t.Sequence[str] = (), routes: t.Sequence[str] = ()) -> ExampleNode:
    """Return an example node.

    Args:
        links: `NAME [mtu BYTES] [kind KIND] [master NAME] [altname NAME]`; the loopback is there by itself, and every
            link has its link-local address.
        addresses: `ADDRESS dev LINK`. As in the kernel, each brings the route to its network.
        routes: `NETWORK [via GATEWAY] [dev LINK] [table NUMBER]`; without a link, one with several ways.
    """
    described = {"lo": {"mtu": "65536"}, **dict(map(_words, links))}
    numbers = {name: number for number, name in enumerate(described, 1)}
    link_local = [f"fe80::{number}/64 dev {name}" for name, number in numbers.items() if name != "lo"]
    given = list(map(_words, ["127.0.0.1/8 dev lo", "::1/128 dev lo", *link_local, *addresses]))
    has = [Address(numbers[keys["dev"]], ipaddress.ip_interface(text)) for text, keys in given]
    return ExampleNode(
        View(
            tuple(_link(number, name, described[name], numbers) for name, number in numbers.items()),
            tuple(has),
            (*_connected_routes(has), *(_route(text, keys, numbers) for text, keys in map(_words, routes))),
        ),
        {keys["altname"]: name for name, keys in described.items() if "altname" in keys},
    )


def _words(text: str) -> tuple[str, dict[str, str]]:
    first, *rest = text.split()
    return first, dict(zip(rest[::2], rest[1::2]))


def _link(number: int, name: str, keys: t.Mapping[str, str], numbers: t.Mapping[str, int]) -> Link:
    master = numbers[keys["master"]] if "master" in keys else 0
    return Link(
        number, name, f"02:fe:00:00:00:{number:02x}", int(keys.get("mtu", 1500)), True, master, 0, keys.get("kind", "")
    )


def _connected_routes(addresses: t.Iterable[Address]) -> t.Iterator[Route]:
    for link, interface in addresses:
        if interface.network.num_addresses > 1 and not interface.is_loopback:
            yield Route(interface.network, None, link, int(MAIN))


def _route(text: str, keys: t.Mapping[str, str], numbers: t.Mapping[str, int]) -> Route:
    gateway = ipaddress.ip_address(keys["via"]) if "via" in keys else None
    link = numbers[keys["dev"]] if "dev" in keys else 0
    return Route(ipaddress.ip_network(text), gateway, link, int(keys.get("table", MAIN)))


PLAIN = example_node(["eth0"], ["192.168.1.9/24 dev eth0"], ["0.0.0.0/0 via 192.168.1.1 dev eth0"])
NO_WAY_OUT = example_node(["eth0"], ["192.168.1.9/24 dev eth0"])
DUAL_STACK = example_node(
    ["eth0"],
    ["192.168.1.9/24 dev eth0", "2001:db8:1::9/64 dev eth0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0", "::/0 via fe80::fffe dev eth0"],
)
CORPORATE = example_node(
    ["eth0", "eth0.100 kind vlan"],
    ["10.9.9.9/8 dev eth0", "192.168.100.5/24 dev eth0.100", "2001:db8:1::9/48 dev eth0"],
    ["0.0.0.0/0 via 10.0.0.1 dev eth0", "169.254.0.0/16 dev eth0"],
)
DOCKER = example_node(
    ["eth0", "docker0 kind bridge", "br-4f2a7c kind bridge", "veth1f0e kind veth master docker0"],
    ["192.168.1.9/24 dev eth0", "172.17.0.1/16 dev docker0", "172.18.0.1/16 dev br-4f2a7c", "fd00:d::1/64 dev docker0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0"],
)
IDLE_BRIDGES = example_node(
    ["eth0", "docker0 kind bridge", "virbr0 kind bridge", "cni0 kind bridge", "br0 kind bridge"],
    [
        "192.168.1.9/24 dev eth0",
        "172.17.0.1/16 dev docker0",
        "192.168.122.1/24 dev virbr0",
        "10.42.0.1/24 dev cni0",
        "fd00:42::1/64 dev cni0",
    ],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0"],
)
HYPERVISOR = example_node(
    ["eth0 master br0", "br0 kind bridge"], ["192.168.1.9/24 dev br0"], ["0.0.0.0/0 via 192.168.1.1 dev br0"]
)
K3S = example_node(
    ["eth0", "flannel.1 mtu 1450 kind vxlan", "cni0 mtu 1450 kind bridge", "veth77a1 mtu 1450 kind veth master cni0"],
    ["192.168.1.9/24 dev eth0", "10.42.0.0/32 dev flannel.1", "10.42.0.1/24 dev cni0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0", "10.42.1.0/24 via 10.42.1.0 dev flannel.1"],
)
CALICO = example_node(
    ["eth0", "cali12ab kind veth", "tunl0 mtu 1480 kind ipip"],
    ["192.168.1.9/24 dev eth0", "10.244.0.1/32 dev tunl0"],
    ["0.0.0.0/0 via 192.168.1.1 dev eth0", "10.244.0.5/32 dev cali12ab", "10.244.7.0/26 via 192.168.1.7 dev tunl0"],
)
# Of the table of wg-quick, which the kernel prints before the main one.
VPN = example_node(
    ["eth0", "wg0 mtu 1420 kind wireguard", "tun0 kind tun"],
    ["192.168.1.9/24 dev eth0", "10.8.0.2/24 dev wg0", "10.9.0.6/32 dev tun0"],
    [
        "0.0.0.0/0 dev wg0 table 51820",
        "0.0.0.0/0 via 192.168.1.1 dev eth0",
        "10.20.0.0/16 dev wg0",
        "172.16.0.0/12 dev tun0",
        "fd00:20::/48 dev wg0",
    ],
)
ALL_BY_VPN = example_node(
    ["eth0", "wg0 mtu 1420 kind wireguard"],
    ["192.168.1.9/24 dev eth0", "10.8.0.2/32 dev wg0"],
    [
        "0.0.0.0/0 via 192.168.1.1 dev eth0",
        "0.0.0.0/1 dev wg0",
        "128.0.0.0/1 dev wg0",
        "::/1 dev wg0",
        "8000::/1 dev wg0",
    ],
)
CLOUD = example_node(
    ["ens5 mtu 9001 altname enp0s5", "ens6 mtu 9001 altname enp0s6"],
    ["172.31.16.5/20 dev ens5", "172.31.48.7/20 dev ens6"],
    [
        "0.0.0.0/0 via 172.31.48.1 dev ens6 table 102",
        "0.0.0.0/0 via 172.31.16.1 dev ens5",
        "169.254.169.254/32 dev ens5",
        "10.1.7.0/24 via 172.31.16.20 dev ens5",
        "10.50.0.0/16 via 172.31.48.1 dev ens6 table 102",
        "10.60.0.0/16",
    ],
)
