# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import interface_drift
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_drift import RuleDrift
from ansible_collections.cni.node.plugins.module_utils._reference.interface_drift import LinkDrift


class AttachmentDrift(t.NamedTuple):
    """What of an attachment is no longer in the kernel as its record has it.

    Attributes:
        links: In the container's network namespace and among the node's links.
        rules: In the node's firewall.
    """

    links: LinkDrift
    rules: tuple[str, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        return (*self.links.inside, *self.links.on_node, *self.rules)

    def places(self, netns: str) -> str:
        """Return where was looked for what is missing."""
        links = self.links
        places = ((links.inside, f"in {netns}"), (links.on_node, "on the node"), (self.rules, "in the node's firewall"))
        return " and ".join(place for faults, place in places if faults)


def compare(record: Record, rules: RuleDrift | None) -> AttachmentDrift | None:
    """Compare an attachment with the kernel; no plugin is run.

    Args:
        rules: What looks at the node's firewall, or None where that is not looked at.

    Returns:
        None where the record does not tell what the kernel is to have.

    Raises:
        CniError: What keeps from looking, or a record that cannot be used.
    """
    network = record.network()
    links, lost = interface_drift.drift(record, network), rules.of(record, network) if rules else None
    return None if links is None and lost is None else AttachmentDrift(links or LinkDrift((), ()), lost or ())


__all__ = ("AttachmentDrift", "compare")
