# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the firewall rules that follow from an attachment's record with the node."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import (
    RecordedRequests,
    UnreadableConfiguration,
    firewall_state,
)
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_drift
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import PartDrift
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import FirewallPart

# Seconds. The time of a file may lag behind the clock.
_CLOCK_MARGIN = 1.0


class RuleDrift(t.NamedTuple):
    """The drift of an attachment's firewall rules.

    Attributes:
        parts: The comparisons of those rules that could be listed.
        unlisted: Why some or all rules could not be compared, or an empty string.
        is_readable: Whether the record tells what the attachment has. If not, nothing of it is repaired.
    """

    parts: tuple[PartDrift, ...] = ()
    unlisted: str = ""
    is_readable: bool = True

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(message for part in self.parts for message in part.messages))

    @property
    def missing(self) -> tuple[PartDrift, ...]:
        """The parts of which something is missing."""
        return tuple(part for part in self.parts if part.missing)

    def compare_again(self, view: NodeView) -> RuleDrift:
        """Return what is missing now. What cannot be listed any more may still be missing."""
        return self._replace(parts=tuple(firewall_drift.compare(part.part, view) or part for part in self.parts))

    def without_drift(self) -> RuleDrift:
        return self._replace(parts=tuple(part._replace(missing=()) for part in self.parts))


def find_drift(requests: RecordedRequests, view: NodeView, store: RecordStore | None = None) -> RuleDrift:
    """Return which rules of an attachment are missing, without running a plugin.

    Args:
        view: What the node has.
        store: Where the record is. Rules that are missing are listed again if the record is younger than the view.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    try:
        parts = [] if requests.network.disable_check else firewall_state(requests)
    except UnreadableConfiguration as exc:
        return RuleDrift(unlisted=_explain_unlisted(exc), is_readable=False)
    drifts = _compare_parts(parts, view)
    if store is not None and any(drift.missing for drift in drifts if drift):
        changed = modification_time(store.path_of(requests.record.attachment.key))
        drifts = _compare_parts(parts, view, min(time.time(), changed + _CLOCK_MARGIN))
    unlisted = (part for part, drift in zip(parts, drifts) if drift is None)
    errors = (view.find_error(part) or firewall_drift.missing_program(part) for part in unlisted)
    return RuleDrift(tuple(filter(None, drifts)), next(map(_explain_unlisted, errors), ""))


def _compare_parts(parts: t.Iterable[FirewallPart], view: NodeView, since: float = 0.0) -> list[PartDrift | None]:
    return [firewall_drift.compare(part, view, since) for part in parts]


def _explain_unlisted(error: CniError) -> str:
    return f"its rules cannot be compared: {error}"
