# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import MAIN_TABLE, View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import (
    POINT_TO_POINT,
    Segment,
    bridge_name,
    is_routed,
    segment_of,
)
from ansible_collections.cni.node.plugins.module_utils._reference.ipam_ranges import (
    Address,
    Network,
    Range,
    ipam_range_sets,
)
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import Configured, configured

# A VPN that is to get everything writes the default route in two halves, which win.
_HALF_OF_ALL: t.Final = 1
_SEVERAL: t.Final = "several links"


class _Span(t.NamedTuple):
    """Addresses that a network takes.

    Attributes:
        segment: What the containers are linked by.
        links: Names of the links by which the node itself is part of the network.
        routed: Whether the node routes to it.
        gateways: Of all the plugin's ranges: addresses that are the node's by right.
        path: JSON pointer.
    """

    network: NetworkConfiguration
    plugin: Configured
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
    """Where the node sends what is for a network, or for an address of its own.

    Attributes:
        version, first, last: Of the destination, in numbers, for there may be thousands to be looked through.
        is_direct: Whether it goes there without a router.
    """

    version: int
    first: int
    last: int
    destination: Network
    link: str
    is_direct: bool


def findings(planned: PlannedDirectory, view: View) -> t.Iterator[Finding]:
    """Find addresses of networks that the node has, that it sends elsewhere, or that another file's network has too."""
    others = [span for network in planned.others for span in _spans(network)]
    own, places, idle = _own_addresses(view), _places(view), _idle_bridges(view)
    for network in planned.wanted:
        before = planned.before.get(network.name)
        was = list(_spans(before)) if before else []
        for span in _spans(network):
            yield from _find_own_addresses(span, _inside(own, span.range.first, span.range.last))
            overlapping = [other for other in others if other.network.name != network.name and _collide(span, other)]
            yield from _networks(span, overlapping)
            if span.routed:
                there = _inside(places, span.range.subnet[0], span.range.subnet[-1])
                known = [span, *was, *overlapping]
                yield from _elsewhere(span, [place for place in there if not _is_of(place, known)], idle)


def _spans(network: NetworkConfiguration) -> t.Iterator[_Span]:
    for plugin in configured(network):
        segment = segment_of(plugin.type, plugin.keys)
        ipam = plugin.keys.get("ipam")
        if segment is None or not isinstance(ipam, dict):
            continue
        ranges = [one for members in ipam_range_sets(ipam) for one in members]
        gateways = frozenset(one.gateway for one in ranges)
        routed = is_routed(plugin.type, plugin.keys)
        for one in ranges:
            path = f"{plugin.path}/ipam{one.path}"
            yield _Span(network, plugin, one, segment, _links(plugin), routed, gateways, path)


def _links(plugin: Configured) -> frozenset[str]:
    if not catalogue.row(plugin.type).is_bridge:
        return frozenset()
    bridge = bridge_name(plugin.keys)
    return frozenset((bridge, f"{bridge}.{plugin.keys.get('vlan')}"))


def _places(view: View) -> list[_Place]:
    """Return what is sent where, the narrowest first; the default route and other tables say nothing of a network."""
    names = {0: _SEVERAL, **{link.ifindex: link.name for link in view.links}}
    found = [_place(one.interface.network, names.get(one.link, ""), is_direct=True) for one in view.addresses]
    for route in view.routes:
        if route.table == MAIN_TABLE and route.destination.prefixlen > _HALF_OF_ALL:
            is_direct = route.gateway is None and route.link != 0
            found.append(_place(route.destination, names.get(route.link, ""), is_direct=is_direct))
    known = (place for place in dict.fromkeys(found) if place.link not in ("", "lo"))
    return sorted(known, key=lambda place: place.last - place.first)


def _own_addresses(view: View) -> list[_Place]:
    names = {link.ifindex: link.name for link in view.links}
    return [
        _place(ipaddress.ip_network(one.interface.ip), names.get(one.link, ""), is_direct=True)
        for one in view.addresses
    ]


def _place(destination: Network, link: str, *, is_direct: bool) -> _Place:
    first, last = int(destination.network_address), int(destination.broadcast_address)
    return _Place(destination.version, first, last, destination, link, is_direct)


def _inside(places: list[_Place], first: Address, last: Address) -> list[_Place]:
    version, low, high = first.version, int(first), int(last)
    return [place for place in places if place.first <= high and place.last >= low and place.version == version]


def _idle_bridges(view: View) -> set[str]:
    """Return those without a port: bridge leaves its own behind."""
    in_use = {link.master for link in view.links}
    return {link.name for link in view.links if link.kind == "bridge" and link.ifindex not in in_use}


def _is_of(place: _Place, spans: t.Sequence[_Span]) -> bool:
    """Return whether a route leads to one of the networks: to its link, or to a single container of ptp."""
    is_host = place.first == place.last
    return any(place.link in span.links or (is_host and span.segment == POINT_TO_POINT) for span in spans)


def _find_own_addresses(span: _Span, own: t.Sequence[_Place]) -> t.Iterator[Finding]:
    for one in own:
        ip = one.destination.network_address
        if ip not in span.gateways and not (span.routed and one.link in span.links):
            message = f"{ip} is the node's own address on {one.link}, and could be assigned to a container"
            yield span.finding("address-taken", message, "exclude it from the range")


def _collide(one: _Span, other: _Span) -> bool:
    if one.segment == other.segment and one.segment != POINT_TO_POINT:
        return one.range.overlaps(other.range)
    return one.routed and other.routed and one.range.subnet.overlaps(other.range.subnet)


def _networks(span: _Span, overlapping: t.Sequence[_Span]) -> t.Iterator[Finding]:
    for other in overlapping:
        theirs = f"{other.range.subnet} of the network {other.network.name!r} ({other.network.source})"
        message = f"{span.range.subnet} overlaps with {theirs}"
        yield span.finding("overlaps-network", message, "give each network its own addresses")


def _elsewhere(span: _Span, places: t.Sequence[_Place], idle: t.Collection[str]) -> t.Iterator[Finding]:
    subnet = span.range.subnet
    said: set[str] = set()
    for place in places:
        is_inside = place.destination.prefixlen >= subnet.prefixlen
        if place.link in said or not (is_inside or place.is_direct):
            continue
        said.add(place.link)
        if place.link in idle:
            message = f"the bridge {place.link}, which has no ports, has {place.destination}"
            hint = f"remove the bridge, or the node may send traffic for {subnet} to it"
            yield span.finding("idle-bridge", message, hint)
        elif is_inside:
            message = f"the node routes {place.destination}, a part of the subnet {subnet}, to {place.link}"
            yield span.finding("overlaps-route", message, f"choose another subnet, or remove the route on {place.link}")
        else:
            message = f"the subnet {subnet} is a part of {place.destination}, which the node routes to {place.link}"
            yield span.finding(
                "inside-route", message, f"with this network, the node cannot reach {subnet} on {place.link}"
            )


__all__ = ("findings",)
