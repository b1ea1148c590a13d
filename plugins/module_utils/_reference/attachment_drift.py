# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare an attachment's record with the kernel: its links, and its rules in the node's firewall."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._reference import rule_drift
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import (
    RecordedRequests,
    UnreadableConfiguration,
    expected_state,
)
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import RuleDrift
from ansible_collections.cni.node.plugins.module_utils._reference.state import comparison
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift


class AttachmentDrift(t.NamedTuple):
    """Differences between an attachment's record and the kernel.

    Attributes:
        links: Drift in the container's network namespace and of the node's links; None if these cannot be compared.
        rules: Drift of the node's firewall.
        is_whole: Whether everything was compared that the plugins have made.
    """

    links: LinkDrift | None = None
    rules: RuleDrift = RuleDrift()
    is_whole: bool = False

    @property
    def is_compared(self) -> bool:
        """Return whether there was anything to compare."""
        return self.links is not None or bool(self.rules.parts)

    @property
    def messages(self) -> tuple[str, ...]:
        return (*(self.links.messages if self.links else ()), *self.rules.messages)

    def error(self, netns: str) -> CniError | None:
        """Return the error of CHECK for the drift, or None if there is no drift.

        Args:
            netns: Path of the container's network namespace.
        """
        if not self.messages:
            return None
        inside, on_node = (self.links.inside, self.links.on_node) if self.links else ((), ())
        places = ((inside, f"in {netns}"), (on_node, "on the node"), (self.rules.messages, "in the node's firewall"))
        where = " and ".join(place for messages, place in places if messages)
        return CniError(Code.LIMITED_CONNECTIVITY, "; ".join(self.messages), f"looked for {where}")


def compare(record: Record, view: NodeView, store: RecordStore | None = None, *, rules: bool = True) -> AttachmentDrift:
    """Compare an attachment's record with the kernel, without running a plugin.

    Args:
        view: What the node has; one view serves all attachments of a run.
        store: Where the record is, if it may be younger than the view: then what is missing is looked for again.
        rules: Whether the node's firewall is compared.

    Returns:
        A comparison of nothing, with the reason, if a plugin would refuse its configuration.

    Raises:
        CniError: The kernel cannot be read, or the record cannot be used.
    """
    requests = RecordedRequests(record)
    try:
        links = find_link_drift(requests, view, looks_again=store is not None)
    except UnreadableConfiguration as exc:
        return AttachmentDrift(rules=RuleDrift(unlisted=f"it cannot be compared: {exc}", is_readable=False))
    if not rules:
        return AttachmentDrift(links)
    found = rule_drift.find_drift(requests, view, store)
    return AttachmentDrift(links, found, is_whole=links is not None and not found.unlisted)


def find_link_drift(requests: RecordedRequests, view: NodeView, *, looks_again: bool = True) -> LinkDrift | None:
    """Compare the links of the kernel with the state that follows from a record, without running a plugin.

    Args:
        looks_again: Whether what is missing in the view, which may be older than the record, is looked for again.

    Returns:
        None if CHECK is disabled or the result cannot be compared with the kernel.

    Raises:
        CniError: ``IO_FAILURE``; ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    state = expected_state(requests, view.lease_dir)
    if state is None:
        return None
    return comparison.compare(state, requests.record.attachment.netns, view, looks_again=looks_again)


def compare_again(
    record: Record, drift: AttachmentDrift, view: NodeView, *, links: bool, rules: bool
) -> AttachmentDrift:
    """Compare links, rules or both once more, with a view that is younger than the record.

    Raises:
        CniError: As `compare`.
    """
    if rules:
        drift = drift._replace(rules=drift.rules.compare_again(view))
    if links and drift.links is not None:
        drift = drift._replace(links=drift.links.compare_again(record.attachment.netns, view))
    return drift
