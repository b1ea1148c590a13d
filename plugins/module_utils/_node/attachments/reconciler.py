# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import os
import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.attachments.checker import Checker
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    AttachmentState,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import (
    is_to_be_repeated,
    require_no_panic,
    with_advice,
)

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.host_ports import HostPorts

_REPETITIONS: t.Final = 3


class Reconciler:
    """Brings one attachment at a time to what is wanted, by facts and not by memory."""

    def __init__(
        self, runtime: Runtime, conf_dir: ConfDir, policy: Policy, listed: t.Sequence[DesiredAttachment] | None = None
    ) -> None:
        """
        Args:
            listed: All that the task wants, for whose new ports of the node others are looked for; None to look for none.
        """
        self._runtime = runtime
        self._conf_dir = conf_dir
        self._policy = policy
        self._known = RecordedState(runtime, conf_dir)
        self._checker = Checker(runtime, policy)
        self._listed = listed
        self._ports: HostPorts | None = None
        self._reading_ports = threading.Lock()

    def check_unchanged(self, one: DesiredAttachment) -> AttachmentResult | None:
        """Return the outcome where all is as wanted and no plugin is to be asked; else nothing is known yet.

        It needs no lock: whoever changes an attachment writes an intent first.
        """
        if not one.present or one.problem is not None or self._policy.check == "always":
            return None
        started = time.monotonic()
        try:
            if self._runtime.intents.may_have(one.attachment.require_valid().key):
                return None
            record, reason = self._known.read(one.attachment, locked=False)
            if record is None or reason or record.restoration != one.restoration:
                return None
            network = self._required(one.attachment)
            if self._known.difference(record, network, one.attachment):
                return None
            if self._known.with_current_config(record, network) is not record:
                return None
            looked = self._checker.kernel_matches(record)
        except Exception:  # whoever looks closer tells what is wrong
            return None
        return AttachmentResult(
            one.attachment,
            action="checked" if looked else "unchanged",
            result=record.result.keys if record.result else None,
            before=AttachmentState(record.restoration),
            after=AttachmentState(record.restoration),
            seconds=time.monotonic() - started,
        )

    def reconcile(self, one: DesiredAttachment, replacement: DesiredAttachment | None = None) -> AttachmentResult:
        """Do what there is to be done; an error is part of the outcome.

        Args:
            replacement: What is to have the interface's name, where this is to be removed; it stays where that cannot be.
        """
        outcome = AttachmentResult(one.attachment)
        started = time.monotonic()
        try:
            self._require_sound(one)
            if self._policy.dry_run:
                self._decide(one, replacement, outcome)
            else:
                with self._runtime.exclusion.lock_attachment(one.attachment):
                    self._decide(one, replacement, outcome)
        except Exception as exc:
            outcome.action, outcome.error = "failed", as_error(exc)
        outcome.seconds = time.monotonic() - started
        return outcome

    def roll_back(self, left: AttachmentResult, failed: AttachmentResult) -> None:
        """Attach again what has been removed for something that has failed; both outcomes are set right."""
        if left.removed_record is not None and failed.error is not None:
            failed.error = self._put_back(left.removed_record, failed.error, left)
            left.reason = f"the {failed.attachment} could not take its place"
            left.action = "recreated" if left.after else "removed"

    def _require_sound(self, one: DesiredAttachment) -> None:
        """Raise what is wrong with how it was asked for."""
        if one.problem is not None:
            raise one.problem
        self._runtime.records.check_key(one.attachment.require_valid().key)

    def _decide(self, one: DesiredAttachment, replacement: DesiredAttachment | None, outcome: AttachmentResult) -> None:
        record, outcome.reason = self._known.read(one.attachment, locked=not self._policy.dry_run)
        outcome.before = outcome.after = AttachmentState(record.restoration) if record else None
        if not one.present:
            self._remove(record, replacement, outcome)
            return
        network = self._required_or_awaited(outcome)
        if record is None or network is None:
            self._require_free_ports(network, outcome, record)
            if network is not None:
                self._require_values(network, one.attachment)
                self._require_free(network, outcome)
            self._add(network, one, outcome, "recreated" if record else "added")
            return
        outcome.reason = outcome.reason or self._known.difference(record, network, one.attachment)
        kept = record if outcome.reason else self._known.with_current_config(record, network)
        if not outcome.reason:
            outcome.result = record.result.keys if record.result else None
            self._checker.of_existing(kept, outcome)
        if outcome.reason and outcome.action == "unchanged":
            self._make_anew(record, network, one, outcome)
        elif kept is not record or record.restoration != one.restoration:
            self._note(kept, one, outcome)

    def _make_anew(
        self, record: Record, network: NetworkConfiguration, one: DesiredAttachment, outcome: AttachmentResult
    ) -> None:
        self._require_possible(network, one.attachment)  # while nothing has been taken away yet
        self._require_free_ports(network, outcome, record)
        if self._known.other_namespace(record, one.attachment):
            self._require_free(network, outcome)
        request_changed_in_place = self._known.request_changed_in_place(record, network, one.attachment)
        self._delete(record, outcome, one)
        try:
            self._add(network, one, outcome, "recreated")
        except CniError as exc:
            if outcome.after or not request_changed_in_place:
                raise
            raise self._put_back(record, exc, outcome) from exc

    def _put_back(self, record: Record, failure: CniError, outcome: AttachmentResult) -> CniError:
        """Attach as it was before; return what is to be said of the failure then."""
        try:
            if not self._policy.dry_run:
                result = self._attach_once(record.network(), record.attachment, record.restoration, again=True)
                outcome.result = result.keys
            said = f"the {record.attachment} has been put back as it was before"
            outcome.after = AttachmentState(record.restoration)
        except Exception as exc:
            said = f"the {record.attachment} could not be put back as it was before either: {as_error(exc)}"
        return failure.with_detail("; ".join(filter(None, (said, self._disagreement(record)))))

    def _disagreement(self, record: Record) -> str:
        """Say that the file of an attachment's network has another configuration than the attachment, or nothing."""
        current = self._conf_dir.networks.get(record.attachment.network)
        if current is None or current == record.network():
            return ""
        return f"{current.source} has the configuration that could not be attached: correct it, and run again"

    def _required(self, attachment: Attachment) -> NetworkConfiguration:
        """Return the network's configuration where both it and the namespace are there."""
        network = self._conf_dir.get(attachment.network)
        netns.require_foreign(attachment.netns)
        return network

    def _required_or_awaited(self, outcome: AttachmentResult) -> NetworkConfiguration | None:
        """Return the same, or nothing in a dry run where another task may be about to make what is missing."""
        attachment = outcome.attachment
        try:
            return self._required(attachment)
        except CniError as exc:
            is_there = os.path.exists(attachment.netns) and attachment.network in self._conf_dir.networks
            if is_there or not self._policy.dry_run:
                raise
            outcome.missing_prerequisite = exc
            return None

    def _require_possible(self, network: NetworkConfiguration, attachment: Attachment) -> None:
        """Raise what keeps ADD from being begun; in a dry run, another task may be about to install a plugin."""
        self._require_values(network, attachment)
        if not self._policy.dry_run:
            self._runtime.require_plugins(network)

    def _require_values(self, network: NetworkConfiguration, attachment: Attachment) -> None:
        if attachment.capability_args:
            from ansible_collections.cni.node.plugins.module_utils._cni.capability_values import check_values

            check_values(network, attachment.capability_args)
        if attachment.config_args:
            from ansible_collections.cni.node.plugins.module_utils._cni.config_args import check_config_args

            check_config_args(attachment.config_args)
        require_no_panic(network, attachment.config_args)

    def _require_free(self, network: NetworkConfiguration, outcome: AttachmentResult) -> None:
        """Raise who has the interface; in a dry run, another task may be about to take it away."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.conflicts import require_interface_free

        try:
            require_interface_free(self._known, network, outcome.attachment)
        except CniError as exc:
            if not self._policy.dry_run:
                raise
            outcome.missing_prerequisite = exc

    def _require_free_ports(
        self, network: NetworkConfiguration | None, outcome: AttachmentResult, record: Record | None = None
    ) -> None:
        """Raise who has a port of the node that is to be mapped anew; a dry run says the same.

        Args:
            network: None where something is missing for now, and only the network's file may be there.
        """
        attachment = outcome.attachment
        network = network or self._conf_dir.networks.get(attachment.network)
        if network is None or self._listed is None or not attachment.capability_args.get("portMappings"):
            return
        mapped, in_use = self._host_ports(self._listed).find_conflicts(network, attachment, record)
        conflict = mapped or (None if self._policy.allow_ports_in_use else in_use)
        if conflict is not None:
            raise conflict
        outcome.tolerated = in_use

    def _host_ports(self, listed: t.Sequence[DesiredAttachment]) -> HostPorts:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.host_ports import HostPorts

        with self._reading_ports:
            self._ports = self._ports or HostPorts(self._runtime, self._conf_dir, listed)
        return self._ports

    def _note(self, record: Record, one: DesiredAttachment, outcome: AttachmentResult) -> None:
        """Record what has no need of a plugin: whether it is restored after a reboot, what its network forbids."""
        if not self._policy.dry_run:
            identity = record.netns_identity or netns_identity(record.attachment.netns)  # other runtimes keep none
            noted = dataclasses.replace(record, restoration=one.restoration, netns_identity=identity)
            self._runtime.records.write(noted)
        outcome.after = AttachmentState(one.restoration)

    def _add(
        self, network: NetworkConfiguration | None, one: DesiredAttachment, outcome: AttachmentResult, action: str
    ) -> None:
        if network is not None:
            if self._policy.dry_run:
                self._check_prerequisites(network, outcome)
            else:
                self._carry_out(network, one, outcome, again=action == "recreated")
        outcome.action, outcome.after = action, AttachmentState(one.restoration)

    def _carry_out(
        self, network: NetworkConfiguration, one: DesiredAttachment, outcome: AttachmentResult, *, again: bool
    ) -> None:
        outcome.result = self._attach(network, one, again=again).keys
        outcome.touched, outcome.after = True, AttachmentState(one.restoration)
        if self._policy.check != "never":
            # What a plugin says that it has just made is believed once; made anew, it has to be found.
            self._checker.of_new(outcome, rules=again)

    def _attach(self, network: NetworkConfiguration, one: DesiredAttachment, *, again: bool) -> Result:
        for _failed in range(_REPETITIONS):
            try:
                return self._attach_once(network, one.attachment, one.restoration, again=again)
            except CniError as exc:
                if not is_to_be_repeated(exc):
                    raise with_advice(exc) from None
        return self._attach_once(network, one.attachment, one.restoration, again=again)

    def _attach_once(
        self, network: NetworkConfiguration, attachment: Attachment, restoration: Restoration | None, *, again: bool
    ) -> Result:
        def clean_up(error: CniError | None) -> bool:
            from ansible_collections.cni.node.plugins.module_utils._node.attachments import teardown

            return teardown.clean_up(self._runtime, Record(attachment, network.content), error)

        return self._runtime.add(network, attachment, restoration, again=again, clean_up=clean_up)

    def _check_prerequisites(self, network: NetworkConfiguration, outcome: AttachmentResult) -> None:
        try:
            self._runtime.require_plugins(network)
        except UnsafePlugin:
            raise
        except CniError as exc:
            outcome.missing_prerequisite = exc

    def _remove(self, record: Record | None, replacement: DesiredAttachment | None, outcome: AttachmentResult) -> None:
        if record is None:
            return
        if replacement:
            self._require_replacement(replacement)
        left = record if self._known.is_in_place(record, record.attachment) else None
        self._delete(record, outcome, is_name_needed=replacement is not None)
        if self._policy.dry_run:
            self._known.removed.add(record.attachment.key)
        outcome.action, outcome.removed_record = "removed", left

    def _require_replacement(self, replacement: DesiredAttachment) -> None:
        try:
            self._require_sound(replacement)
            network = self._required_or_awaited(AttachmentResult(replacement.attachment))
            if network is not None:
                self._require_possible(network, replacement.attachment)
                self._require_free_ports(network, AttachmentResult(replacement.attachment))
        except CniError as exc:
            raise exc.within(f"it stays, for the {replacement.attachment} cannot take its place") from exc

    def _delete(
        self,
        record: Record,
        outcome: AttachmentResult,
        successor: DesiredAttachment | None = None,
        *,
        is_name_needed: bool = False,
    ) -> None:
        self._runtime.require_safe_plugins(record)
        if self._policy.dry_run:
            self._require_link(record, is_name_needed=is_name_needed or successor is not None)
        else:
            try:
                self._detach(record, successor, is_name_needed=is_name_needed)
            except CniError:
                outcome.touched = self._runtime.intents.may_have(record.attachment.key)
                raise
            outcome.touched = True
        outcome.after = outcome.result = None

    def _detach(self, record: Record, successor: DesiredAttachment | None, *, is_name_needed: bool) -> None:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.teardown import detach

        detach(self._runtime, self._conf_dir, record, successor, is_name_needed=is_name_needed)

    def _require_link(self, record: Record, *, is_name_needed: bool) -> None:
        """Raise what keeps DEL from removing the link of an attachment."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import prepare

        prepare(record, is_name_needed=is_name_needed)


__all__ = ("Reconciler",)
