# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find networks of one node that are defined twice or overlap."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import Segment, is_routed, l2_segment
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses, cluster_ranges


@dataclasses.dataclass(frozen=True)
class _NamedSpan:
    """Addresses that a network uses.

    Attributes:
        segment: The link that connects the containers. Networks on one segment share it.
        routed: Whether the node routes to the addresses.
        subnet: Whether this is a whole subnet, not only its range.
        pool: Ranges of one pool assign each address once; empty for a range by itself.
    """

    document: Document
    path: str
    segment: Segment
    routed: bool
    subnet: bool
    text: str
    version: int
    first: int
    last: int
    pool: str


def duplicates(documents: t.Sequence[Document]) -> t.Iterator[Finding]:
    """Find networks and manifests that are defined twice. Only one of the definitions is used.

    Several manifests may contain networks of one name.
    """
    first: dict[tuple[bool, str], Document] = {}
    for document in documents:
        name = document.manifest.label if document.manifest else document.name
        original = first.setdefault((bool(document.manifest), name), document)
        if name and original is not document:
            yield _duplicate(document, original, name)


def _duplicate(document: Document, original: Document, name: str) -> Finding:
    if document.manifest:
        message, hint = f"the manifest {name!r} is also", "the cluster keeps only one of them; rename this one"
    else:
        message, hint = f"the network {name!r} is also", "runtimes use only one of them; rename this one"
    return document.finding("duplicate-network", "/name", f"{message} defined by {original.file}", hint, name)


def overlaps(documents: t.Sequence[Document]) -> t.Iterator[Finding]:
    """Find networks on one link with overlapping ranges, and routed networks with overlapping subnets."""
    spans = [span for document in documents for plugin in document.plugins for span in _spans(document, plugin)]
    for subnet in (False, True):
        reported: set[tuple[int, str, int, str]] = set()
        for span, other in _overlapping_pairs([span for span in spans if span.subnet is subnet]):
            places = id(span.document), span.path, id(other.document), other.path
            is_other_network = span.document.name != other.document.name
            if is_other_network and places not in reported and _are_in_conflict(span, other):
                reported.add(places)
                yield _finding(span, other)


def _are_in_conflict(span: _NamedSpan, other: _NamedSpan) -> bool:
    """Return whether two pools assign addresses on one link, or the node routes to one subnet on two links."""
    is_same_link = span.segment == other.segment
    if span.subnet:
        return not is_same_link and span.routed and other.routed
    return is_same_link and not (span.pool and span.pool == other.pool)


def _finding(span: _NamedSpan, other: _NamedSpan) -> Finding:
    theirs = f"{span.text} of the network {span.document.name!r} ({span.document.file})"
    if span.subnet:
        message = f"the subnet {other.text} overlaps with {theirs}, and the node routes to both"
        return other.document.finding("networks-overlap", other.path, message, "give each network its own subnet")
    message = f"the range {other.text} overlaps with {theirs}, and both networks share a link"
    return other.document.finding(
        "ranges-overlap",
        other.path,
        message,
        "separate the ranges, because each network assigns addresses independently",
    )


def _spans(document: Document, plugin: DocumentPlugin) -> t.Iterator[_NamedSpan]:
    segment, routed = l2_segment(plugin.type, plugin.keys), is_routed(plugin.type, plugin.keys)
    if segment is None:
        return
    for pool in (*addresses.ranges(plugin), *cluster_ranges.ranges(plugin)):
        kept = (document, pool.path, segment, routed)
        version = pool.subnet.version
        yield _NamedSpan(
            *kept, False, f"{pool.first} to {pool.last}", version, int(pool.first), int(pool.last), pool.pool
        )
        yield _NamedSpan(*kept, True, str(pool.subnet), version, int(pool.subnet[0]), int(pool.subnet[-1]), "")


def _overlapping_pairs(spans: list[_NamedSpan]) -> t.Iterator[tuple[_NamedSpan, _NamedSpan]]:
    """Yield each overlapping pair, in the order of ``spans``."""
    order = {id(span): place for place, span in enumerate(spans)}
    open_spans: list[_NamedSpan] = []
    for span in sorted(spans, key=lambda member: (member.version, member.first)):
        open_spans = [
            earlier for earlier in open_spans if earlier.version == span.version and earlier.last >= span.first
        ]
        for earlier in open_spans:
            pair = sorted((earlier, span), key=lambda member: order[id(member)])
            yield pair[0], pair[1]
        open_spans.append(span)
