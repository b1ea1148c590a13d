# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Bring one attachment to its desired state: read the facts, decide, and carry the decision out."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.attachments.checker import Checker
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import (
    CheckReport,
    Decision,
    Recorded,
    Step,
    decide,
    decide_again,
)
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    Check,
    DesiredAttachment,
    Policy,
)

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.execution import Execution
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.prerequisites import Prerequisites
    from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair
    from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift


class Reconciler:
    """Brings attachments to their desired state: finds the facts, decides, and carries the decision out."""

    def __init__(
        self, runtime: Runtime, conf_dir: ConfDir, policy: Policy, listed: t.Sequence[DesiredAttachment] | None = None
    ) -> None:
        """
        Args:
            listed: All attachments of the task, whose host ports must not conflict; None to check no ports.
        """
        self._runtime = runtime
        self._conf_dir = conf_dir
        self._policy = policy
        self._state = RecordedState(runtime, conf_dir)
        self._checker = Checker(runtime, policy)
        self._listed = listed
        self._loading = threading.Lock()
        self._prerequisites: Prerequisites | None = None
        self._known: dict[Key, Recorded] = {}  # what was found before the attachments were locked
        self._changed_containers: set[str] = set()
        self._execution: type[Execution] | None = None  # set by a subclass that runs ADD differently

    @property
    def compares(self) -> bool:
        """Return whether attachments that exist are compared with the kernel."""
        return self._policy.checks_existing

    def may_be_unchanged(self, desired: DesiredAttachment) -> bool:
        """Return whether `check_unchanged` may have a result for an attachment without running an executable."""
        if not desired.present or (self._policy.check == Check.ALWAYS and not self.is_built_in(desired)):
            return False
        return not self.compares or self._runtime.records.may_have(desired.attachment.key)

    def check_unchanged(self, desired: DesiredAttachment) -> AttachmentResult | None:
        """Return the result of an attachment that is as desired, or None to reconcile it (fast path).

        No lock is needed: a run that changes an attachment writes an intent first.
        """
        started = time.monotonic()
        found = self._examine_unlocked(desired, Step.COMPARE, Step.CHECK)
        if found is None:
            return None
        desired, recorded, decision = found
        is_sound = recorded.check is None or recorded.check.error is None
        if decision.step is not Step.KEEP or decision.updates_record or not is_sound:
            return None
        return _unchanged_result(desired, recorded, decision)._replace(seconds=time.monotonic() - started)

    def repair(self, desired: t.Iterable[DesiredAttachment]) -> None:
        """Repair what existing attachments have lost, before they are reconciled; in check mode, predict it.

        All of them are repaired together, because the rules of many attachments are written as fast as those of one.
        """
        if not self._policy.repairs:
            return
        lost: list[tuple[Record, AttachmentDrift]] = []
        for item in desired:
            found = self._examine_unlocked(item, Step.COMPARE)
            if found is not None:
                dummy, recorded, decision = found
                self._known[item.attachment.key] = recorded
                if decision.step is Step.REPAIR and decision.record and recorded.drift:
                    lost.append((decision.record, recorded.drift))
        for repair in self._repair(lost):
            key = repair.record.attachment.key
            self._known[key] = self._known[key]._replace(repair=repair, drift=repair.after)

    def is_repaired(self, desired: DesiredAttachment) -> bool:
        """Return whether `repair` has changed something of an attachment."""
        return bool(self._known.get(desired.attachment.key, Recorded()).repairs)

    def reconcile(self, desired: DesiredAttachment, replacement: DesiredAttachment | None = None) -> AttachmentResult:
        """Bring an attachment to its desired state; an error is part of the result.

        Args:
            replacement: The attachment that gets the interface's name after this one is removed. If it cannot be added,
                this one is kept.
        """
        started = time.monotonic()
        try:
            self._require_valid(desired)
            lock = self._runtime.exclusion.lock_attachment(desired.attachment)
            with contextlib.nullcontext() if self._policy.dry_run else lock:
                result = self._reconcile(desired, replacement)
        except Exception as exc:
            known = self._known.get(desired.attachment.key, Recorded())
            reason, error = known.explain(""), as_error(exc)
            result = AttachmentResult(desired.attachment, Action.FAILED, reason, error=error, repairs=known.repairs)
        return result._replace(seconds=time.monotonic() - started)

    def roll_back(
        self, removed: AttachmentResult, failed: AttachmentResult
    ) -> tuple[AttachmentResult, AttachmentResult]:
        """Add a removed attachment again when its replacement failed; update both results."""
        # A rare path.
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.execution import add_as_recorded
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.rollback import roll_back_removal

        def restore(record: Record) -> t.Mapping[str, t.Any] | None:
            return None if self._policy.dry_run else add_as_recorded(self._runtime, record)

        return roll_back_removal(removed, failed, self._conf_dir, restore)

    def _valid(self, desired: DesiredAttachment) -> DesiredAttachment:
        self._require_valid(desired)
        return self._with_network(desired)

    def _require_valid(self, desired: DesiredAttachment) -> None:
        if desired.problem is not None:
            raise desired.problem
        self._runtime.records.check_key(desired.attachment.require_valid().key)

    def _reconcile(self, desired: DesiredAttachment, replacement: DesiredAttachment | None) -> AttachmentResult:
        desired = self._with_network(desired)
        recorded = self._with_known(self._state.read(desired, locked=not self._policy.dry_run))
        recorded, decision = self._examine(desired, recorded, Step.COMPARE, Step.REPAIR, Step.CHECK)
        if decision.step is Step.KEEP and not decision.updates_record:
            return _unchanged_result(desired, recorded, decision)
        return self._carry_out(desired, recorded, decision, replacement)

    def _examine_unlocked(
        self, desired: DesiredAttachment, *steps: Step
    ) -> tuple[DesiredAttachment, Recorded, Decision] | None:
        """Examine an existing attachment on which no operation has begun; None for another one, and after an error.

        Returns:
            The attachment with its network's configuration, and what `_examine` returns.
        """
        if not desired.present or desired.problem is not None:
            return None
        try:
            key = desired.attachment.require_valid().key
            if self._runtime.intents.may_have(key) or not self._runtime.records.may_have(key):
                return None
            desired = self._with_network(desired)
            return (desired, *self._examine(desired, self._state.read(desired, locked=False), *steps))
        except Exception:  # reconcile() reports the error
            return None

    def _examine(self, desired: DesiredAttachment, recorded: Recorded, *steps: Step) -> tuple[Recorded, Decision]:
        """Find out what a decision depends on, as long as its next step is one of some steps.

        Returns:
            The facts, and the decision that follows from them.
        """
        decision = decide(recorded, desired, self._policy)
        while decision.step in steps and decision.record is not None:
            recorded = self._find_out(decision.step, recorded, decision.record)
            decision = decide_again(recorded, decision.record, desired, self._policy)
        return recorded, decision

    def _find_out(self, step: Step, recorded: Recorded, record: Record) -> Recorded:
        """Take a step that adds a fact about an attachment.

        Args:
            record: Its record, with the operations that the network disables now.
        """
        if step is Step.COMPARE or recorded.drift is None:
            if record.attachment.container_id in self._changed_containers:
                self._checker.forget_node()
            try:
                return recorded._replace(drift=self._checker.compare(record))
            except CniError as exc:
                return recorded._replace(check=CheckReport(error=exc, reason=str(exc)))
        if step is Step.REPAIR:
            (repair,) = self._repair([(record, recorded.drift)])
            repaired = recorded._replace(repair=repair, drift=repair.after)
            self._known[record.attachment.key] = repaired  # an error must not hide what was repaired
            return repaired
        if self._policy.dry_run and recorded.repairs and not recorded.drift.messages:
            return recorded._replace(check=CheckReport(checked=True))  # the plugins would find what is not yet repaired
        return recorded._replace(check=self._checker.check_existing(record, recorded.drift))

    def _with_known(self, recorded: Recorded) -> Recorded:
        """Return facts with what was found before the attachment was locked. Drift without a lock is not evidence.

        DEL of plugins that are executables also removes rules that other attachments of the container need.
        """
        attachment = recorded.record.attachment if recorded.record else None
        known = self._known.get(attachment.key) if attachment else None
        if attachment is None or known is None:
            return recorded
        is_same = known._replace(drift=None, repair=None) == recorded
        has_drift = known.drift is None or bool(known.drift.messages)
        holds = is_same and not has_drift and attachment.container_id not in self._changed_containers
        return recorded._replace(drift=known.drift if holds else None, repair=known.repair)

    def _repair(self, lost: t.Sequence[tuple[Record, AttachmentDrift]]) -> list[Repair]:
        """Repair attachments that were compared; in a dry run, predict the results."""
        if not lost:
            return []
        # A converged run does not load it.
        from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Resource, Target
        from ansible_collections.cni.node.plugins.module_utils._node.repair.repairer import Repairer

        runtime = self._runtime
        repairer = Repairer(
            runtime.exclusion.timeout,
            runtime.exclusion.directory,
            runtime.paths.lease_dir,
            self._is_attached,
            dry_run=self._policy.dry_run,
        )
        repairs = repairer.repair([Target(record, frozenset(Resource), drift) for record, drift in lost])
        self._checker.forget_node()
        return repairs

    def _is_attached(self, record: Record) -> bool:
        key = record.attachment.key
        return self._runtime.records.may_have(key) and not self._runtime.intents.may_have(key)

    def _carry_out(
        self,
        desired: DesiredAttachment,
        recorded: Recorded,
        decision: Decision,
        replacement: DesiredAttachment | None,
    ) -> AttachmentResult:
        """Carry out a decision, or predict its result in a dry run. A converged run does not load the modules for it."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.prerequisites import Prerequisites

        with self._loading:  # one object for all attachments, because it reads the node's ports once
            tools = self._prerequisites or Prerequisites(self._state, self._policy, self._listed, self._valid)
            self._prerequisites = tools
        if self._policy.dry_run:
            from ansible_collections.cni.node.plugins.module_utils._node.attachments.execution import Prediction

            return Prediction(tools, self._checker, desired, recorded, decision).carry_out(replacement)
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.execution import Execution

        self._changed_containers.add(desired.attachment.container_id)
        execution = self._execution or Execution
        return execution(tools, self._checker, desired, recorded, decision).carry_out(replacement)

    def _with_network(self, desired: DesiredAttachment) -> DesiredAttachment:
        """Return the desired attachment with its network's configuration, or with `problem` or `missing`."""
        if not desired.present:
            return desired
        attachment = desired.attachment
        try:
            return desired._replace(network=self._network(attachment))
        except CniError as exc:
            is_known = attachment.network in self._conf_dir.networks
            if os.path.exists(attachment.netns) and is_known:
                return desired._replace(problem=exc)
            is_planned = is_known and attachment.netns in self._policy.planned_netns
            return desired._replace(missing=None if is_planned else exc)

    def is_built_in(self, desired: DesiredAttachment) -> bool:
        """Return whether built-in plugins will probably do all work for an attachment."""
        network = self._find_network(desired)
        return network is not None and self._runtime.is_builtin(network)

    def networks_to_change(self, desired: t.Iterable[DesiredAttachment]) -> list[NetworkConfiguration]:
        """Return the networks whose plugins will run, as far as that is known without reading records."""
        records = self._runtime.records
        changing = (item for item in desired if not item.present or not records.may_have(item.attachment.key))
        found = {item.attachment.network: self._find_network(item) for item in changing}
        return [network for network in found.values() if network is not None]

    def _find_network(self, desired: DesiredAttachment) -> NetworkConfiguration | None:
        return self._conf_dir.networks.get(desired.attachment.network)

    def _network(self, attachment: Attachment) -> NetworkConfiguration:
        """Return the network's configuration.

        Raises:
            CniError: The network or the network namespace does not exist.
        """
        network = self._conf_dir.get(attachment.network)
        netns.require_foreign(attachment.netns)
        return network


def _unchanged_result(desired: DesiredAttachment, recorded: Recorded, decision: Decision) -> AttachmentResult:
    """Return the result of an attachment for which nothing is left to do."""
    missing = desired.missing.with_detail(f"the {desired.attachment} is kept as recorded") if desired.missing else None
    return AttachmentResult(
        desired.attachment,
        recorded.kept_action,
        decision.reason,
        recorded.result,
        decision.error,
        recorded.check.false_alarms if recorded.check else (),
        missing,
        before=recorded.state,
        after=recorded.state,
        repairs=recorded.repairs,
        lacks_library=recorded.lacks_library,
    )
