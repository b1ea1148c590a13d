# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Judge whether an attachment of another runtime is lost, by two proofs."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns, process_table, service
from ansible_collections.cni.node.plugins.module_utils._linux.live_namespaces import NetnsAddresses
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.listings import RuntimeState
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import RecordOwner

OF_ANOTHER = "the record belongs to another runtime"
_REQUIRED_PROOFS = 2
# Seconds. A service that has just started may not have brought its containers back yet.
_STARTING = 60.0
# Seconds. containerd lists a sandbox only after ADD, and may have to pull the image of its pause container first. Until then
# its network namespace has no process.
_CREATING = 3600.0
# Characters. A container ID of this length is not part of another text by accident.
_LONG = 32


class Verdict(t.NamedTuple):
    """The proofs that another runtime's attachment is lost, and why it is kept nevertheless.

    Attributes:
        proofs: Independent facts that an existing attachment would not have, as clauses.
        reason: Why it is kept, or an empty string.
    """

    proofs: tuple[str, ...]
    reason: str


class ContainerSearch(t.NamedTuple):
    """The result of a search for a container: in the lists of its possible owners, or among the processes.

    Attributes:
        proof: That it is not found, as a clause, or an empty string.
        reason: Why there is no proof, as a clause, or an empty string.
        is_found: Whether it is found. If lists cannot be read, there is neither a proof nor a container.
    """

    proof: str = ""
    reason: str = ""
    is_found: bool = False


class ForeignLoss:
    """Judges whether attachments of other runtimes are lost.

    Two of three proofs are needed: the network namespace is gone, the runtime does not list the container, no process belongs to
    it. What contradicts a proof keeps the attachment, whatever the other proofs are. The age of a record proves nothing more: Podman
    and Nomad start a container again after a boot, under the same ID and with the lease that it had.

    A verdict without a proof means that the attachment exists. In doubt, it has at least one proof and a reason.
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
            return self._judge_unnamed(record, owners, f"{OF_ANOTHER}{reason}")
        gone, listing = _prove_namespace_gone(record), self._search_lists(record, owners)
        if listing.is_found and not gone:
            return Verdict((), listing.reason)
        processes = search_processes(record, owners, self._policy.release_names)
        if not gone and not listing.proof and (processes.is_found or self._has_address_in_use(record)):
            return Verdict((), listing.reason)
        proofs = _list_clauses(gone, listing.proof, processes.proof)
        return Verdict(proofs, listing.reason or processes.reason or self._reason_to_keep(record, path, proofs))

    def list_signs(self, record: Record) -> Verdict:
        """Return all proofs and what contradicts them, whether or not the user has named the attachment's runtimes."""
        owners, dummy = self._find_owners(record)
        listing = self._search_lists(record, owners)
        processes = search_processes(record, owners, self._policy.release_names)
        proofs = _list_clauses(_prove_namespace_gone(record), listing.proof, processes.proof)
        return Verdict(proofs, listing.reason if listing.is_found else processes.reason)

    def _judge_unnamed(self, record: Record, owners: t.Iterable[RecordOwner], reason: str) -> Verdict:
        """Judge an attachment that is kept for a reason, because its runtime is unknown or not named."""
        if record.attachment.netns:
            return Verdict(_list_clauses(_prove_namespace_gone(record)), reason)
        processes = search_processes(record, owners, self._policy.release_names)
        is_lost = bool(processes.proof) and not self._has_address_in_use(record)
        return Verdict((processes.proof,) if is_lost else (), reason)

    def _has_address_in_use(self, record: Record) -> bool:
        """Return whether an address of an attachment whose network namespace is unknown is, or may be, in use."""
        if record.attachment.netns or not record.addresses:
            return False
        return bool(self._live.unreadable) or not self._live.netns_by_address.keys().isdisjoint(record.addresses)

    @functools.cached_property
    def _live(self) -> NetnsAddresses:
        return live_namespaces.addresses()

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

    def _search_lists(self, record: Record, owners: t.Iterable[RecordOwner]) -> ContainerSearch:
        """Search the lists of all owners for the container."""
        proofs, reasons = [], []
        for runtime in owners:
            path, unknown = "", ""
            try:
                path = self._states[runtime.name].find_container(record.attachment.container_id)
            except CniError as exc:
                unknown = f"it is unknown which containers {runtime.name} has: {exc}"
            if path:
                return ContainerSearch(
                    reason=f"{runtime.name} lists the container: {printable.line(path)}", is_found=True
                )
            reasons.append(self._reason_for_service(runtime) or unknown)
            proofs.append(f"{runtime.name} does not list the container {record.attachment.container_id}")
        reason = next(filter(None, reasons), "")
        return ContainerSearch(proof="" if reason else " and ".join(proofs), reason=reason)

    def _reason_for_service(self, runtime: RecordOwner) -> str:
        """Return why the lists of a runtime do not prove anything at present, or an empty string."""
        if not runtime.programs:
            return ""
        uptime = self._uptime(runtime)
        service = runtime.programs[0]
        if uptime is None:
            return f"{service} is not running, and may bring the container back when it starts"
        return f"{service} started less than {_STARTING:g} s ago" if uptime < _STARTING else ""

    def _uptime(self, runtime: RecordOwner) -> float | None:
        """Return for how long the service of a runtime has been running; the answer is cached, because it takes a process."""
        if runtime.name not in self._uptimes:
            self._uptimes[runtime.name] = service.uptime(runtime.units, runtime.programs)
        return self._uptimes[runtime.name]

    def _reason_to_keep(self, record: Record, path: str, proofs: t.Sequence[str]) -> str:
        if len(proofs) < _REQUIRED_PROOFS:
            return "this is the only proof that the attachment is lost"
        changed, namespace = modification_time(path), record.attachment.netns
        age = self._policy.now - changed
        if leads_to_container(namespace) and age < _CREATING:
            since = "'s time is in the future" if age < -_CREATING else f" is younger than {_CREATING:g} s"
            return f"its network namespace {namespace} exists, and the record{since}"
        return self._policy.reason_for_age(changed)

    def _may_exist(self, runtime: RecordOwner) -> bool:
        try:
            return self._states[runtime.name].exists()
        except CniError:
            return True


