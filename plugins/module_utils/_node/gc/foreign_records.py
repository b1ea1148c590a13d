# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Delete lost attachments of other runtimes by DEL, as recorded."""

from __future__ import annotations

import functools
import os

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments import teardown
from ansible_collections.cni.node.plugins.module_utils._node.gc.foreign_loss import (
    ForeignLoss,
    Verdict,
    leads_to_container,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, FAILED, GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.gc.release import Release
from ansible_collections.cni.node.plugins.module_utils._node.gc.removed_files import RemovedFiles


class ForeignRecords:
    """Deletes lost attachments of other runtimes by DEL, as recorded, after their records and leases have been kept."""

    def __init__(
        self, runtime: Runtime, cache_dir: str, conf_dir: ConfDir, valid: ValidAttachments, policy: GcPolicy
    ) -> None:
        self._runtime = runtime
        self._networks = conf_dir
        self._valid = valid
        self._policy = policy
        self._loss = ForeignLoss(policy, runtime.paths.root)
        self._removed_files = RemovedFiles(cache_dir, runtime.paths.lease_dir)
        self._release = Release(runtime, conf_dir, policy, self._loss, self._removed_files)

    def is_checked_elsewhere(self, record: Record) -> bool:
        """Return whether to check a record in the directory of another runtime."""
        return not record.is_own and (bool(self._policy.owners) or self._release.includes(record))

    def find_unknown(self) -> list[Key]:
        """Return the attachments to release of which no record has been checked."""
        return sorted(self._policy.release - self._release.found)

    def check(self, record: Record, store: RecordStore, loss: str) -> Leak | None:
        """Collect an attachment if it is lost; return the finding, or None if nothing shows that it is lost.

        Args:
            store: Where its record is.
            loss: Why its network namespace is lost, or an empty string.
        """
        record, path = record.with_netns_of_result(), store.path_of(record.attachment.key)
        verdict = self._judge(record, path)
        if not loss and not verdict.proofs:
            return None
        evidence = f"the {record.attachment}: {', '.join(verdict.proofs) or loss}"
        leak = Leak(Kind.RECORD, record.attachment.network, path, evidence, proofs=verdict.proofs or (loss,))
        return self._collect(record, store, leak, verdict.reason)

    def check_interrupted(self, record: Record, store: RecordStore, leak: Leak) -> Leak:
        """Finish a DEL that a run of this collection has begun, if the attachment is still lost."""
        record = record.with_netns_of_result()
        verdict = self._judge(record, store.path_of(record.attachment.key))
        leak.proofs = verdict.proofs
        reason = verdict.reason or ("" if verdict.proofs else "nothing proves that the attachment is lost")
        return self._collect(record, store, leak, reason)

    def _judge(self, record: Record, path: str) -> Verdict:
        verdict = self._loss.judge(record, path)
        if not self._release.includes(record):
            return verdict
        self._release.found.add(record.attachment.key)
        is_proven = verdict.proofs and not verdict.reason
        return verdict if is_proven else self._release.judge(record, path, verdict.reason)

    def _collect(self, record: Record, store: RecordStore, leak: Leak, reason: str) -> Leak:
        reason = reason or self._reason_by_lists(record, store)
        if not reason:
            try:
                self._runtime.require_safe_plugins(record)
                leak.saved = self._removed_files.path_of(store.path_of(record.attachment.key))
            except CniError as exc:
                return leak.fail(exc)
        self._policy.collect_unless(reason, leak, functools.partial(self._delete, record, store), DELETED)
        if leak.action == FAILED and not os.path.exists(leak.saved):
            leak.saved = ""
        return leak

    def _reason_by_lists(self, record: Record, store: RecordStore) -> str:
        """Return a reason to keep an attachment that is listed as valid or has a second record."""
        key, own = record.attachment.key, self._runtime.records
        if self._valid.has(key):
            return "valid_attachments lists it"
        return f"{own.path_of(key)} records it too" if store is not own and own.may_have(key) else ""

    def _delete(self, record: Record, store: RecordStore) -> None:
        attachment = record.attachment
        network = self._networks.networks.get(attachment.network)
        self._removed_files.keep(record, store.path_of(attachment.key), network)
        if not leads_to_container(attachment.netns):
            record = record._replace(attachment=attachment.with_netns(""))
        teardown.detach(self._runtime, self._networks, record, None)
        if store is not self._runtime.records:
            store.remove(attachment.key)


__all__ = ("ForeignRecords",)
