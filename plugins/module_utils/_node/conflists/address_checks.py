# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find addresses of networks that the node or another network already uses."""

from __future__ import annotations

import ipaddress
import itertools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import LOOPBACK, MAIN_TABLE, View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, range_sets
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import (
    POINT_TO_POINT,
    Segment,
    bridge_name,
    is_routed,
    l2_segment,
)
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import ConfiguredPlugin, all_plugins

# A VPN for all traffic adds two routes, one for each half of all addresses, because these override the default route.
_HALF_OF_ALL = 1
_SEVERAL = "several links"


class _Span(t.NamedTuple):
    """A range of addresses that a network assigns.

    Attributes:
        segment: The layer 2 segment that the containers share.
        links: Names of the node's own links in the network.
        routed: Whether the node routes to the network.
        gateways: The gateways of all the plugin's ranges, which may be addresses of the node.
        path: JSON pointer to the range.
    """

    network: NetworkConfiguration
    plugin: ConfiguredPlugin
    range: Range
    segment: Segment
    links: frozenset[str]
    routed: bool
    gateways: frozenset[t.Any]
    path: str

    def finding(self, code: str, message: str, hint: str) -> Finding:
        subnet = str(self.range.subnet)
        return Finding(code, self.network.source, self.path, message, hint, subnet, self.plugin.plugin)


class _Place(t.NamedTuple):
    """A destination of the node's routes, or one of its own addresses.

    Attributes:
        version, first, last: The destination as numbers, because there may be thousands to compare.
        is_direct: Whether the destination is reached without a router.
    """

    version: int
    first: int
    last: int
    destination: IpNetwork
    link: str
    is_direct: bool


def check(planned: PlannedDirectory, view: View) -> t.Iterator[Finding]:
    """Find addresses of networks that the node or another network has, too, or that the node routes to another link."""
    others = [span for network in planned.others for span in _spans(network)]
    own, places, bridges = _own_addresses(view), _places(view), _BridgeRoutes(view)
    for network in planned.desired:
        before = planned.before.get(network.name)
        old_spans = list(_spans(before)) if before else []
        for span in _spans(network):
            yield from _find_own_addresses(span, _overlapping_places(own, span.range.first, span.range.last))
            overlapping = [other for other in others if other.network.name != network.name and _collide(span, other)]
            yield from _find_overlapping_networks(span, overlapping)
            if span.routed:
                routed = _overlapping_places(places, span.range.subnet[0], span.range.subnet[-1])
                elsewhere = [place for place in routed if not _leads_to(place, [span, *overlapping])]
                for place in _select_routes(span, elsewhere):
                    if place.link in bridges.idle:
                        yield bridges.describe_idle(span, place)._replace(is_unchanged=not planned.is_new(network))
                    elif not _leads_to(place, old_spans):
                        yield _route_finding(span, place)
                    elif bridges.takes(span, place):
                        yield _describe_left_bridge(span, place)


def _spans(network: NetworkConfiguration) -> t.Iterator[_Span]:
    for plugin in all_plugins(network):
        segment = l2_segment(plugin.type, plugin.keys)
        ipam = plugin.keys.get("ipam")
        if segment is None or not isinstance(ipam, dict):
            continue
        ranges = list(itertools.chain(*range_sets(ipam)))
        gateways = frozenset(addresses.gateway for addresses in ranges)
        routed = is_routed(plugin.type, plugin.keys)
        for addresses in ranges:
            path = f"{plugin.path}/ipam{addresses.path}"
            yield _Span(network, plugin, addresses, segment, _links(plugin), routed, gateways, path)


def _links(plugin: ConfiguredPlugin) -> frozenset[str]:
    if not catalogue.find_plugin_type(plugin.type).is_bridge:
        return frozenset()
    bridge = bridge_name(plugin.keys)
    return frozenset((bridge, f"{bridge}.{plugin.keys.get('vlan')}"))


def _places(view: View) -> list[_Place]:
    """Return the subnets of the node's addresses and the main table's routes without default routes, narrowest first."""
    names = {0: _SEVERAL, **{link.ifindex: link.name for link in view.links}}
    places = [
        _place(address.interface.network, names.get(address.link, ""), is_direct=True) for address in view.addresses
    ]
    for route in view.routes:
        if route.table == MAIN_TABLE and route.destination.prefixlen > _HALF_OF_ALL:
            is_direct = route.gateway is None and route.link != 0
            places.append(_place(route.destination, names.get(route.link, ""), is_direct=is_direct))
    distinct = (place for place in dict.fromkeys(places) if place.link not in ("", LOOPBACK))
    return sorted(distinct, key=lambda place: place.last - place.first)


def _own_addresses(view: View) -> list[_Place]:
    names = {link.ifindex: link.name for link in view.links}
    return [
        _place(ipaddress.ip_network(address.interface.ip), names.get(address.link, ""), is_direct=True)
        for address in view.addresses
    ]


