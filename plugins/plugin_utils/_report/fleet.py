# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the nodes of a fleet, and list its addresses."""

from __future__ import annotations

import collections
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.info.problems import list_used_networks
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, range_sets
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import content_of

_ABSENT = "none"


class NodeParts(t.NamedTuple):
    """The parts of a node that are compared with other nodes.

    Attributes:
        properties: What should be the same on all nodes, with its value.
        ranges: Each range of addresses with the name of its network.
    """

    name: str
    properties: list[tuple[str, str]]
    documents: list[Document]
    ranges: list[tuple[str, Range]]


def read_parts(node: JsonMapping) -> NodeParts:
    """Return what of a node of the report is compared with other nodes."""
    # Two nodes with the same range have it in different places of their configurations.
    ranges = [
        (network["name"], member._replace(path="", group=0))
        for network in list_used_networks(node)
        for member in _ranges(network["config"])
    ]
    return NodeParts(node["name"], list(_properties(node)), list(_documents(node)), ranges)


def compare(nodes: t.Sequence[NodeParts]) -> JsonObject:
    """Return what the report has about the fleet as a whole.

    Returns:
        ``differences``: what is not the same on all nodes, each with its values and the nodes that have them.
        ``collisions``: nodes that may assign the same address in one network.
        ``subnets``: each subnet with its networks and nodes, and the other networks that overlap with it.
    """
    return {"differences": list(_differences(nodes)), "collisions": _collisions(nodes), "subnets": _subnets(nodes)}


def list_differing(differences: t.Iterable[JsonMapping]) -> dict[str, list[str]]:
    """Return what differs from most nodes, by node. Where no value is the most common one, no node differs."""
    differing: dict[str, list[str]] = collections.defaultdict(list)
    for difference in differences:
        most, *others = difference["values"]
        if len(most["nodes"]) > len(others[0]["nodes"]):
            for group in others:
                for name in group["nodes"]:
                    differing[name].append(difference["what"])
    return differing


def _differences(nodes: t.Sequence[NodeParts]) -> t.Iterator[JsonObject]:
    values: dict[str, dict[str, str]] = {}
    for node in nodes:
        for what, value in node.properties:
            values.setdefault(what, {})[node.name] = value
    for what, by_node in sorted(values.items()):
        groups: dict[str, list[str]] = {}
        for node in nodes:
            groups.setdefault(by_node.get(node.name, _ABSENT), []).append(node.name)
        if len(groups) > 1:
            listed = sorted(groups.items(), key=lambda group: -len(group[1]))
            yield {"what": what, "values": [{"value": value, "nodes": names} for value, names in listed]}


def _properties(node: JsonMapping) -> t.Iterator[tuple[str, str]]:
    """Yield what should be the same on all nodes, each with its value."""
    for runtime in node["runtimes"]:
        yield f"runtime {runtime['name']}", f"{runtime['version'] or 'unknown version'}"
        yield f"conf dir of {runtime['name']}", runtime["conf_dir"]
    for release in node["releases"]:
        if release["current"]:
            yield f"release of {release['set']} plugins in {release['bin_dir']}", release["version"]
    for plugin in node["plugins"]:
        if not plugin["shadowed"]:
            yield f"plugin {plugin['type']}", plugin["release"] or "installed"
    for network in list_used_networks(node):
        yield f"network {network['name']}", _shape(network["config"])


def _shape(config: JsonMapping) -> str:
    """Return a network in a few words, without its addresses, which may differ between nodes."""
    words = []
    for plugin in config["plugins"]:
        keys = {key: value for key, value in plugin.items() if key not in ("type", "ipam")}
        ipam = {key: value for key, value in plugin.get("ipam", {}).items() if key not in networks.OWN_KEYS}
        shown = [f"{key}={_text(value)}" for key, value in sorted({**keys, **ipam}.items())]
        words.append(" ".join([plugin["type"], *shown]))
    return f"{config['cniVersion']}: {', '.join(words)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _collisions(nodes: t.Iterable[NodeParts]) -> list[str]:
    collisions = networks.collisions({node.name: node.documents for node in nodes})
    return [f"{finding.message}; {finding.hint}" for finding in collisions]


def _documents(node: JsonMapping) -> t.Iterator[Document]:
    for network in list_used_networks(node):
        document, dummy = read(Source(network["path"], content_of(network["config"]), is_text=False))
        if document:
            yield document


def _subnets(nodes: t.Iterable[NodeParts]) -> list[JsonObject]:
    users: dict[Range, dict[str, list[str]]] = {}
    for node in nodes:
        for network, member in node.ranges:
            users.setdefault(member, collections.defaultdict(list))[network].append(node.name)
    ordered = sorted(users, key=lambda member: (member.subnet.version, int(member.first)))
    overlaps: dict[Range, list[str]] = collections.defaultdict(list)
    for member, by_network in users.items():
        if len(by_network) > 1:
            overlaps[member].append(f"{' and '.join(by_network)} have the same addresses")
    for first, second in _overlapping_pairs(ordered):
        for member, other in ((first, second), (second, first)):
            overlaps[member] += [f"{name} ({other.subnet})" for name in users[other] if set(users[member]) != {name}]
    return [
        {
            "subnet": str(member.subnet),
            "range": f"{member.first}-{member.last}",
            "networks": [{"network": name, "nodes": names} for name, names in users[member].items()],
            "overlaps": sorted(set(overlaps[member])),
        }
        for member in ordered
    ]


def _overlapping_pairs(ordered: t.Iterable[Range]) -> t.Iterator[tuple[Range, Range]]:
    """Yield each two ranges that overlap.

    Args:
        ordered: Ranges in the order of their families and first addresses.
    """
    active: list[Range] = []
    for member in ordered:
        if int(member.first) <= int(member.last):
            # Those that end before this one begins overlap with no later one.
            active = [other for other in active if other.overlaps(member)]
            yield from ((other, member) for other in active)
            active.append(member)


def _ranges(config: JsonMapping) -> t.Iterator[Range]:
    for plugin in config["plugins"]:
        for members in range_sets(plugin.get("ipam")):
            yield from members
