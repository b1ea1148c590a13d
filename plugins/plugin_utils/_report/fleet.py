# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the nodes of a fleet, and list its addresses."""

from __future__ import annotations

import collections
import itertools
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.ipam_ranges import Range, range_sets
from ansible_collections.cni.node.plugins.plugin_utils._report.problems import list_used_networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import content_of

_COLLISION: t.Final = "node-subnets-collide"
_ABSENT: t.Final = "none"


def compare(nodes: t.Sequence[JsonMapping]) -> JsonObject:
    """Return what the report has about the fleet as a whole.

    Returns:
        ``differences``: what is not the same on all nodes, each with its values and the nodes that have them.
        ``collisions``: nodes that may assign the same address in one network.
        ``subnets``: each subnet with its networks and nodes, and the other networks that overlap with it.
    """
    read = [node for node in nodes if node["read"]]
    return {"differences": list(_differences(read)), "collisions": _collisions(read), "subnets": _subnets(read)}


def _differences(nodes: t.Sequence[JsonMapping]) -> t.Iterator[JsonObject]:
    values: dict[str, dict[str, str]] = {}
    for node in nodes:
        for what, value in _properties(node):
            values.setdefault(what, {})[node["name"]] = value
    for what, by_node in sorted(values.items()):
        groups: dict[str, list[str]] = {}
        for node in nodes:
            groups.setdefault(by_node.get(node["name"], _ABSENT), []).append(node["name"])
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


def _collisions(nodes: t.Iterable[JsonMapping]) -> list[str]:
    documents = {node["name"]: list(_documents(node)) for node in nodes}
    collisions = (finding for finding in networks.findings(documents) if finding.code == _COLLISION)
    return [f"{finding.message}; {finding.hint}" for finding in collisions]


def _documents(node: JsonMapping) -> t.Iterator[Document]:
    for network in list_used_networks(node):
        document, dummy = read(Source(network["path"], content_of(network["config"]), is_text=False))
        if document:
            yield document


def _subnets(nodes: t.Iterable[JsonMapping]) -> list[JsonObject]:
    users: dict[Range, dict[str, list[str]]] = {}
    for node in nodes:
        for network in list_used_networks(node):
            for member in _ranges(network["config"]):
                # Two nodes with the same range have it in different places of their configurations.
                key = member._replace(path="", group=0)
                users.setdefault(key, collections.defaultdict(list))[network["name"]].append(node["name"])
    overlaps: dict[Range, list[str]] = collections.defaultdict(list)
    for member, by_network in users.items():
        if len(by_network) > 1:
            overlaps[member].append(f"{' and '.join(by_network)} have the same addresses")
    for first, second in itertools.combinations(users, 2):
        if first.overlaps(second):
            for member, other in ((first, second), (second, first)):
                overlaps[member] += [
                    f"{name} ({other.subnet})" for name in users[other] if set(users[member]) != {name}
                ]
    return [
        {
            "subnet": str(member.subnet),
            "range": f"{member.first}-{member.last}",
            "networks": [{"network": name, "nodes": names} for name, names in by_network.items()],
            "overlaps": sorted(set(overlaps[member])),
        }
        for member, by_network in sorted(
            users.items(), key=lambda entry: (entry[0].subnet.version, int(entry[0].first))
        )
    ]


def _ranges(config: JsonMapping) -> t.Iterator[Range]:
    for plugin in config["plugins"]:
        for members in range_sets(plugin.get("ipam")):
            yield from members


__all__ = ("compare",)
