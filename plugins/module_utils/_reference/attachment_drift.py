# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare an attachment's record with the kernel: its links, then its firewall rules."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import interface_drift
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import RuleDrift, RuleFaults
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift


class AttachmentDrift(t.NamedTuple):
    """Differences between an attachment's record and the kernel.

    Attributes:
        links: Drift in the container's network namespace and of the node's links.
        rules: Messages about missing rules in the node's firewall.
        is_whole: Whether everything was compared that the plugins have made.
    """

    links: LinkDrift
    rules: tuple[str, ...]
    is_whole: bool

    @property
    def faults(self) -> tuple[str, ...]:
        return (*self.links.messages, *self.rules)

    def places(self, netns: str) -> str:
        """Return the places in which something is missing, as a phrase."""
        links = self.links
        places = ((links.inside, f"in {netns}"), (links.on_node, "on the node"), (self.rules, "in the node's firewall"))
        return " and ".join(place for faults, place in places if faults)


def compare(record: Record, rules: RuleDrift | None, view: NodeView) -> AttachmentDrift | None:
    """Compare an attachment's record with the kernel, without running a plugin.

    Args:
        view: What the node has; one view serves all attachments of a run.
        rules: Compares the node's firewall; None skips it.

    Returns:
        None if the record has nothing that can be compared.

    Raises:
        CniError: The kernel cannot be read, or the record cannot be used.
    """
    network = record.network()
    links = interface_drift.find_drift(record, network, view)
    faults = rules.find_drift(record, network) if rules else RuleFaults((), is_compared=False, is_whole=False)
    if links is None and not faults.is_compared:
        return None
    return AttachmentDrift(links or LinkDrift((), ()), faults.messages, links is not None and faults.is_whole)
