# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The topology of a node's networks: the segments that containers are on, and the node's links."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE
from ansible_collections.cni.node.plugins.module_utils._node.info.problems import list_used_networks
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

# How traffic gets from a segment to a link of the node.
MASQUERADED, ROUTED, JOINED = "masquerade", "routed", "joined"


class Uplink(t.NamedTuple):
    """A link of the node, below a segment or with a default route.

    Attributes:
        parent: The link below it, or an empty string.
        vlan: The VLAN ID on its parent, or 0.
        is_missing: Whether a configuration names it, but the node does not have it.
    """

    name: str
    addresses: tuple[str, ...] = ()
    parent: str = ""
    vlan: int = 0
    is_up: bool = True
    is_missing: bool = False


class Path(t.NamedTuple):
    """How a segment reaches an uplink: one of `MASQUERADED`, `ROUTED` and `JOINED`."""

    uplink: str
    how: str


class Segment(t.NamedTuple):
    """A bridge, a link of the node, or only routes, which the containers of a network share.

    Attributes:
        title: Such as ``bridge cni0`` or ``macvlan on eth1``.
        networks: The networks that use it.
        is_missing: Whether it is a bridge that the node does not have, although containers are attached to it.
    """

    key: str
    title: str
    networks: tuple[str, ...]
    addresses: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    is_missing: bool = False


class Topology(t.NamedTuple):
    """The parts of a drawing, from left to right.

    Attributes:
        uplinks: A link on top of another one follows it.
        networks: The key of the segment of each network, also of networks that only attachments have.
    """

    uplinks: tuple[Uplink, ...]
    segments: tuple[Segment, ...]
    networks: dict[str, str]

    def as_dict(self) -> JsonObject:
        """Return the topology as the report has it."""
        return {
            "uplinks": [
                {
                    "name": uplink.name,
                    "addresses": list(uplink.addresses),
                    "parent": uplink.parent,
                    "vlan": uplink.vlan,
                    "up": uplink.is_up,
                    "missing": uplink.is_missing,
                }
                for uplink in self.uplinks
            ],
            "segments": [
                {
                    "key": segment.key,
                    "title": segment.title,
                    "networks": list(segment.networks),
                    "addresses": list(segment.addresses),
                    "paths": [path._asdict() for path in _distinct(segment.paths)],
                    "missing": segment.is_missing,
                }
                for segment in self.segments
            ],
            "networks": self.networks,
        }


def read(node: JsonMapping) -> Topology:
    """Return the topology of a node of the report."""
    return _TopologyReader(node).read()


