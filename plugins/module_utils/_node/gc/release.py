# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Judge whether an attachment that the user names may be released."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.gc.foreign_loss import (
    ForeignLoss,
    Verdict,
    leads_to_container,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.removed_files import RemovedFiles

UNCONFIRMED: t.Final = "its release needs confirm: true"


class Release:
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
        return Verdict(proofs, "" if self._policy.confirm else UNCONFIRMED)

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


__all__ = ("UNCONFIRMED", "Release")
