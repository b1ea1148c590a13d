# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide what to do about one attachment, from facts alone: nothing is read, run or written here."""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentState,
    DesiredAttachment,
    OnDrift,
    Policy,
)

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair
    from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift

NETNS_REPLACED = "its network namespace has been replaced"
NETWORK_CHANGED = "the network's configuration has changed"
_ARGS_CHANGED = "its arguments have changed"
_CAPABILITY_ARGS_CHANGED = "its capability arguments have changed"
_CONFIG_ARGS_CHANGED = "its arguments for args.cni have changed"
# Reasons to recreate an attachment without drift.
REQUEST_CHANGED = frozenset((NETWORK_CHANGED, _ARGS_CHANGED, _CAPABILITY_ARGS_CHANGED, _CONFIG_ARGS_CHANGED))

# Errors of a check that are not evidence of drift: recreating the attachment would not help.
_NO_EVIDENCE = (Code.INCOMPATIBLE_VERSION, Code.IO_FAILURE, Code.TRY_AGAIN, Code.NOT_AVAILABLE)


class Step(enum.Enum):
    """A kind of work on an attachment. After the first three, the decision is made again with what was found."""

    COMPARE = "compare"
    REPAIR = "repair"
    CHECK = "check"
    KEEP = "keep"
    ADD = "add"
    RECREATE = "recreate"
    REMOVE = "remove"
    FAIL = "fail"


class CheckReport(t.NamedTuple):
    """Result of checking an attachment.

    Attributes:
        checked: Whether the kernel was compared or a plugin ran CHECK.
        error: Drift, or an error that prevented the check; None if everything is as recorded.
        reason: The error, with its source.
        false_alarms: Errors of CHECK that are known to be wrong.
    """

    checked: bool = False
    error: CniError | None = None
    reason: str = ""
    false_alarms: tuple[CniError, ...] = ()


class Recorded(t.NamedTuple):
    """Facts about an attachment: its record, and what the node has of it now.

    Attributes:
        record: Its record, or the intent of an operation that was not completed.
        defect: Why the attachment has to be recreated without a check, or an empty string.
        netns_change: How the attachment's network namespace differs from the recorded one, or an empty string.
        drift: The kernel compared with the record; None before, and if it has to be compared again.
        repair: Result of the repair; None if none was tried.
        check: Result of the check; None before it.
    """

    record: Record | None = None
    defect: str = ""
    netns_change: str = ""
    drift: AttachmentDrift | None = None
    repair: Repair | None = None
    check: CheckReport | None = None

    @property
    def state(self) -> AttachmentState | None:
        return AttachmentState(self.record.restoration) if self.record else None

    @property
    def result(self) -> t.Mapping[str, t.Any] | None:
        """The recorded CNI result."""
        return self.record.result.keys if self.record and self.record.result else None

    @property
    def kept_action(self) -> Action:
        """The action to report for an attachment that is kept."""
        if self.repairs:
            return Action.REPAIRED
        return Action.CHECKED if self.check and (self.check.checked or self.check.error) else Action.UNCHANGED

    @property
    def repairs(self) -> tuple[str, ...]:
        """Commands that were run to repair it in place."""
        return self.repair.changes if self.repair else ()

    @property
    def lacks_library(self) -> bool:
        return self.repair is not None and self.repair.lacks_library

    def explain(self, reason: str) -> str:
        """Return a reason, after the drift that was repaired."""
        repaired = self.repair.repaired if self.repair else ()
        return "; ".join(dict.fromkeys(filter(None, (*repaired, reason))))

    @property
    def is_in_place(self) -> bool:
        """Return whether the attachment is complete, not being deleted, and its network namespace exists."""
        record = self.record
        return record is not None and record.result is not None and not record.command and not self.netns_change


class Decision(t.NamedTuple):
    """The next step for an attachment, and the reason.

    Attributes:
        record: The record to keep, check or delete.
        error: Why the item fails; with `KEEP`, drift that is only reported.
        updates_record: Whether the record has to be written although no plugin runs.
        rolls_back: Whether the attachment is added again as recorded if its replacement cannot be added.
    """

    step: Step
    reason: str = ""
    record: Record | None = None
    error: CniError | None = None
    updates_record: bool = False
    rolls_back: bool = False


def decide(recorded: Recorded, desired: DesiredAttachment, policy: Policy) -> Decision:
    """Return the next step; after `COMPARE`, `REPAIR` and `CHECK`, call `decide_again` with the facts that they add."""
    record = recorded.record
    if not desired.present:
        return Decision(Step.REMOVE if record else Step.KEEP, recorded.defect, record)
    if record is not None and desired.problem is None and _needs_no_file(recorded, record, desired):
        return _decide_in_place(recorded, record, record, desired, policy)
    obstacle = desired.problem or (None if policy.dry_run else desired.missing)
    if obstacle is not None:
        return Decision(Step.FAIL, recorded.defect, record, obstacle)
    if record is None:
        return Decision(Step.ADD, recorded.defect)
    if desired.network is None:
        # An earlier task of the real run creates the network namespace that is gone.
        return Decision(Step.RECREATE, recorded.defect or (recorded.netns_change and NETNS_REPLACED), record)
    reason = recorded.defect or recorded.netns_change or _changed_request(record, desired.network, desired.attachment)
    if reason:
        rolls_back = request_changed_in_place(recorded, desired.network, desired.attachment)
        return Decision(Step.RECREATE, reason, record, rolls_back=rolls_back)
    return _decide_in_place(recorded, record, with_current_config(record, desired.network), desired, policy)


