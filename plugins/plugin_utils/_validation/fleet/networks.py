# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the networks of several nodes."""

from __future__ import annotations

import itertools
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet.groups import divide, join, join_nodes
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses, cluster_ranges

# Keys of IPAM that may differ between the nodes of one network.
OWN_KEYS = ("addresses", "gateway", "rangeEnd", "rangeStart", "ranges", "subnet")

# How many other ranges a message names.
_RANGES_SHOWN = 4

_Defined = tuple[str, Document]


class _Pool(t.NamedTuple):
    """A range of addresses of a network on a node; ``place`` is the node's place in the order of the input."""

    place: int
    node: str
    document: Document
    span: Range


def findings(nodes: t.Mapping[str, t.Sequence[Document]]) -> t.Iterator[Finding]:
    """Compare the networks of several nodes.

    A network with the same addresses on all nodes counts as local to each node. Otherwise, it is one network that is
    divided among the nodes, so its ranges must not overlap.

    Args:
        nodes: Documents by node.
    """
    for name, members in _by_network(nodes).items():
        yield from _differences(name, members)
        yield from _collisions(name, members)


def _by_network(nodes: t.Mapping[str, t.Iterable[Document]]) -> dict[str, list[_Defined]]:
    defined: dict[str, list[_Defined]] = {}
    for node, documents in nodes.items():
        for document in documents:
            defined.setdefault(document.name, []).append((node, document))
    return defined


def _differences(name: str, members: list[_Defined]) -> t.Iterator[Finding]:
    """Yield a finding for each group of nodes whose network differs from that of most nodes."""
    most, *others = divide(members, lambda defined: _shape(defined[1]))
    for group in others:
        nodes = [node for node, dummy in group]
        on_most, document = most[0]
        message = f"the network {name!r} on {join_nodes(nodes)} differs from the one on {on_most} ({document.file})"
        node, document = group[0]
        finding = _finding(
            "network-differs", node, document, "", message, "define it identically, except for its addresses"
        )
        yield finding._replace(nodes=tuple(dict.fromkeys(nodes)))


def collisions(nodes: t.Mapping[str, t.Iterable[Document]]) -> t.Iterator[Finding]:
    """Return a finding for each range of a network that several nodes may assign addresses of.

    Args:
        nodes: Documents by node.
    """
    for name, members in _by_network(nodes).items():
        yield from _collisions(name, members)


def _collisions(name: str, members: list[_Defined]) -> t.Iterator[Finding]:
    ranges = [_ranges(document) for dummy, document in members]
    is_same_everywhere = len({tuple(pools) for pools in ranges}) == 1
    if is_same_everywhere and not any(_is_on_shared_link(plugin) for plugin in members[0][1].plugins):
        return
    pools = [
        _Pool(place, node, document, pool)
        for place, ((node, document), own) in enumerate(zip(members, ranges))
        for pool in own
        if int(pool.first) <= int(pool.last)
    ]
    for group in _group_overlapping(pools):
        group.sort(key=lambda pool: pool.place)
        second = next((second for first, second in itertools.combinations(group, 2) if _collide(first, second)), None)
        if second is not None:
            yield _report_collision(name, group, second)


def _collide(first: _Pool, second: _Pool) -> bool:
    """Return whether two nodes may assign the same address; those of a pool of the cluster do not."""
    return first.node != second.node and not (first.span.pool and first.span.pool == second.span.pool)


def _group_overlapping(pools: t.Iterable[_Pool]) -> t.Iterator[list[_Pool]]:
    """Yield the pools in groups, in which each overlaps with another one; a pool without an overlap is alone."""
    group: list[_Pool] = []
    version, last = 0, 0
    for pool in sorted(pools, key=lambda each: (each.span.subnet.version, int(each.span.first))):
        if group and (pool.span.subnet.version != version or int(pool.span.first) > last):
            yield group
            group = []
        last = max(last, int(pool.span.last)) if group else int(pool.span.last)
        version = pool.span.subnet.version
        group.append(pool)
    if group:
        yield group


def _report_collision(name: str, group: t.Sequence[_Pool], second: _Pool) -> Finding:
    """Return the finding about pools that overlap; its place is on the node of the second one that does."""
    by_range: dict[str, list[str]] = {}
    for pool in group:
        by_range.setdefault(f"{pool.span.first} to {pool.span.last}", []).append(pool.node)
    described = [f"{span} on {join_nodes(nodes)}" for span, nodes in by_range.items()]
    first, *others = described
    start, *dummy = by_range
    if others:
        on_first = first[len(start) :]
        message = f"{start} of the network {name!r}{on_first} overlaps with {join(others, _RANGES_SHOWN)}"
    else:
        message = (
            f"{start} of the network {name!r} is on {len(set(by_range[start]))} nodes: {join_nodes(by_range[start])}"
        )
    hint = "each node assigns addresses independently; divide the range with the filter cni.node.node_subnets"
    finding = _finding(
        "node-subnets-collide",
        second.node,
        second.document,
        second.span.path,
        f"{message} ({group[0].document.file})",
        hint,
    )
    return finding._replace(nodes=tuple(dict.fromkeys(pool.node for pool in group)))


def _is_on_shared_link(plugin: DocumentPlugin) -> bool:
    """Return whether the network is on a physical link, which containers of all nodes share."""
    known = plugin.traits
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