class _TopologyReader:
    def __init__(self, node: JsonMapping) -> None:
        self._node = node
        self._links: dict[str, JsonObject] = {link["name"]: link for link in node["links"]}
        self._defaults = [link["name"] for link in node["links"] if link["uplink"]]
        self._segments: dict[str, Segment] = {}
        self._by_network: dict[str, str] = {}

    def read(self) -> Topology:
        for network in list_used_networks(self._node):
            self._add_network(network["name"], network["config"])
        attached = {self._segment_of(attachment) for attachment in self._node["attachments"]}
        segments = [self._with_state(segment, attached) for segment in self._segments.values()]
        named = [path.uplink for segment in segments for path in segment.paths]
        uplinks = list(self._uplinks([*self._defaults, *named]))
        return Topology(tuple(_with_children(uplinks)), tuple(segments), self._by_network)

    def _add_network(self, name: str, config: JsonMapping) -> None:
        plugins = config["plugins"]
        main = next((plugin for plugin in plugins if catalogue.find_plugin_type(plugin["type"]).l2), plugins[0])
        self._by_network[name] = self._add(name, self._describe(name, main))

    def _add(self, network: str, segment: Segment) -> str:
        known = self._segments.get(segment.key, segment)
        networks = tuple(dict.fromkeys([*known.networks, network]))
        paths = tuple(dict.fromkeys([*known.paths, *segment.paths]))
        self._segments[segment.key] = known._replace(networks=networks, paths=paths)
        return segment.key

    def _describe(self, network: str, plugin: JsonMapping) -> Segment:
        plugin_type = plugin["type"]
        segment = catalogue.l2_segment(plugin_type, plugin)
        if segment is None:
            device = plugin.get("device")
            title = f"{plugin_type} {device}" if device else plugin_type
            return Segment(f"network {network}", title, (network,))
        kind, link, vlan = segment
        outwards = self._outwards(MASQUERADED if plugin.get("ipMasq") is True else ROUTED)
        if segment == catalogue.POINT_TO_POINT:
            return Segment(f"network {network}", f"{plugin_type}: routes of the node", (network,), (), outwards)
        if kind == BRIDGE:
            routed = outwards if catalogue.is_routed(plugin_type, plugin) or plugin.get("ipMasq") is True else ()
            return self._bridge(str(link), network, vlan, routed)
        master = str(link or next(iter(self._defaults), ""))
        tag = f", VLAN {vlan}" if vlan else ""
        paths = (Path(master, JOINED),) if master else ()
        return Segment(
            f"{plugin_type} {master} {vlan}", f"{plugin_type} on {master or '?'}{tag}", (network,), (), paths
        )

    def _bridge(self, name: str, network: str, vlan: int = 0, outwards: tuple[Path, ...] = ()) -> Segment:
        ports = [link for link in self._links.values() if link["master"] == name and link["kind"] != VETH]
        joined = tuple(Path(port["name"], JOINED) for port in ports)
        addresses = tuple(self._links.get(name, {}).get("addresses", ()))
        title = f"bridge {name}{f', VLAN {vlan}' if vlan else ''}"
        return Segment(f"bridge {name} {vlan}", title, (network,), addresses, (*joined, *outwards))

    def _outwards(self, how: str) -> tuple[Path, ...]:
        return tuple(Path(name, how) for name in self._defaults)

    def _with_state(self, segment: Segment, attached: t.Container[str]) -> Segment:
        """Return the segment, marked if it is a bridge that is missing; plugins make a bridge at the first ADD."""
        kind, name, *dummy = segment.key.split(" ")
        is_missing = kind == BRIDGE and name not in self._links and segment.key in attached
        return segment._replace(is_missing=is_missing and bool(self._links))

    def _segment_of(self, attachment: JsonMapping) -> str:
        """Return the key of an attachment's segment. Without a configuration of the network, its result may name a bridge."""
        network = attachment["network"]
        if network not in self._by_network:
            bridges = [name for name in attachment["node_interfaces"] if self._is_bridge(name)]
            unknown = Segment(f"network {network}", "no configuration", (network,))
            self._by_network[network] = self._add(network, self._bridge(bridges[0], network) if bridges else unknown)
        return self._by_network[network]

    def _is_bridge(self, name: str) -> bool:
        return bool(self._links.get(name, {}).get("kind") == BRIDGE)

    def _uplinks(self, names: t.Iterable[str]) -> t.Iterator[Uplink]:
        pending, seen = list(names), set()
        while pending:
            name = pending.pop(0)
            if name in seen:
                continue
            seen.add(name)
            link = self._links.get(name)
            if link is None:
                yield Uplink(name, is_missing=bool(self._links))
                continue
            yield Uplink(name, tuple(link["addresses"]), link["parent"], link["vlan"], link["up"])
            pending += [link["parent"]] if link["parent"] else []


def _distinct(paths: t.Iterable[Path]) -> t.Iterable[Path]:
    """Return one path for each uplink: the first, as a port of a bridge says more than a route."""
    return {path.uplink: path for path in reversed(list(paths))}.values()


def _with_children(uplinks: t.Collection[Uplink]) -> t.Iterable[Uplink]:
    """Return links so that those on top of another one follow it. An answer of a node may have a circle of parents."""
    placed: dict[str, Uplink] = {}
    names = {uplink.name for uplink in uplinks}
    for start in [*(uplink for uplink in uplinks if uplink.parent not in names), *uplinks]:
        stack = [start]
        while stack:
            uplink = stack.pop()
            if uplink.name not in placed:
                placed[uplink.name] = uplink
                stack += [child for child in uplinks if child.parent == uplink.name]
    return placed.values()
