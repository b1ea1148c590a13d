# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Carry out the steps of a decision, or predict their result in check mode."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.transition import CniResult, Transition
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentState,
    Check,
    DesiredAttachment,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import recorded_directories
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import should_repeat_add, with_advice

_REPETITIONS = 3


class Execution(Transition):
    """Makes the changes that were decided: runs ADD and DEL, and writes records."""

    def _attach(self, network: NetworkConfiguration, *, is_replacement: bool) -> None:
        self._result = self._add_repeatedly(network, is_replacement=is_replacement).keys
        self._touched, self._after = True, AttachmentState(self._desired.restoration)
        if self._prerequisites.policy.check != Check.NEVER:
            # After a first ADD, the plugin is trusted to have made its rules; after a repeated one, they are compared.
            report = self._checker.check_new(self._desired.attachment, rules=is_replacement)
            self._error, self._false_alarms = report.error, report.false_alarms

    def _add_repeatedly(self, network: NetworkConfiguration, *, is_replacement: bool) -> Result:
        for _failed in range(_REPETITIONS):
            try:
                return self._add_once(network, is_replacement)
            except CniError as exc:
                if not should_repeat_add(exc):
                    raise with_advice(exc) from None
        return self._add_once(network, is_replacement)

    def _add_once(self, network: NetworkConfiguration, is_replacement: bool) -> Result:
        return add(
            self._runtime, network, self._desired.attachment, self._desired.restoration, is_replacement=is_replacement
        )

    def _detach(self, record: Record, successor: DesiredAttachment | None, *, is_name_needed: bool) -> None:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.teardown import detach

        try:
            detach(self._runtime, self._conf_dir, record, successor, is_name_needed=is_name_needed)
        except CniError:
            self._touched = self._runtime.intents.may_have(record.attachment.key)
            raise
        self._touched = True

    def _restore(self, record: Record) -> CniResult:
        return add_as_recorded(self._runtime, record)

    def _update_record(self, record: Record) -> None:
        identity = record.netns_identity or netns_identity(record.attachment.netns)  # other runtimes keep none
        restoration = self._desired.restoration
        self._runtime.records.write(record._replace(restoration=restoration, netns_identity=identity))

    def _require_possible(self, desired: DesiredAttachment) -> None:
        self._prerequisites.require_values(desired)
        if desired.network is not None:
            self._runtime.require_plugins(desired.network)

    def _note_missing(self, error: CniError) -> None:
        raise error


def add(
    runtime: Runtime,
    network: NetworkConfiguration,
    attachment: Attachment,
    restoration: Restoration | None,
    *,
    is_replacement: bool,
) -> Result:
    """Run ADD once; if it fails, remove the leaks of the DEL that follows. The arguments are those of `Runtime.add`."""

    def clean_up(error: CniError | None) -> bool:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments import teardown

        return teardown.clean_up(runtime, Record(attachment, network.content), error)

    return runtime.add(network, attachment, restoration, is_replacement=is_replacement, clean_up=clean_up)


def add_as_recorded(runtime: Runtime, record: Record) -> CniResult:
    """Add an attachment again with its recorded configuration and arguments; return its CNI result."""
    network = record.network()
    recorded_directories.require_own(network, runtime.paths)
    return add(runtime, network, record.attachment, record.restoration, is_replacement=True).keys


class Prediction(Transition):
    """Predicts the result of the changes that were decided (check mode): runs no ADD and no DEL, and writes nothing."""

    def _attach(self, network: NetworkConfiguration, *, is_replacement: bool) -> None:
        try:
            self._runtime.require_plugins(network)
        except UnsafePlugin:
            raise
        except CniError as exc:
            self._note_missing(exc)

    def _detach(self, record: Record, successor: DesiredAttachment | None, *, is_name_needed: bool) -> None:
        """Raise an error if DEL could not remove the attachment's link."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import prepare

        records = AllRecords(self._runtime.records, self._runtime.paths.state_dir)
        prepare(record, records, is_name_needed=is_name_needed or successor is not None)

    def _remove(self, record: Record, replacement: DesiredAttachment | None) -> Action:
        action = super()._remove(record, replacement)
        self._prerequisites.state.removed.add(record.attachment.key)
        return action

    def _restore(self, record: Record) -> CniResult | None:
        return None

    def _update_record(self, record: Record) -> None:
        pass

    def _require_possible(self, desired: DesiredAttachment) -> None:
        self._prerequisites.require_values(desired)  # another task may be about to install plugins

    def _note_missing(self, error: CniError) -> None:
        self._missing = error
