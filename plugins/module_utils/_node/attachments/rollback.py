# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Roll back: add a removed attachment again as recorded when its replacement cannot be added."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    AttachmentState,
)

CniResult = t.Mapping[str, t.Any]
Restore = t.Callable[[Record], t.Optional[CniResult]]


class RollBack(t.NamedTuple):
    """Result of a roll-back.

    Attributes:
        error: Why the replacement failed, and whether the removed attachment was added again.
        is_attached: Whether the removed attachment exists again.
        result: Its CNI result; None in a dry run.
    """

    error: CniError
    is_attached: bool
    result: CniResult | None = None


def roll_back(record: Record, failure: CniError, conf_dir: ConfDir, restore: Restore) -> RollBack:
    """Add a removed attachment again.

    Args:
        failure: Why its replacement could not be added.
        restore: Adds the attachment; returns its CNI result, or None in a dry run.
    """
    result, is_attached = None, False
    try:
        result, is_attached = restore(record), True
        outcome = f"rolled back: the {record.attachment} has been added again as it was before"
    except Exception as exc:
        outcome = f"the {record.attachment} could not be added again as it was before: {as_error(exc)}"
    advice = "; ".join(filter(None, (outcome, _configuration_hint(record, conf_dir))))
    return RollBack(failure.with_detail(advice), is_attached, result)


def roll_back_removal(
    removed: AttachmentResult, failed: AttachmentResult, conf_dir: ConfDir, restore: Restore
) -> tuple[AttachmentResult, AttachmentResult]:
    """Add a removed attachment again when its replacement, of another network, failed; update both results."""
    if removed.removed_record is None or failed.error is None:
        return removed, failed
    record = removed.removed_record
    outcome = roll_back(record, failed.error, conf_dir, restore)
    rolled_back = removed._replace(
        action=Action.RECREATED if outcome.is_attached else Action.REMOVED,
        reason=f"its replacement, the {failed.attachment}, could not be added",
        result=outcome.result,
        after=AttachmentState(record.restoration) if outcome.is_attached else None,
    )
    return rolled_back, failed._replace(error=outcome.error)


def _configuration_hint(record: Record, conf_dir: ConfDir) -> str:
    """Return a hint that the network's file has another configuration than the attachment, or an empty string."""
    current = conf_dir.networks.get(record.attachment.network)
    if current is None or current == record.network():
        return ""
    return f"{current.source} has the configuration that could not be attached: correct it, and run again"
