# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import Segment, is_routed, l2_segment
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, Plugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses


@dataclasses.dataclass(frozen=True)
class _Span:
    """Addresses that a network takes.

    Attributes:
        segment: What the containers are linked by; two networks on one segment share it.
        routed: Whether the node routes to them.
        subnet: Whether this is the whole subnet, rather than what is given out of it.
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


def duplicates(documents: t.Sequence[Document]) -> t.Iterator[Finding]:
    """Find networks that are defined twice: a runtime takes one of them."""
    first: dict[str, Document] = {}
    for document in documents:
        if document.name and first.setdefault(document.name, document) is not document:
            message = f"the network {document.name!r} is also defined by {first[document.name].file}"
            hint = "runtimes use only one of them; rename this one"
            yield document.finding("duplicate-network", "/name", message, hint, document.name)


def overlaps(documents: t.Sequence[Document]) -> t.Iterator[Finding]:
    """Find networks that would give out the same address, or that the node could not tell apart when it routes."""
    spans = [span for document in documents for plugin in document.plugins for span in _spans(document, plugin)]
    for subnet in (False, True):
        for one, other in _overlapping_pairs([span for span in spans if span.subnet is subnet]):
            same = one.segment == other.segment
            if one.document.name != other.document.name and (
                same if not subnet else not same and one.routed and other.routed
            ):
                yield _finding(one, other)


def _finding(one: _Span, other: _Span) -> Finding:
    theirs = f"{one.text} of the network {one.document.name!r} ({one.document.file})"
    if one.subnet:
        message = f"the subnet {other.text} overlaps with {theirs}, and the node routes to both"
        return other.document.finding("networks-overlap", other.path, message, "give each network its own subnet")
    message = f"the range {other.text} overlaps with {theirs}, and both networks share a link"
    return other.document.finding(
        "ranges-overlap",
        other.path,
        message,
        "separate the ranges, because each network assigns addresses independently",
    )


def _spans(document: Document, plugin: Plugin) -> t.Iterator[_Span]:
    segment, routed = l2_segment(plugin.type, plugin.keys), is_routed(plugin.type, plugin.keys)
    if segment is None:
        return
    for one in addresses.ranges(plugin):
        kept = (document, one.path, segment, routed)
        version = one.subnet.version
        yield _Span(*kept, False, f"{one.first} to {one.last}", version, int(one.first), int(one.last))
        yield _Span(*kept, True, str(one.subnet), version, int(one.subnet[0]), int(one.subnet[-1]))


def _overlapping_pairs(spans: list[_Span]) -> t.Iterator[tuple[_Span, _Span]]:
    """Return each pair that overlaps, the one that comes first in the call first."""
    order = {id(span): place for place, span in enumerate(spans)}
    open_spans: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.version, one.first)):
        open_spans = [one for one in open_spans if one.version == span.version and one.last >= span.first]
        for one in open_spans:
            pair = sorted((one, span), key=lambda member: order[id(member)])
            yield pair[0], pair[1]
        open_spans.append(span)


__all__ = ("duplicates", "overlaps")
