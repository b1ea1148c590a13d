# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The state of an attachment: what the plugin that made the interface has made, and what others have changed."""

from __future__ import annotations

import functools
import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import LOOPBACK
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import host_local
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH
from ansible_collections.cni.node.plugins.module_utils._reference.state import routes
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import ContainerIp, Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    Address,
    Bridge,
    Ifb,
    Lease,
    Link,
    Port,
    Rate,
    Resource,
    Route,
    State,
    Sysctl,
    Vrf,
)

FORWARDING = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}
# RT_SCOPE_HOST
_HOST = 254


def describe(known: Facts, lease_dir: str, made: t.Sequence[Resource] = ()) -> State:
    """Return the links, addresses, routes, rules, settings and rates of an attachment in the kernel, and its leases.

    Args:
        lease_dir: Default of ``dataDir`` of host-local.
        made: What plugins after the first one have changed.

    Returns:
        The resources in the order in which they depend on each other.
    """
    return (*_inside(known, made), *_on_node(known), *_select(made, Ifb, Rate), *_leases(known, lease_dir))


def _select(made: t.Iterable[Resource], *kinds: type[Resource]) -> t.Iterator[Resource]:
    return (resource for resource in made if isinstance(resource, kinds))


def _inside(known: Facts, made: t.Sequence[Resource]) -> t.Iterator[Resource]:
    for link in _container_links(known):
        yield functools.reduce(
            _merge, (tuned for tuned in made if isinstance(tuned, Link) and tuned.name == link.name), link
        )
    if any(plugin.row.is_loopback for plugin in known.chained):
        yield Link(LOOPBACK, inside=True, is_up=True)
    yield from _select(made, Vrf, Port)
    yield from (Address(ip.link, ip.interface, inside=True) for ip in known.ips)
    yield from routes.container_routes(known)
    # The last plugin that writes a setting decides.
    yield from {setting.path: setting for setting in made if isinstance(setting, Sysctl)}.values()


def _merge(link: Link, changed: Link) -> Link:
    """Return a link with the properties that a plugin has changed."""
    defaults = Link._field_defaults
    pairs = changed._asdict().items()
    return link._replace(**{name: value for name, value in pairs if value != defaults.get(name, value)})


def _container_links(known: Facts) -> t.Iterator[Link]:
    leaves_down = known.maker.row.leaves_down_key
    is_up = not (leaves_down and known.maker.keys.get(leaves_down))
    for item in known.interfaces:
        link = Link(
            str(item["name"]),
            inside=True,
            mac=str(item.get("mac") or "").lower(),
            mtu=item.get("mtu") or _configured_mtu(known),
            is_up=is_up,
        )
        yield link._replace(mode=known.mode) if link.name == known.ifname else link


def _configured_mtu(known: Facts) -> int:
    mtu = known.maker.keys.get("mtu") if known.maker.row.sets_mtu else 0
    return mtu if isinstance(mtu, int) and mtu > 0 else 0


def _on_node(known: Facts) -> t.Iterator[Resource]:
    if known.bridge:
        yield _bridge(known)
    if known.maker.row.has_host_end:
        yield from _node_links(known)
    if known.bridge:
        yield from _ports(known)
    if known.routed_link:
        yield from _gateways(known)
        yield from (Sysctl(FORWARDING[family], "1", inside=False) for family in _families(known.ips))
        yield from _local_routing(known)


def _local_routing(known: Facts) -> t.Iterator[Sysctl]:
    """Return the setting with which the node's own programs reach mapped ports at a loopback address."""
    for plugin in known.chained:
        capabilities = plugin.keys.get("runtimeConfig") if plugin.row.maps_ports else None
        ports = capabilities.get("portMappings") if isinstance(capabilities, dict) else None
        if ports and plugin.keys.get("snat") is not False and any(ip.interface.version == 4 for ip in known.ips):
            link = known.routed_link
            yield Sysctl(f"net/ipv4/conf/{link}/route_localnet", "1", inside=False, link=link)


def _leases(known: Facts, lease_dir: str) -> t.Iterator[Lease]:
    ipam = known.maker.keys.get("ipam")
    if isinstance(ipam, dict) and ipam.get("type") == host_local.TYPE:
        network, container_id, ifname = known.record.attachment.key
        directory = os.path.join(host_local.data_dir(ipam, lease_dir), network)
        yield from (Lease(directory, ip.interface.ip, container_id, ifname, lease_dir) for ip in known.ips)


def _bridge(known: Facts) -> Bridge:
    keys = known.maker.keys
    macs = (str(item.get("mac") or "") for item in known.on_node if item["name"] == known.bridge)
    # A bridge without an address takes the MAC of a port.
    mac = next(macs, "").lower() if known.routed_link else ""
    return Bridge(known.bridge, mac, _configured_mtu(known), keys.get("promiscMode") is True, known.vlans.is_filtered)


def _node_links(known: Facts) -> t.Iterator[Link]:
    for item in known.on_node:
        name = str(item["name"])
        if name == known.host_end:
            yield Link(name, inside=False, mtu=_configured_mtu(known), is_up=True, kind=VETH, peer=known.ifname)
        elif name not in (known.bridge, known.ifb):
            # A repair does not set a link up that only a record names.
            yield Link(name, inside=False, is_up=known.is_vlan_gateway(name))


def _ports(known: Facts) -> t.Iterator[Port]:
    keys = known.maker.keys
    if known.host_end:
        yield Port(
            known.host_end,
            known.bridge,
            is_hairpin=keys.get("hairpinMode") is True,
            is_isolated=keys.get("portIsolation") is True,
            vlan=known.vlans.access,
            trunk=known.vlans.tagged,
            leaves_default_vlan=known.vlans.leaves_default,
        )
    for name in (str(item["name"]) for item in known.on_node):
        if known.is_vlan_gateway(name):
            leaves_default = known.vlans.leaves_default
            yield Port(name, known.bridge, by_peer=True, vlan=known.vlans.vlan, leaves_default_vlan=leaves_default)


def _gateways(known: Facts) -> t.Iterator[Address | Route]:
    """Return the gateways' addresses on the node, and the routes to containers with a link of their own."""
    link = known.routed_link
    for ip in known.ips:
        if ip.gateway is not None and not known.bridge:
            yield Address(link, ipaddress.ip_interface(ip.gateway), inside=False)
            yield Route(link, _host_network(ip.interface.ip), None, inside=False, scope=_scope(ip))
    if known.bridge:
        yield from (Address(link, gateway, inside=False, is_only=gateway.version == 4) for gateway in _on_bridge(known))


def _on_bridge(known: Facts) -> t.Iterator[IpInterface]:
    """Return the gateways on the bridge: all of IPv6, but only the last one of IPv4, which has replaced the others."""
    gateways: dict[t.Hashable, IpInterface] = {}
    for ip in known.ips:
        if ip.gateway is not None:
            gateway = ipaddress.ip_interface(f"{ip.gateway}/{ip.interface.network.prefixlen}")
            gateways[gateway.version if gateway.version == 4 else gateway] = gateway
    yield from gateways.values()


def _host_network(address: IpAddress) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(address)


def _scope(ip: ContainerIp) -> int | None:
    return _HOST if ip.interface.version == 4 else None


def _families(ips: t.Iterable[ContainerIp]) -> list[int]:
    return list(dict.fromkeys(ip.interface.version for ip in ips))