def decide_again(recorded: Recorded, kept: Record, desired: DesiredAttachment, policy: Policy) -> Decision:
    """Return the next step after `COMPARE`, `REPAIR` or `CHECK`, which have added facts to an attachment as requested.

    Args:
        kept: The record of the decision before.
    """
    return _decide_in_place(recorded, recorded.record or kept, kept, desired, policy)


def _decide_in_place(
    recorded: Recorded, record: Record, kept: Record, desired: DesiredAttachment, policy: Policy
) -> Decision:
    """Decide on an attachment that matches the request; `kept` is its record with the current configuration."""
    updates = kept is not record or record.restoration != desired.restoration
    report, repair = recorded.check, recorded.repair
    if repair is not None and repair.is_deferred:  # it would be recreated without need
        error = repair.error or CniError(Code.TRY_AGAIN, repair.reason, "run the task again")
        return Decision(Step.FAIL, "", kept, error)
    if report is None:
        return Decision(_step_to_know_more(recorded, policy), "", kept, updates_record=updates)
    reason = recorded.explain(report.reason)
    if report.error is None or policy.on_drift == OnDrift.REPORT:
        return Decision(Step.KEEP, reason, kept, report.error, updates_record=updates)
    error = report.error
    if repair is not None and repair.rules_error is not None:
        # Recreating it would end its connections, and fail in the same way.
        error = CniError(Code.IO_FAILURE, "its rules could not be repaired", str(repair.rules_error))
    if error.code in _NO_EVIDENCE:
        error = error.with_detail("kept as it is, because this error is not evidence of drift")
        return Decision(Step.FAIL, reason, kept, error)
    if record.failed_check == error.msg:
        advice = "kept as it is, because CHECK failed in this way right after ADD; if that was right, remove it first"
        return Decision(Step.FAIL, reason, kept, error.with_detail(advice))
    if policy.on_drift == OnDrift.FAIL:
        return Decision(Step.FAIL, reason, kept, error)
    if desired.missing is not None and not policy.dry_run:
        error = error.with_detail(f"it cannot be recreated: {desired.missing}")
        return Decision(Step.FAIL, reason, kept, error)
    return Decision(Step.RECREATE, reason, record)


def _step_to_know_more(recorded: Recorded, policy: Policy) -> Step:
    """Return the step for an attachment that matches the request and was not checked."""
    if not policy.checks_existing:
        return Step.KEEP
    if recorded.drift is None:
        return Step.COMPARE
    is_repairable = recorded.drift.messages and policy.repairs and recorded.repair is None
    return Step.REPAIR if is_repairable else Step.CHECK


def _needs_no_file(recorded: Recorded, record: Record, desired: DesiredAttachment) -> bool:
    """Return whether only the network's file is missing: the record has what CHECK needs."""
    if desired.missing is None or recorded.defect or not recorded.is_in_place:
        return False
    return not _changed_request(record, record.network(), desired.attachment)


def request_changed_in_place(recorded: Recorded, network: NetworkConfiguration, attachment: Attachment) -> bool:
    """Return whether only the requested configuration or arguments changed."""
    record = recorded.record
    return record is not None and recorded.is_in_place and bool(_changed_request(record, network, attachment))


def with_current_config(record: Record, network: NetworkConfiguration) -> Record:
    """Return the record, with the network's current configuration if its disabled operations have changed.

    Plugins do not get the keys that disable operations, so the attachment is not recreated.
    """
    if record.network().disabled_operations == network.disabled_operations:
        return record
    return record._replace(config=network.content)


def _changed_request(record: Record, network: NetworkConfiguration, attachment: Attachment) -> str:
    """Return which part of the request differs from the record, as a clause, or an empty string."""
    recorded = record.attachment
    if record.config != network.content and record.network() != network:
        return NETWORK_CHANGED
    if dict(recorded.args) != dict(attachment.args):
        return _ARGS_CHANGED
    if not _is_same_request(recorded.capability_args, attachment.capability_args):
        return _CAPABILITY_ARGS_CHANGED
    if not json_text.is_same(recorded.config_args, attachment.config_args):
        return _CONFIG_ARGS_CHANGED
    return ""


def _is_same_request(recorded: t.Mapping[str, t.Any], desired: t.Mapping[str, t.Any]) -> bool:
    """Return whether plugins get the same capability arguments; other runtimes may record them in another form."""
    if json_text.is_same(recorded, desired):
        return True
    # Loaded only where there is a difference.
    from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import normalize_capability_args

    return json_text.is_same(normalize_capability_args(recorded), normalize_capability_args(desired))
