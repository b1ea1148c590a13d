# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The state of an attachment by its record, its intent and its network namespace."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import NETNS_REPLACED, Recorded
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment


class RecordedState:
    """Reads the records and intents of attachments, and compares them with the network namespaces.

    Attributes:
        removed: Attachments that a dry run would have removed by now.
    """

    def __init__(self, runtime: Runtime, conf_dir: ConfDir) -> None:
        self.runtime = runtime
        self.conf_dir = conf_dir
        self.removed: set[Key] = set()

    def read(self, desired: DesiredAttachment, *, locked: bool) -> Recorded:
        """Return the recorded facts about an attachment.

        Args:
            locked: Whether the caller holds the attachment's lock. If so, an intent of ADD beside the record is that of a
                killed run, and is removed. Otherwise it may belong to a run that is about to finish.

        Raises:
            CniError: The record cannot be read at all, or it is broken and the network has no configuration to use
                instead; ``TRY_AGAIN`` for a plugin that cannot be killed.
        """
        record, defect = self._read(desired.attachment, locked)
        if record is None:
            return Recorded()
        current = desired.attachment if desired.present else record.attachment
        return Recorded(record, defect, _netns_change(record, current))

    def may_be_attached(self, record: Record) -> bool:
        """Return whether an attachment, complete or begun, may exist: its network namespace is the recorded one."""
        return record.attachment.key not in self.removed and not _netns_change(record, record.attachment)

    def _read(self, attachment: Attachment, locked: bool) -> tuple[Record | None, str]:
        """Return the record, or else the intent; and why the attachment has to be recreated, or an empty string."""
        try:
            record = self._record(attachment)
            intent = self._intent(attachment.key, required=record is None)
        except CniError as exc:
            if exc.code == Code.IO_FAILURE:
                raise
            return self._from_configuration(attachment, exc), f"its record is broken: {exc.msg}"
        reason = ""
        if record is not None and _has_moved(record, attachment):
            reason = f"its network namespace moved from {record.attachment.netns} to {attachment.netns}"
            record = record._replace(attachment=record.attachment.with_netns(attachment.netns))
        if intent is None:
            return record, reason
        if locked:
            self._wait_for_orphaned_plugins(intent)
        if record is not None and intent.command == "ADD":
            if locked:
                self.runtime.intents.remove(attachment.key)
            return record, reason
        return record or intent, f"an earlier run was interrupted at {intent.command}"

    def _record(self, attachment: Attachment) -> Record | None:
        record = self.runtime.records.read(attachment.key)
        if record is None:
            return None
        record.network()
        if not record.attachment.netns:  # libcni did not record it before 1.2
            return record._replace(attachment=record.attachment.with_netns(attachment.netns))
        return record

    def _intent(self, key: Key, *, required: bool) -> Record | None:
        try:
            return self.runtime.intents.read(key)
        except CniError as exc:
            if required or exc.code == Code.IO_FAILURE:
                raise
            return Record(Attachment(*key), b"", command="DEL")  # a loss of power may leave an empty intent of DEL

    def _wait_for_orphaned_plugins(self, intent: Record) -> None:
        """Wait for plugins of a killed run, which continue without their parent; kill them after the timeout."""
        from ansible_collections.cni.node.plugins.module_utils._linux import process_table

        if intent.config:
            attachment = intent.attachment
            environment = {"CNI_CONTAINERID": attachment.container_id, "CNI_IFNAME": attachment.ifname}
            process_table.wait_or_kill(environment, intent.network().plugin_types, self.runtime.exclusion.timeout)

    def _from_configuration(self, attachment: Attachment, broken: CniError) -> Record:
        """Return a record for DEL, made from the network's current configuration, in place of a broken one."""
        try:
            network = self.conf_dir.get(attachment.network)
        except CniError as exc:
            advice = f"DEL has no configuration to use instead: {exc.msg}; add the network again, or remove the record"
            raise CniError(broken.code, broken.msg, advice) from exc
        version, identity = self.runtime.versions.select(network), netns_identity(attachment.netns)
        return Record(attachment, network.content, version=version, netns_identity=identity)


def _netns_change(record: Record, attachment: Attachment) -> str:
    """Return how the attachment's network namespace differs from the recorded one, or an empty string."""
    current = netns_identity(attachment.netns)
    recorded = record.netns_identity or netns_identity(record.attachment.netns)
    if current == recorded:
        return ""
    if _is_same_inode(current, recorded) and netns_identity(record.attachment.netns) == recorded:
        return ""
    return NETNS_REPLACED if current else "its network namespace is gone"


def _has_moved(record: Record, attachment: Attachment) -> bool:
    """Return whether the recorded network namespace still exists, but only at another path."""
    recorded, current = record.attachment.netns, attachment.netns
    if recorded == current or not record.netns_identity:
        return False
    return netns_identity(current) == record.netns_identity != netns_identity(recorded)


def _is_same_inode(current: str, other: str) -> bool:
    """Return whether two identities name the same inode; below /proc, an identity has no creation time."""
    return bool(current) and current.rpartition(":")[0] == other.rpartition(":")[0]
