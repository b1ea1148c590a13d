# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.address_ranges import (
    Network,
    Range,
    range_sets,
    static_addresses,
)
from ansible_collections.cni.node.plugins.module_utils._node.prospect import Prospect
from ansible_collections.cni.node.plugins.module_utils._node.segment import (
    DEFAULT_BRIDGE,
    OF_ONE,
    Segment,
    is_routed,
    segment_of,
)

_MAIN_TABLE: t.Final = 254


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
    plugin: PluginConfiguration
    range: Range
    segment: Segment
    links: frozenset[str]
    routed: bool
    gateways: frozenset[t.Any]
    path: str

    def finding(self, code: str, message: str, hint: str) -> Finding:
        of = (self.plugin.index, self.plugin.type)
        return Finding(code, self.network.source, self.path, message, hint, str(self.range.subnet), of)


class _Place(t.NamedTuple):
    """Where the node sends what is for a network."""

    destination: Network
    link: str
    is_direct: bool


def findings(prospect: Prospect, view: View) -> t.Iterator[Finding]:
    """Find addresses of networks that the node has, that it sends elsewhere, or that another file's network has too."""
    others = [span for network in prospect.others for span in _spans(network)]
    names, places = {link.ifindex: link.name for link in view.links}, _places(view)
    for network in prospect.wanted:
        before = prospect.before.get(network.name)
        mine = frozenset(name for span in (_spans(before) if before else ()) for name in span.links)
        for span in _spans(network):
            yield from _taken(span, view, names)
            overlapping = [other for other in others if other.network.name != network.name and _collide(span, other)]
            yield from _networks(span, overlapping)
            if span.routed:
                known = span.links.union(mine, *(other.links for other in overlapping))
                yield from _elsewhere(span, [place for place in places if not _is_own(place, span, known)])


def _spans(network: NetworkConfiguration) -> t.Iterator[_Span]:
    for plugin in network.plugins:
        segment = segment_of(plugin.type, plugin.keys)
        ipam = plugin.keys.get("ipam")
        if segment is None or not isinstance(ipam, dict):
            continue
        if ipam.get("type") == "static":
            ranges = static_addresses(ipam)
        else:
            sets = range_sets(ipam) if ipam.get("type") == "host-local" else []
            ranges = [one for members in sets for one in members]
        gateways = frozenset(one.gateway for one in ranges)
        place = f"/plugins/{plugin.index}" if network.is_list else ""
        for one in ranges:
            path = f"{place}/ipam{one.path}"
            yield _Span(
                network, plugin, one, segment, _links(plugin), is_routed(plugin.type, plugin.keys), gateways, path
            )


def _links(plugin: PluginConfiguration) -> frozenset[str]:
    if plugin.type != "bridge":
        return frozenset()
    bridge = plugin.keys.get("bridge") or DEFAULT_BRIDGE
    return frozenset((bridge, f"{bridge}.{plugin.keys.get('vlan')}"))


def _places(view: View) -> list[_Place]:
    """Return what is sent where; the default route, and those of other tables, say nothing of a network."""
    names = {link.ifindex: link.name for link in view.links}
    found = [_Place(one.interface.network, names.get(one.link, ""), True) for one in view.addresses]
    for route in view.routes:
        if route.table == _MAIN_TABLE:
            found.append(_Place(route.destination, names.get(route.link, ""), route.gateway is None))
    return [place for place in dict.fromkeys(found) if place.destination.prefixlen and place.link not in ("", "lo")]


def _is_own(place: _Place, span: _Span, links: t.Collection[str]) -> bool:
    """Tell what leads to the network itself: its links, and the routes to single containers that ptp makes."""
    is_host = place.destination.prefixlen == place.destination.max_prefixlen
    return place.link in links or (is_host and span.plugin.type == "ptp")


def _taken(span: _Span, view: View, names: t.Mapping[int, str]) -> t.Iterator[Finding]:
    for address in view.addresses:
        ip, link = address.interface.ip, names.get(address.link, "")
        is_right = ip in span.gateways or (span.routed and link in span.links)
        if span.range.holds(ip) and not is_right:
            message = f"{ip}, which would be given to a container, is the node's own address on {link}"
            yield span.finding("address-taken", message, "leave it out of the range")


def _collide(one: _Span, other: _Span) -> bool:
    if one.segment == other.segment and one.segment != OF_ONE:
        return one.range.overlaps(other.range)
    return one.routed and other.routed and one.range.subnet.overlaps(other.range.subnet)


def _networks(span: _Span, overlapping: t.Sequence[_Span]) -> t.Iterator[Finding]:
    for other in overlapping:
        theirs = f"{other.range.subnet} of the network {other.network.name!r} ({other.network.source})"
        message = f"{span.range.subnet} overlaps with {theirs}"
        yield span.finding("overlaps-network", message, "give each network addresses of its own")


def _elsewhere(span: _Span, places: t.Sequence[_Place]) -> t.Iterator[Finding]:
    subnet = span.range.subnet
    said: set[str] = set()
    for place in places:
        if place.link in said or not place.destination.overlaps(subnet):
            continue
        said.add(place.link)
        if place.destination.prefixlen >= subnet.prefixlen:
            message = f"the node sends what is for {place.destination}, of the subnet {subnet}, to {place.link}"
            yield span.finding("overlaps-route", message, f"choose another subnet, or free it on {place.link}")
        elif place.is_direct:
            message = f"the subnet {subnet} is cut out of {place.destination}, which the node has on {place.link}"
            yield span.finding("inside-route", message, f"the node no longer reaches {subnet} on {place.link}")


__all__ = ("findings",)