def _place(destination: IpNetwork, link: str, *, is_direct: bool) -> _Place:
    first, last = int(destination.network_address), int(destination.broadcast_address)
    return _Place(destination.version, first, last, destination, link, is_direct)


def _overlapping_places(places: list[_Place], first: IpAddress, last: IpAddress) -> list[_Place]:
    version, low, high = first.version, int(first), int(last)
    return [place for place in places if place.first <= high and place.last >= low and place.version == version]


class _BridgeRoutes:
    """The bridges of a node, and the subnets that it routes to them. The plugin bridge never removes a bridge.

    Attributes:
        idle: The names of bridges without a port.
    """

    def __init__(self, view: View) -> None:
        in_use = {link.master for link in view.links}
        bridges = {link.ifindex: link.name for link in view.links if link.kind == BRIDGE}
        self.idle = {name for number, name in bridges.items() if number not in in_use}
        # Of several routes to a subnet, the kernel takes the first one, which is that of the older address.
        first: dict[IpNetwork, str] = {}
        for route in view.routes:
            if route.table == MAIN_TABLE:
                first.setdefault(route.destination, bridges.get(route.link, ""))
        self._first = first
        self._addresses = {
            (bridges[address.link], address.interface.network): address.interface
            for address in view.addresses
            if address.link in bridges
        }

    def takes(self, span: _Span, place: _Place) -> bool:
        """Return whether the node sends traffic for containers of a network to a bridge that it is routed to as well."""
        # The plugin ptp makes a route for each container.
        return (
            span.segment != POINT_TO_POINT
            and _is_inside(span, place)
            and self._first.get(place.destination) == place.link
        )

    def describe_idle(self, span: _Span, place: _Place) -> Finding:
        address = self._addresses.get((place.link, place.destination))
        what = f"the address {address}" if address else f"a route to {place.destination}"
        is_lost = self.takes(span, place)
        effect = "so that traffic for containers is lost there" if is_lost else "and may take traffic for containers"
        message = f"the bridge {place.link}, which has no ports, has {what}, {effect}"
        hint = f"if nothing needs the bridge, remove it: ip link delete {place.link}; otherwise, choose another subnet"
        return span.finding("idle-bridge", message, hint)._replace(is_conditional=not is_lost)


def _leads_to(place: _Place, spans: t.Sequence[_Span]) -> bool:
    """Return whether a route leads to one of the networks: to its link, or to a single container of ptp."""
    is_host = place.first == place.last
    return any(place.link in span.links or (is_host and span.segment == POINT_TO_POINT) for span in spans)


def _find_own_addresses(span: _Span, own: t.Sequence[_Place]) -> t.Iterator[Finding]:
    for place in own:
        ip = place.destination.network_address
        if ip not in span.gateways and not (span.routed and place.link in span.links):
            message = f"{ip} is the node's own address on {place.link}, and could be assigned to a container"
            yield span.finding("address-taken", message, "exclude it from the range")


def _collide(span: _Span, other: _Span) -> bool:
    if span.segment == other.segment and span.segment != POINT_TO_POINT:
        return span.range.overlaps(other.range)
    return span.routed and other.routed and span.range.subnet.overlaps(other.range.subnet)


def _find_overlapping_networks(span: _Span, overlapping: t.Sequence[_Span]) -> t.Iterator[Finding]:
    for other in overlapping:
        theirs = f"{other.range.subnet} of the network {other.network.name!r} ({other.network.source})"
        message = f"{span.range.subnet} overlaps with {theirs}"
        yield span.finding("overlaps-network", message, "give each network its own addresses")


def _is_inside(span: _Span, place: _Place) -> bool:
    return place.destination.prefixlen >= span.range.subnet.prefixlen


def _select_routes(span: _Span, places: t.Sequence[_Place]) -> t.Iterator[_Place]:
    """Yield the routes that a network conflicts with, at most one for each link."""
    reported: set[str] = set()
    for place in places:
        if place.link not in reported and (_is_inside(span, place) or place.is_direct):
            reported.add(place.link)
            yield place


def _route_finding(span: _Span, place: _Place) -> Finding:
    subnet, link = span.range.subnet, place.link
    if _is_inside(span, place):
        message = f"the node routes {place.destination}, a part of the subnet {subnet}, to {link}"
        return span.finding("overlaps-route", message, f"choose another subnet, or remove the route on {link}")
    message = f"the subnet {subnet} is a part of {place.destination}, which the node routes to {link}"
    return span.finding("inside-route", message, f"with this network, the node cannot reach {subnet} on {link}")


def _describe_left_bridge(span: _Span, place: _Place) -> Finding:
    """Return a warning of the bridge that a network has had until now: it keeps the subnet."""
    message = f"the subnet {place.destination} stays on the bridge {place.link}, which the network leaves"
    hint = f"traffic for containers is lost there until you remove it: ip link delete {place.link}"
    return span.finding("idle-bridge", message, hint)._replace(is_conditional=True)
