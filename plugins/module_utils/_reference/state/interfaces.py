# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Descriptions that plugins share: the container's interfaces, addresses and routes, and the node's links."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import ContainerIp, Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import HOST_END
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ExpectedAddress,
    ExpectedLink,
    ExpectedRoute,
    Resource,
    Sysctl,
)

FORWARDING = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}
# RT_SCOPE_LINK
LINK_SCOPE = 253


def describe_container(
    known: Facts,
    *,
    mtu: int = 0,
    mode: str = "",
    is_up: bool = True,
    own_routes: t.Iterable[ExpectedRoute] | None = None,
) -> t.Iterator[Resource]:
    """Yield what the container has.

    Args:
        mtu: The MTU of interfaces for which the result has none.
        mode: The mode of the container's interface.
        own_routes: What the plugin adds instead of the routes that the kernel makes for addresses.
    """
    for name, mac, own_mtu in known.interfaces:
        link = ExpectedLink(name, inside=True, mac=mac, mtu=own_mtu or mtu, is_up=is_up)
        yield link._replace(mode=mode) if name == known.attachment.ifname else link
    yield from (ExpectedAddress(ip.link, ip.interface, inside=True) for ip in known.ips)
    # In this order, as the kernel refuses a gateway that no route leads to.
    if own_routes is not None:
        yield from own_routes
    elif is_up:
        yield from _kernel_routes(known)
    yield from known.routes


def _kernel_routes(known: Facts) -> t.Iterator[ExpectedRoute]:
    """Yield the routes that the kernel makes for the addresses of links that are up, each once."""
    made = {(ip.link, ip.interface.network): ip for ip in reversed(known.ips) if ip.link and has_network(ip)}
    yield from (network_route(ip)._replace(made_for=ip.interface) for ip in reversed(made.values()))


def network_route(ip: ContainerIp) -> ExpectedRoute:
    """Return the route that the kernel makes for an address."""
    source, scope = (ip.interface.ip, LINK_SCOPE) if ip.interface.version == 4 else (None, None)
    return ExpectedRoute(ip.link, ip.interface.network, None, inside=True, scope=scope, source=source)


def has_network(ip: ContainerIp) -> bool:
    return ip.interface.network.prefixlen < ip.interface.max_prefixlen


def find_host_end(known: Facts, *others: str) -> str:
    """Return the node's end of a veth pair; an empty string if the result does not name it.

    Args:
        others: Links of the node that are not the end.
    """
    names = [each.name for each in known.on_node if each.name not in (*others, known.ifb)]
    return next(filter(HOST_END.fullmatch, names), (names or [""])[0])


def describe_host_end(known: Facts, mtu: int, *others: str) -> t.Iterator[ExpectedLink]:
    """Yield the node's end of a veth pair, and further links of the node that the result names.

    Args:
        others: Links of the node that the plugin describes itself.
    """
    for name in (each.name for each in known.on_node):
        if name == known.host_end:
            yield ExpectedLink(name, inside=False, mtu=mtu, is_up=True, kind=VETH, peer=known.attachment.ifname)
        elif name not in (*others, known.ifb):
            # A repair does not set a link up that only a record names.
            yield ExpectedLink(name, inside=False)


def describe_forwarding(known: Facts) -> t.Iterator[Sysctl]:
    """Yield the settings with which the node forwards packets of the container's families."""
    families = dict.fromkeys(ip.interface.version for ip in known.ips)
    yield from (Sysctl(FORWARDING[family], "1", inside=False) for family in families)