def _find_mentions(container_id: str) -> set[str]:
    """Return the texts of which a process of a container of an unknown runtime has one.

    A short ID may be part of any text, so only whole words count.
    """
    if len(container_id) >= _LONG:
        return {container_id}
    patterns = ("CNI_CONTAINERID={}\0", "\0{}\0", "/{}/", "/{}\n", "-{}.scope\n")
    return {pattern.format(container_id) for pattern in patterns}


def leads_to_container(path: str) -> bool:
    """Return whether a path leads to the network namespace of a container.

    A path below /proc leads to the node's own after another program of the node has got the number of the process.
    """
    return netns.is_namespace(path) and not netns.is_own(path)


def _prove_namespace_gone(record: Record) -> str:
    path = record.attachment.netns
    if not path or leads_to_container(path):
        return ""
    if netns.is_own(path):
        return f"its network namespace {path} is gone: the path leads to that of the node"
    return f"its network namespace {path} is {'not a network namespace any more' if os.path.lexists(path) else 'gone'}"


def search_processes(record: Record, owners: t.Iterable[RecordOwner], ignored: t.Collection[str]) -> ContainerSearch:
    """Search for a process of the container, or one that works for it.

    Args:
        owners: The runtimes that may own it, which have their own names for the container.
        ignored: Texts that may contain the name of the container and prove nothing.
    """
    path = record.attachment.netns
    if leads_to_container(path) and (pids := process_table.find_by_netns(path)):
        return ContainerSearch(reason=f"process {pids[0]} is in its network namespace {path}", is_found=True)
    container_id = record.attachment.container_id
    texts = {text for runtime in owners for text in runtime.find_mentions(container_id)}
    for text in sorted(texts or _find_mentions(container_id)):
        if pids := process_table.find_mentioning(text, ignored):
            reason = f"process {pids[0]} belongs to the container or works for it"
            return ContainerSearch(reason=reason, is_found=True)
    return ContainerSearch(proof="no process belongs to the container or is in its network namespace")


def _list_clauses(*clauses: str) -> tuple[str, ...]:
    return tuple(filter(None, clauses))
