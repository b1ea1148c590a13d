# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import itertools
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.ipam_ranges import Range
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, Plugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses, cluster_ranges

# Keys of IPAM that may differ between the nodes of one network.
OWN_KEYS: t.Final = ("addresses", "gateway", "rangeEnd", "rangeStart", "ranges", "subnet")

_Defined = tuple[str, Document]


def findings(nodes: t.Mapping[str, t.Sequence[Document]]) -> t.Iterator[Finding]:
    """Compare the networks of several nodes.

    A network with the same addresses on all nodes counts as local to each node. Otherwise, it is one network that is
    divided among the nodes, so its ranges must not overlap.

    Args:
        nodes: Documents by node.
    """
    defined: dict[str, list[_Defined]] = {}
    for node, documents in nodes.items():
        for document in documents:
            defined.setdefault(document.name, []).append((node, document))
    for name, members in defined.items():
        yield from _differences(name, members)
        yield from _collisions(name, members)


def _differences(name: str, members: list[_Defined]) -> t.Iterator[Finding]:
    first_node, first = members[0]
    for node, document in members[1:]:
        if _shape(document) != _shape(first):
            message = f"the network {name!r} on {node} differs from the one on {first_node} ({first.file})"
            yield _finding(
                "network-differs", node, document, "", message, "define it identically, except for its addresses"
            )


def _collisions(name: str, members: list[_Defined]) -> t.Iterator[Finding]:
    members_with_ranges = [(node, document, _ranges(document)) for node, document in members]
    same_everywhere = len({tuple(ranges) for dummy, dummy_document, ranges in members_with_ranges}) == 1
    if same_everywhere and not any(_is_on_shared_link(plugin) for plugin in members[0][1].plugins):
        return
    for (node, document, ranges), (other_node, other_document, others) in itertools.combinations(
        members_with_ranges, 2
    ):
        for pool, other in itertools.product(ranges, others):
            if node != other_node and pool.overlaps(other) and not (pool.pool and pool.pool == other.pool):
                message = (
                    f"{other.first} to {other.last} of the network {name!r} on {other_node} overlaps with"
                    f" {pool.first} to {pool.last} on {node} ({document.file})"
                )
                hint = (
                    "each node assigns addresses independently; divide the range with the filter cni.node.node_subnets"
                )
                yield _finding("node-subnets-collide", other_node, other_document, other.path, message, hint)


def _is_on_shared_link(plugin: Plugin) -> bool:
    """Return whether the network is on a physical link, which containers of all nodes share."""
    known = catalogue.find_plugin_type(plugin.type)
    return known.has_master or known.borrows_device


def _ranges(document: Document) -> list[Range]:
    return [pool for plugin in document.plugins for pool in (*addresses.ranges(plugin), *cluster_ranges.ranges(plugin))]


def _shape(document: Document) -> str:
    """Return a network as text, without the addresses, which may differ between nodes."""
    plugins = [
        {**plugin.keys, "ipam": {key: value for key, value in plugin.ipam.items() if key not in OWN_KEYS}}
        for plugin in document.plugins
    ]
    network = {key: value for key, value in document.keys.items() if key != "plugins"} if document.is_list else {}
    return json.dumps([network, plugins], sort_keys=True)


def _finding(code: str, node: str, document: Document, path: str, message: str, hint: str) -> Finding:
    return document.finding(code, path, message, hint)._replace(file=f"{node}: {document.file}")


__all__ = ("OWN_KEYS", "findings")
