# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import json_text
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime

# Why an attachment that could stay is made anew.
NETWORK_CHANGED: t.Final = "the network's configuration has changed"
_ARGS_CHANGED: t.Final = "its arguments have changed"
_CAPABILITY_ARGS_CHANGED: t.Final = "its capability arguments have changed"
_CONFIG_ARGS_CHANGED: t.Final = "its arguments for args.cni have changed"
REQUEST_CHANGED: t.Final = frozenset((NETWORK_CHANGED, _ARGS_CHANGED, _CAPABILITY_ARGS_CHANGED, _CONFIG_ARGS_CHANGED))


class RecordedState:
    """What is known of attachments: their records, what was begun and not finished, and what to make of both."""

    def __init__(self, runtime: Runtime, conf_dir: ConfDir) -> None:
        self._runtime = runtime
        self._conf_dir = conf_dir
        # What a dry run has found to be removed, and has left where it is.
        self.removed: set[Key] = set()

    def read(self, attachment: Attachment, *, locked: bool) -> tuple[Record | None, str]:
        """Return what is recorded of an attachment, and why it cannot stay whatever else is found.

        Args:
            locked: Whether nobody else works on it, so that an intent beside the record is a killed run's, and
                can go. Else it may belong to a run that is about to finish.

        Raises:
            CniError: The record is there and cannot be read at all, or it is broken and there is no
                configuration that could stand in for its own; ``TRY_AGAIN`` for a plugin that cannot be ended.
        """
        try:
            record = self._record(attachment)
            intent = self._intent(attachment.key, needed=record is None)
        except CniError as exc:
            if exc.code == Code.IO_FAILURE:
                raise
            return self._from_configuration(attachment, exc), f"its record is broken: {exc.msg}"
        reason = ""
        if record is not None and _has_moved(record, attachment):
            record = dataclasses.replace(record, attachment=record.attachment.with_netns(attachment.netns))
            reason = "its network namespace has another path now"
        if intent is None:
            return record, reason
        if locked:
            self._wait_for_orphaned_plugins(intent)
        if record is not None and intent.command == "ADD":
            if locked:
                self._runtime.intents.remove(attachment.key)
            return record, reason
        return record or intent, f"an earlier run was interrupted at {intent.command}"

    def difference(self, record: Record, network: NetworkConfiguration, attachment: Attachment) -> str:
        """Say what of a recorded attachment is not as wanted, or nothing."""
        return self.other_namespace(record, attachment) or self._changed_request(record, network, attachment)

    def with_current_config(self, record: Record, network: NetworkConfiguration) -> Record:
        """Return the record with what today's configuration forbids a runtime; nothing is made anew for that."""
        if record.network().disabled_operations == network.disabled_operations:
            return record
        return dataclasses.replace(record, config=network.content)

    def request_changed_in_place(self, record: Record, network: NetworkConfiguration, attachment: Attachment) -> bool:
        """Tell an attachment that could stay, but for what is wanted of it now."""
        return self.is_in_place(record, attachment) and bool(self._changed_request(record, network, attachment))

    def is_in_place(self, record: Record, attachment: Attachment) -> bool:
        """Tell an attachment that was completed, is not about to be removed, and whose namespace is there."""
        return record.result is not None and not record.command and self.may_be_attached(record, attachment)

    def may_be_attached(self, record: Record, attachment: Attachment) -> bool:
        """Tell the same of an attachment that may only have been begun."""
        return record.attachment.key not in self.removed and not self.other_namespace(record, attachment)

    def find_interface_conflict(self, attachment: Attachment) -> Record | None:
        """Return what another network has, or has begun, at the interface of an attachment.

        What other runs begin while this one goes on is seen where it has a configuration of their network.
        """
        for store in (self._runtime.records, self._runtime.intents):
            for record in store.read_interface(attachment, self._conf_dir.networks):
                theirs = record.attachment
                if theirs.network != attachment.network and self.may_be_attached(record, theirs):
                    return record
        return None

    def other_namespace(self, record: Record, attachment: Attachment) -> str:
        """Say why what is recorded is not in the namespace of an attachment, or nothing."""
        current = netns_identity(attachment.netns)
        recorded = record.netns_identity or netns_identity(record.attachment.netns)
        if current == recorded or (_is_one(current, recorded) and netns_identity(record.attachment.netns) == recorded):
            return ""
        return "its network namespace is another one now" if current else "its network namespace is gone"

    def _changed_request(self, record: Record, network: NetworkConfiguration, attachment: Attachment) -> str:
        was = record.attachment
        if record.config != network.content and record.network() != network:
            return NETWORK_CHANGED
        if dict(was.args) != dict(attachment.args):
            return _ARGS_CHANGED
        if not _is_same_of_capabilities(was.capability_args, attachment.capability_args):
            return _CAPABILITY_ARGS_CHANGED
        if not json_text.is_same(was.config_args, attachment.config_args):
            return _CONFIG_ARGS_CHANGED
        return ""

    def _record(self, attachment: Attachment) -> Record | None:
        record = self._runtime.records.read(attachment.key)
        if record is None:
            return None
        record.network()
        if not record.attachment.netns:  # libcni did not record it before 1.2
            return dataclasses.replace(record, attachment=record.attachment.with_netns(attachment.netns))
        return record

    def _intent(self, key: Key, *, needed: bool) -> Record | None:
        try:
            return self._runtime.intents.read(key)
        except CniError:
            if needed:
                raise
            return Record(Attachment(*key), b"", command="DEL")  # a loss of power may leave an empty file of DEL's

    def _wait_for_orphaned_plugins(self, intent: Record) -> None:
        """Wait for the plugin of a run that was killed: it does not know of that, and goes on."""
        from ansible_collections.cni.node.plugins.module_utils._linux import process_table

        if intent.config:
            attachment = intent.attachment
            environment = {"CNI_CONTAINERID": attachment.container_id, "CNI_IFNAME": attachment.ifname}
            process_table.wait_or_kill(environment, intent.network().plugin_types, self._runtime.exclusion.timeout)

    def _from_configuration(self, attachment: Attachment, broken: CniError) -> Record:
        """Make up for a record that says nothing, as well as today's configuration allows."""
        try:
            network = self._conf_dir.get(attachment.network)
        except CniError as exc:
            advice = f"there is no configuration to run DEL with instead: {exc.msg}; restore it, or remove the record"
            raise CniError(broken.code, broken.msg, advice) from exc
        version, identity = self._runtime.versions.select(network), netns_identity(attachment.netns)
        return Record(attachment, network.content, version=version, netns_identity=identity)


def _has_moved(record: Record, attachment: Attachment) -> bool:
    """Tell a namespace that is still there, and no longer at the path where it was attached."""
    was, path = record.attachment.netns, attachment.netns
    if was == path or not record.netns_identity:
        return False
    return netns_identity(path) == record.netns_identity != netns_identity(was)


def _is_same_of_capabilities(was: t.Mapping[str, t.Any], wanted: t.Mapping[str, t.Any]) -> bool:
    """Return whether plugins would be told the same, also where another runtime has not written it as this one does."""
    if json_text.is_same(was, wanted):
        return True
    # What is loaded only where there is a difference.
    from ansible_collections.cni.node.plugins.module_utils._cni.capability_values import normalize_capability_args

    return json_text.is_same(normalize_capability_args(was), normalize_capability_args(wanted))


def _is_one(current: str, other: str) -> bool:
    """Tell by the inode that two paths lead to one namespace now; below /proc, nothing else is told of it."""
    return bool(current) and current.rpartition(":")[0] == other.rpartition(":")[0]


__all__ = ("NETWORK_CHANGED", "REQUEST_CHANGED", "RecordedState")
