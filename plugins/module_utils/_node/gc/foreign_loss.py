# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.listings import RuntimeState
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.types import RecordOwner

OF_ANOTHER: t.Final = "the record belongs to another runtime"
_REQUIRED_PROOFS: t.Final = 2
# Seconds. A service that has just started may not have brought its containers back yet.
_STARTING: t.Final = 60.0
# Seconds. containerd lists a sandbox only after ADD, and may have to pull the image of its pause container first. Until then
# its network namespace has no process.
_CREATING: t.Final = 3600.0


class Verdict(t.NamedTuple):
    """The proofs that another runtime's attachment is lost, and why it is kept all the same.

    Attributes:
        proofs: Independent facts that an existing attachment would not have, as clauses.
        reason: Why it is kept, or an empty string.
    """

    proofs: tuple[str, ...]
    reason: str


class ForeignLoss:
    """Judges whether attachments of other runtimes are lost.

    Two of three proofs are needed: the network namespace is gone, the runtime does not list the container, no process belongs to
    it. What contradicts a proof keeps the attachment, whatever the other proofs are. The age of a record proves nothing more: Podman
    and Nomad start a container again after a boot, under the same ID and with the lease that it had.
    """

    def __init__(self, policy: GcPolicy, root: str = "/") -> None:
        """
        Args:
            root: The runtimes' state is below it; another directory in tests.
        """
        self._policy = policy
        self._states = {runtime.name: RuntimeState(runtime, root) for runtime in runtimes.OWNERS}
        self._uptimes: dict[str, float | None] = {}

    def judge(self, record: Record, path: str) -> Verdict:
        """Judge an attachment by the node's present state.

        Args:
            path: The file of the record.
        """
        if not self._policy.owners:
            return Verdict((), OF_ANOTHER)
        owners, reason = self._find_owners(record)
        if reason:
            return Verdict((), f"{OF_ANOTHER}{reason}")
        proof, reason = self._prove_unlisted(record, owners)
        proofs = [clause for clause in (_prove_namespace_gone(record), proof) if clause]
        if not proofs:
            return Verdict((), reason)
        proof, process = _prove_no_process(record, {runtime.own_id(record.attachment) for runtime in owners})
        proofs += [proof] if proof else []
        return Verdict(tuple(proofs), reason or process or self._reason_to_keep(record, path, proofs))

    def _find_owners(self, record: Record) -> tuple[list[RecordOwner], str]:
        """Return the runtimes that may own a record, or the end of a clause that says why the record does not count."""
        possible = runtimes.candidates(record.attachment)
        # Several runtimes write the same record. Those that this node does not have did not write it.
        owners = [runtime for runtime in possible if self._may_exist(runtime)] or possible
        if not owners:
            return [], ", and its container ID, network namespace and arguments are not like those of a known runtime"
        unnamed = [runtime.name for runtime in owners if runtime.name not in self._policy.owners]
        names = " or ".join(runtime.name for runtime in owners)
        return owners, f", {names}, and owners does not name {' and '.join(unnamed)}" if unnamed else ""

    def _prove_unlisted(self, record: Record, owners: t.Iterable[RecordOwner]) -> tuple[str, str]:
        """Return a proof that no owner lists the container, or why there is none."""
        proofs = []
        for runtime in owners:
            reason = self._reason_for_service(runtime) or self._reason_for_list(runtime, record)
            if reason:
                return "", reason
            proofs.append(f"{runtime.name} does not list the container {record.attachment.container_id}")
        return " and ".join(proofs), ""

    def _reason_for_list(self, runtime: RecordOwner, record: Record) -> str:
        try:
            path = self._states[runtime.name].find_container(record.attachment.container_id)
        except CniError as exc:
            return f"it is unknown which containers {runtime.name} has: {exc}"
        return f"{runtime.name} lists the container: {printable.line(path)}" if path else ""

    def _reason_for_service(self, runtime: RecordOwner) -> str:
        """Return why the lists of a runtime do not prove anything at present, or an empty string."""
        if not runtime.programs:
            return ""
        uptime = self._uptime(runtime)
        if uptime is None:
            return f"{runtime.name} is not running, and may bring the container back when it starts"
        return f"{runtime.name} started less than {_STARTING:g} s ago" if uptime < _STARTING else ""

    def _uptime(self, runtime: RecordOwner) -> float | None:
        """Return for how long the service of a runtime has been running; it is asked once, as that takes a process."""
        from ansible_collections.cni.node.plugins.module_utils._linux import service

        if runtime.name not in self._uptimes:
            self._uptimes[runtime.name] = service.uptime(runtime.units, runtime.programs)
        return self._uptimes[runtime.name]

    def _reason_to_keep(self, record: Record, path: str, proofs: t.Sequence[str]) -> str:
        if len(proofs) < _REQUIRED_PROOFS:
            return "this is the only proof that the attachment is lost"
        changed, namespace = modification_time(path), record.attachment.netns
        if netns.is_namespace(namespace) and self._policy.now - changed < _CREATING:
            return f"its network namespace {namespace} exists, and the record is younger than {_CREATING:g} s"
        return self._policy.reason_for_age(changed)

    def _may_exist(self, runtime: RecordOwner) -> bool:
        try:
            return self._states[runtime.name].exists()
        except CniError:
            return True


def _prove_namespace_gone(record: Record) -> str:
    path = record.attachment.netns
    if not path or netns.is_namespace(path):
        return ""
    return f"its network namespace {path} is {'not a network namespace any more' if os.path.lexists(path) else 'gone'}"


def _prove_no_process(record: Record, ids: t.Iterable[str]) -> tuple[str, str]:
    """Return a proof that the container has no process, or else a clause that names one.

    Args:
        ids: The IDs that the runtimes themselves use for the container.
    """
    from ansible_collections.cni.node.plugins.module_utils._linux import process_table

    path = record.attachment.netns
    if netns.is_namespace(path) and (pids := process_table.find_by_netns(path)):
        return "", f"process {pids[0]} is in its network namespace {path}"
    for own_id in ids:
        if pids := process_table.find_mentioning(own_id):
            return "", f"process {pids[0]} belongs to the container or works for it"
    return "no process belongs to the container or is in its network namespace", ""


__all__ = ("OF_ANOTHER", "ForeignLoss", "Verdict")
