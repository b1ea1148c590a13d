# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The drift of an attachment's firewall rules: what the node lacks of those that follow from its record."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.recorded_state import UnreadableRules, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import PartDrift, compare
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import FirewallPart

# Seconds. The time of a file may lag behind the clock.
_CLOCK_MARGIN = 1.0


class RuleFaults(t.NamedTuple):
    """Result of comparing an attachment's firewall rules with the node.

    Attributes:
        messages: One for each missing rule.
        is_compared: Whether there was a rule to compare, and it could be.
        is_whole: Whether every expected rule was compared.
    """

    messages: tuple[str, ...]
    is_compared: bool
    is_whole: bool


class RuleDrift:
    """Compares attachments with the node's firewall.

    The rules are read once for all attachments of a run. They are read again only if rules seem to be missing and
    the record of the attachment is younger than the view.
    """

    def __init__(self, records: RecordStore, view: NodeView) -> None:
        self._records = records
        self._view = view

    def find_drift(self, record: Record, network: NetworkConfiguration) -> RuleFaults:
        """Return which rules of an attachment are missing, without running a plugin.

        Args:
            network: The configuration in the record.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
        """
        try:
            parts = [] if network.disable_check else firewall_state(record, network)
        except UnreadableRules:  # CHECK tells the reason
            return RuleFaults((), is_compared=False, is_whole=False)
        found = self._find_parts(record, parts)
        messages = dict.fromkeys(message for part in found for message in part.messages)
        return RuleFaults(tuple(messages), bool(found), len(found) == len(parts))

    def _find_parts(self, record: Record, parts: t.Sequence[FirewallPart]) -> list[PartDrift]:
        """Return the parts that could be compared."""
        found = self._compare_all(parts, 0.0)
        if any(part.missing for part in found):
            changed = modification_time(self._records.path_of(record.attachment.key))
            found = self._compare_all(parts, min(time.time(), changed + _CLOCK_MARGIN))
        return found

    def _compare_all(self, parts: t.Iterable[FirewallPart], since: float) -> list[PartDrift]:
        return [drift for drift in (compare(part, self._view, since) for part in parts) if drift is not None]
