# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Take the steps of a decision in order."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.checker import Checker
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import Decision, Recorded, Step
from ansible_collections.cni.node.plugins.module_utils._node.attachments.prerequisites import Prerequisites
from ansible_collections.cni.node.plugins.module_utils._node.attachments.rollback import roll_back
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    AttachmentState,
    DesiredAttachment,
)

CniResult = t.Mapping[str, t.Any]


class Transition:
    """Takes the steps of a decision in order; `Execution` makes the changes, and `Prediction` predicts them.

    The order of checks and changes is defined only here, so that check mode predicts what a run does. After an error, the
    result includes what was done before it.
    """

    def __init__(
        self,
        prerequisites: Prerequisites,
        checker: Checker,
        desired: DesiredAttachment,
        recorded: Recorded,
        decision: Decision,
    ) -> None:
        self._prerequisites = prerequisites
        self._checker = checker
        self._runtime = prerequisites.state.runtime
        self._conf_dir = prerequisites.state.conf_dir
        self._desired = desired
        self._recorded = recorded
        self._decision = decision
        self._before = self._after = AttachmentState(recorded.record.restoration) if recorded.record else None
        self._result = recorded.result if decision.step is Step.KEEP or recorded.check else None
        self._error = decision.error
        self._false_alarms: tuple[CniError, ...] = recorded.check.false_alarms if recorded.check else ()
        self._missing = desired.missing
        self._tolerated: CniError | None = None
        self._touched = False

    def carry_out(self, replacement: DesiredAttachment | None) -> AttachmentResult:
        """Take the decision's steps; an error is part of the result."""
        try:
            action = self._carry_out(replacement)
        except Exception as exc:
            action, self._error = Action.FAILED, as_error(exc)
        return AttachmentResult(
            self._desired.attachment,
            action,
            self._decision.reason,
            self._result,
            self._error,
            self._false_alarms,
            self._missing,
            self._tolerated,
            before=self._before,
            after=self._after,
            touched=self._touched,
            repairs=self._recorded.repairs,
            lacks_library=self._recorded.lacks_library,
            interrupted=self._recorded.record if self._interrupts(action) else None,
        )

    def _carry_out(self, replacement: DesiredAttachment | None) -> Action:
        step, record = self._decision.step, self._decision.record
        if step is Step.FAIL and self._error is not None:
            raise self._error
        if step is Step.ADD or record is None:
            return self._add()
        if step is Step.RECREATE:
            return self._recreate(record)
        if step is Step.REMOVE:
            return self._remove(record, replacement)
        self._update_record(record)
        self._after = AttachmentState(self._desired.restoration)
        return self._recorded.kept_action

    def _add(self) -> Action:
        self._tolerated = self._prerequisites.require_free_ports(self._desired, None)
        network = self._desired.network
        if network is not None:
            self._prerequisites.require_values(self._desired)
            self._prerequisites.require_interface_free(self._desired, self._note_missing)
            self._attach(network, is_replacement=False)
        self._after = AttachmentState(self._desired.restoration)
        return Action.ADDED

    def _recreate(self, record: Record) -> Action:
        network = self._desired.network
        self._require_possible(self._desired)  # before anything is deleted
        self._tolerated = self._prerequisites.require_free_ports(self._desired, record)
        if network is not None:
            if self._recorded.netns_change:
                self._prerequisites.require_interface_free(self._desired, self._note_missing)
            self._delete(record, self._desired)
            self._reattach(network, record)
        self._after = AttachmentState(self._desired.restoration)
        return Action.RECREATED

    def _reattach(self, network: NetworkConfiguration, record: Record) -> None:
        try:
            self._attach(network, is_replacement=True)
        except CniError as exc:
            if self._after or not self._decision.rolls_back:
                raise
            done = roll_back(record, exc, self._conf_dir, self._restore)
            if done.is_attached:
                self._after, self._result = AttachmentState(record.restoration), done.result
            raise done.error from exc

    def _remove(self, record: Record, replacement: DesiredAttachment | None) -> Action:
        if replacement is not None:
            self._require_replacement(replacement)
        self._delete(record, is_name_needed=replacement is not None)
        return Action.REMOVED

    def _interrupts(self, action: Action) -> bool:
        """Return whether an attachment that may have worked is deleted, also if it is added again."""
        deletes = self._touched or action in (Action.RECREATED, Action.REMOVED)
        return deletes and self._recorded.is_in_place

    def _require_replacement(self, replacement: DesiredAttachment) -> None:
        """Require that the attachment that gets the interface's name can be added, before this one is removed."""
        try:
            replacement = self._prerequisites.look_up_replacement(replacement)
            if replacement.network is not None:
                self._require_possible(replacement)
                self._prerequisites.require_free_ports(replacement, None)
        except CniError as exc:
            raise exc.within(f"kept because its replacement, the {replacement.attachment}, cannot be added") from exc

    def _delete(
        self, record: Record, successor: DesiredAttachment | None = None, *, is_name_needed: bool = False
    ) -> None:
        self._runtime.require_safe_plugins(record)
        self._detach(record, successor, is_name_needed=is_name_needed)
        self._after = self._result = None

    def _note_missing(self, error: CniError) -> None:
        """Raise an error; in a dry run, keep it for the result, because another task may still resolve it."""
        raise NotImplementedError

    def _require_possible(self, desired: DesiredAttachment) -> None:
        """Require the prerequisites of ADD that can be checked before DEL."""
        raise NotImplementedError

    def _attach(self, network: NetworkConfiguration, *, is_replacement: bool) -> None:
        raise NotImplementedError

    def _detach(self, record: Record, successor: DesiredAttachment | None, *, is_name_needed: bool) -> None:
        raise NotImplementedError

    def _restore(self, record: Record) -> CniResult | None:
        """Add an attachment again as recorded; return its CNI result, or None in a dry run."""
        raise NotImplementedError

    def _update_record(self, record: Record) -> None:
        raise NotImplementedError
