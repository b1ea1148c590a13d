# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Delete lost and interrupted attachments by DEL, and return the owners that remain."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy
from ansible_collections.cni.node.plugins.module_utils._node.gc.foreign_records import ForeignRecords
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Names, Owners, ValidAttachments

Collect = t.Callable[[Record], t.Optional[Leak]]


class RecordCollector:
    """Deletes lost and interrupted attachments by DEL, and returns the owners that remain.

    It is not a `Finder`, because finders need the owners, which are known only after this.

    Attributes:
        pending_removal: In a dry run, attachments that a run would have deleted by now.
    """

    def __init__(
        self,
        runtime: Runtime,
        cache_dir: str,
        conf_dir: ConfDir,
        valid: ValidAttachments,
        policy: GcPolicy,
        removed: t.Collection[Key] = (),
    ) -> None:
        """
        Args:
            removed: In a dry run, attachments that an earlier task would have deleted.
        """
        self._runtime = runtime
        self._networks = conf_dir
        self._all_records = AllRecords(runtime.records, runtime.paths.state_dir)
        self._foreign = ForeignRecords(runtime, cache_dir, conf_dir, valid, policy)
        self._valid = valid
        self._policy = policy
        self._removed = frozenset(removed)
        self.pending_removal: set[Key] = set()

    def read_all(self) -> tuple[list[Record], list[Leak]]:
        """Return all records and intents of the node, and an entry for each that cannot be read."""
        records, broken = self._all_records.read_all()
        intents, broken_intents = self._runtime.intents.read_all()
        unreadable = [_unreadable(Kind.RECORD, "", *error) for error in broken.items()]
        unreadable += [_unreadable(Kind.INTENT, "", *error) for error in broken_intents.items()]
        return [record for record in (*records, *intents) if record.attachment.key not in self._removed], unreadable

    def collect(self, network: str, leaks: list[Leak]) -> Owners:
        """Collect the lost attachments of a network; return the owners that remain.

        Args:
            leaks: The list to which each leak is appended at once, so that a later error does not lose it.
        """
        own, elsewhere, broken = self._all_records.read_network(network)
        intents, broken_intents = self._read_intents(network, own)
        leaks += [_unreadable(Kind.RECORD, network, *error) for error in broken.items()]
        leaks += [_unreadable(Kind.INTENT, network, *error) for error in broken_intents.items()]
        foreign_keys = {record.attachment.key for record in elsewhere}
        work = [*self._list_own(own, intents, foreign_keys), *self._list_elsewhere(elsewhere)]
        live = _collect_each(work, leaks)
        records = (*own, *elsewhere, *intents.values())
        pending = {record.attachment.key[1:] for record in records} - live if self._policy.dry_run else set()
        self.pending_removal |= {(network, *names) for names in pending}
        return self._owners(network, live | self._valid.names(network), pending, broken, records)

    def _list_own(
        self, own: t.Iterable[Record], intents: t.Mapping[Key, Record], elsewhere: t.Container[Key]
    ) -> t.Iterator[tuple[Record, Collect]]:
        """Yield the records and intents in the own directory, each with what collects it.

        Args:
            elsewhere: The attachments that other runtimes record in their own directories.
        """
        recorded = set()
        for record in own:
            key = record.attachment.key
            recorded.add(key)
            if key not in self._removed:
                intent = intents.get(key)
                collect = (
                    self._collect_record if intent is None else functools.partial(self._collect_interrupted, intent)
                )
                yield record, collect
        for key, intent in intents.items():
            # A foreign DEL that was begun for a record elsewhere is finished with that record.
            is_finished_elsewhere = key in elsewhere and self._foreign.is_checked_elsewhere(intent)
            if key not in recorded and key not in self._removed and not is_finished_elsewhere:
                yield intent, self._collect_intent

    def _list_elsewhere(self, records: t.Iterable[Record]) -> t.Iterator[tuple[Record, Collect]]:
        """Yield the records in the directories of other runtimes, each with what collects it."""
        for record in records:
            is_checked = self._foreign.is_checked_elsewhere(record)
            yield record, self._collect_foreign if is_checked else _keep

    def find_unknown_releases(self) -> list[Key]:
        """Return the attachments to release of which no record has been checked."""
        return self._foreign.find_unknown()

    def read_elsewhere(self, network: str) -> set[Names]:
        """Return container ID and interface of the attachments that other runtimes record in their own directories.

        Raises:
            CniError: A record cannot be read.
        """
        records, broken = self._all_records.read_elsewhere(network)
        for error in broken.values():
            raise error
        return {record.attachment.key[1:] for record in records}

    def read_owners(self) -> Owners:
        """Return the owners in all networks that remain after the deletions, or would remain in a dry run."""
        records, broken = self._all_records.read_all()
        records += self._runtime.intents.read_all()[0]
        keys = {record.attachment.key for record in records}
        live = {key[1:] for key in keys - self.pending_removal} | self._valid.names()
        pending = {key[1:] for key in self.pending_removal} - live
        return self._owners("", live, pending, broken, records)

    def _read_intents(self, network: str, records: t.Iterable[Record]) -> tuple[dict[Key, Record], dict[str, CniError]]:
        pending, broken = self._runtime.intents.read_network(network)
        intents = {intent.attachment.key: intent for intent in pending}
        for attachment in (record.attachment for record in records):
            if broken.pop(self._runtime.intents.path_of(attachment.key), None):
                # After a loss of power the intent of a DEL may be empty: it is not flushed to the disk.
                intents[attachment.key] = Record(attachment, b"", command="DEL")
        return intents, broken

    def _owners(
        self, network: str, live: set[Names], pending: set[Names], broken: t.Iterable[str], records: t.Sequence[Record]
    ) -> Owners:
        """Return the owners. ``disableGC`` comes from each network's file, or else from its records."""
        owners = Owners(network, frozenset(live), frozenset(pending), tuple(broken), tuple(records))
        configured = self._networks.networks
        recorded = [config for config in owners.configurations() if config.name not in configured]
        checked = [config for config in (*configured.values(), *recorded) if network in ("", config.name)]
        disabled = tuple(config for config in checked if config.disable_gc)
        return dataclasses.replace(owners, gc_disabled_networks=disabled, netns_dir=self._runtime.paths.netns_dir)

    def _collect_record(self, record: Record) -> Leak | None:
        """Delete an attachment that is lost or not valid."""
        loss = self._reason_if_lost(record)
        if not record.is_own:
            return self._foreign.collect_if_lost(record, self._runtime.records, loss)
        reason = loss or self._reason_if_invalid(record)
        if not reason:
            return None
        attachment, path = record.attachment, self._runtime.records.path_of(record.attachment.key)
        leak = Leak(Kind.RECORD, attachment.network, path, f"the {attachment}: {reason}", proofs=(reason,))
        return self._delete(record, leak, "" if loss else self._policy.reason_for_age(modification_time(path)))

    def _collect_foreign(self, record: Record) -> Leak | None:
        store = self._all_records.find_store(record)
        return self._foreign.collect_if_lost(record, store, self._reason_if_lost(record)) if store else None

    def _collect_interrupted(self, intent: Record, record: Record) -> Leak:
        """Finish an operation on a recorded attachment; an ADD that has written the record is complete."""
        leak, attachment = self._describe_intent(intent), record.attachment
        if intent.command == "ADD" and not self._reason_if_lost(record):
            leak.evidence += f", and {self._runtime.records.path_of(attachment.key)} records that it was completed"
            return self._policy.collect_unless("", leak, lambda: self._runtime.intents.remove(attachment.key))
        if not record.is_own:
            return self._foreign.collect_interrupted(record, self._runtime.records, leak)
        return self._delete_interrupted(record, intent, leak)

    def _collect_intent(self, intent: Record) -> Leak:
        """Delete what an operation without a record has left; the intent itself says what to delete."""
        return self._delete_interrupted(intent, intent, self._describe_intent(intent))

    def _describe_intent(self, intent: Record) -> Leak:
        """Return the leak of an interrupted operation. The network is locked, so no run is executing it."""
        attachment, path = intent.attachment, self._runtime.intents.path_of(intent.attachment.key)
        evidence = f"the {attachment}: a run was interrupted at {intent.command}"
        return Leak(Kind.INTENT, attachment.network, path, evidence)

    def _delete_interrupted(self, record: Record, intent: Record, leak: Leak) -> Leak:
        """Delete an attachment unless something else will complete the operation."""
        reason = ""
        if intent.restoration is not None:
            reason = "cni-node-restore.service will restore it"
        elif self._valid.has(record.attachment.key) and not self._reason_if_lost(record):
            reason = "valid_attachments lists it: run cni.node.attachments to complete it"
        return self._delete(record, leak, reason)

    def _delete(self, record: Record, leak: Leak, reason: str) -> Leak:
        if self._policy.dry_run and not reason:
            try:
                self._runtime.require_safe_plugins(record)
            except CniError as exc:
                return leak.fail(exc)
        return self._policy.collect_unless(reason, leak, lambda: self._detach(record), DELETED)

    def _detach(self, record: Record) -> None:
        reconciler = Reconciler(self._runtime, self._networks, Policy())
        error = reconciler.reconcile(DesiredAttachment(record.attachment, present=False)).error
        if error is not None:
            raise error

    def _reason_if_lost(self, record: Record) -> str:
        """Return why an attachment's network namespace is lost, or an empty string.

        A network namespace with restoration at boot is never lost, because the next boot creates it again.
        """
        path, recorded = record.with_netns_of_result().attachment.netns, record.netns_identity
        identity = netns_identity(path) if path else ""
        if record.restoration is not None or not path or (identity and recorded in ("", identity)):
            return ""
        if recorded in self._mounted:
            return ""  # it has another path now, at which cni.node.attachments recreates the attachment
        return f"its network namespace {path} {'has been replaced' if identity else 'is gone'}"

    @functools.cached_property
    def _mounted(self) -> frozenset[str]:
        """Return the identities of the mounted network namespaces."""
        return frozenset(map(netns_identity, live_namespaces.mount_points().values()))

    def _reason_if_invalid(self, record: Record) -> str:
        is_invalid = record.is_own and self._valid.lacks(record.attachment.key)
        return "valid_attachments does not list it" if is_invalid else ""


def _collect_each(work: t.Iterable[tuple[Record, Collect]], leaks: list[Leak]) -> set[Names]:
    """Collect lost attachments; return those that remain."""
    live: set[Names] = set()
    for record, collect in work:
        leak = _collect_safely(record, collect)
        if leak is not None:
            leaks.append(leak)
        if leak is None or leak.action != DELETED:
            live.add(record.attachment.key[1:])
    return live


def _collect_safely(record: Record, collect: Collect) -> Leak | None:
    """Return the leak, or None. After an error, return a failed leak: the attachment counts as live."""
    try:
        return collect(record)
    except Exception as exc:
        kind = Kind.INTENT if record.command else Kind.RECORD
        evidence = f"the {record.attachment}: it could not be checked"
        return Leak(kind, record.attachment.network, str(record.attachment), evidence).fail(as_error(exc))


def _keep(dummy: Record) -> None:
    """Collect nothing."""


def _unreadable(kind: Kind, network: str, path: str, error: CniError) -> Leak:
    return Leak(kind, network, path, f"it cannot be read, so its owner is unknown: {error.msg}")
