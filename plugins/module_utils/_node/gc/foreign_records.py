# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Delete lost attachments of other runtimes by DEL, as recorded, and keep a copy of their records."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import stat
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RECORD_LIMIT, RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments import teardown
from ansible_collections.cni.node.plugins.module_utils._node.gc.foreign_loss import (
    ForeignLoss,
    Verdict,
    leads_to_container,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, FAILED, GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners, ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory, lease_files

_UNCONFIRMED = "its release needs confirm: true"
# A file name has at most 255 characters.
_NAME_LIMIT = 200
_DIGEST_LENGTH = 12


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
        self._release = NamedReleases(runtime, conf_dir, policy, self._loss, self._removed_files)

    def is_checked_elsewhere(self, record: Record) -> bool:
        """Return whether to check a record in the directory of another runtime."""
        return not record.is_own and (bool(self._policy.owners) or self._release.includes(record))

    def find_unknown(self) -> list[Key]:
        """Return the attachments to release of which no record has been checked."""
        return sorted(self._policy.release - self._release.found)

    def collect_if_lost(self, record: Record, store: RecordStore, loss: str) -> Leak | None:
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

    def collect_interrupted(self, record: Record, store: RecordStore, leak: Leak) -> Leak:
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


class NamedReleases:
    """Judges whether attachments that the user names may be released although nothing proves that they are lost.

    Attributes:
        found: Those of which a record has been checked.
    """

    def __init__(
        self, runtime: Runtime, conf_dir: ConfDir, policy: GcPolicy, loss: ForeignLoss, removed_files: RemovedFiles
    ) -> None:
        self._runtime = runtime
        self._networks = conf_dir
        self._policy = policy
        self._loss = loss
        self._removed_files = removed_files
        self.found: set[Key] = set()

    def includes(self, record: Record) -> bool:
        """Return whether the user names the attachment."""
        return record.attachment.key in self._policy.release

    def judge(self, record: Record, path: str, doubt: str) -> Verdict:
        """Return what is known about a named attachment, and why it is kept nevertheless.

        Args:
            path: The file of the record.
            doubt: Why nothing proves that it is lost.
        """
        signs = self._loss.list_signs(record)
        changed = modification_time(path)
        proofs = (*signs.proofs, *self._describe_addresses(record), f"its record was last changed at {_date(changed)}")
        reason = self._reason_to_keep(record, signs.reason) or self._policy.reason_for_age(changed)
        if reason:
            return Verdict(proofs, reason)
        proofs += (f"it is named for release although {doubt}",)
        return Verdict(proofs, "" if self._policy.confirm else _UNCONFIRMED)

    def _describe_addresses(self, record: Record) -> t.Iterator[str]:
        """Yield the addresses of an attachment and their leases, as clauses."""
        if record.addresses:
            yield f"it has the {'addresses' if len(record.addresses) > 1 else 'address'} {', '.join(record.addresses)}"
        network = self._networks.networks.get(record.attachment.network)
        for path, dummy in self._removed_files.read_leases(record, network):
            yield f"it has the lease {path}"

    def _reason_to_keep(self, record: Record, contradiction: str) -> str:
        """Return what shows that the attachment may exist, or an empty string."""
        attachment = record.attachment
        if leads_to_container(attachment.netns):
            return f"its network namespace {attachment.netns} exists"
        owners = Owners(attachment.network, netns_dir=self._runtime.paths.netns_dir)
        in_use = owners.reason_to_keep(attachment.container_id, record.addresses)
        return contradiction or in_use or self._reason_by_records(record)

    def _reason_by_records(self, record: Record) -> str:
        """Return which other record has the network namespace or an address of the attachment, or an empty string."""
        attachment, addresses = record.attachment, set(record.addresses)
        records, broken = AllRecords(self._runtime.records, self._runtime.paths.state_dir).read_all()
        if broken:
            return f"a record that cannot be read may have its address: {min(broken)}"
        if [other.attachment.key for other in records].count(attachment.key) > 1:
            return "more than one file records it"
        for other in (other.with_netns_of_result() for other in records if not self.includes(other)):
            if attachment.netns and other.attachment.netns == attachment.netns:
                return f"the {other.attachment} has the network namespace {attachment.netns}, too"
            if other.attachment.network == attachment.network and not addresses.isdisjoint(other.addresses):
                return f"the {other.attachment} has its address, too"
        return ""


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class RemovedFiles:
    """Keeps the record and the leases of an attachment of another runtime before they are removed, for a restoration by hand.

    Each attachment has a file with the JSON object ``{"files": [{"path": ..., "mode": "0600", "text": ...}]}``.
    """

    def __init__(self, cache_dir: str, lease_dir: str) -> None:
        self._directory = os.path.join(cache_dir, OWN_DIRECTORY, "removed")
        self._lease_dir = lease_dir

    def path_of(self, record_path: str) -> str:
        """Return the path for a record. It depends on the content, so that another record does not replace it.

        Raises:
            CniError: The record cannot be read.
        """
        digest = hashlib.sha256(durable.read(record_path, limit=RECORD_LIMIT) or b"").hexdigest()[:_DIGEST_LENGTH]
        return os.path.join(self._directory, f"{os.path.basename(record_path)[:_NAME_LIMIT]}-{digest}.json")

    def keep(self, record: Record, record_path: str, network: NetworkConfiguration | None) -> None:
        """Write a record and its leases to the file.

        Args:
            network: The current configuration of the network, if it has one.

        Raises:
            CniError: A file cannot be read or written.
        """
        path = self.path_of(record_path)
        files = [_describe(record_path, durable.read(record_path, limit=RECORD_LIMIT) or b"")]
        files += [_describe(*lease) for lease in self.read_leases(record, network)]
        durable.make_directory(self._directory, mode=0o700)
        durable.write(path, json.dumps({"files": files}, indent=2).encode("ascii") + b"\n")

    def read_leases(self, record: Record, network: NetworkConfiguration | None) -> t.Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each lease of an attachment; arguments as `keep`."""
        networks = [network] if network else []
        recorded: list[NetworkConfiguration] = []
        with contextlib.suppress(CniError):  # DEL reports a configuration that cannot be read
            recorded.append(record.network())
        name, container_id, ifname = record.attachment.key
        for path in lease_files.directories(name, networks, self._lease_dir, recorded=recorded):
            with lease_directory.hold(path) as directory:
                for lease in directory.leases() if directory else ():
                    if lease.is_of(container_id, ifname):
                        yield lease.path, lease.content


def _describe(path: str, content: bytes) -> dict[str, str]:
    """Return a file as JSON can hold it; bytes that are not UTF-8 become unpaired surrogates."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    return {"path": path, "mode": f"{mode:04o}", "text": content.decode("utf-8", "surrogateescape")}
