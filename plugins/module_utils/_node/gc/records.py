# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.files import modification_time
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims, Names, Valid


class RecordLeaks:
    """Finds attachments that nobody claims any more, and those that were begun and not finished; DEL collects them."""

    def __init__(
        self, runtime: Runtime, conf_dir: ConfDir, valid: Valid, scope: Scope, removed: t.Collection[Key] = ()
    ) -> None:
        """
        Args:
            removed: Attachments that a task before this one would have deleted.
        """
        self._runtime = runtime
        self._networks = conf_dir
        self._all_records = AllRecords(runtime.records)
        self._valid = valid
        self._scope = scope
        self._removed = frozenset(removed)
        self._going: set[Key] = set()

    def known(self) -> tuple[list[Attachment], list[Leak]]:
        """Return whose records and intents there are on the node, and those that do not tell."""
        records, broken = self._all_records.read_all()
        begun, broken_intents = self._runtime.intents.read_all()
        unreadable = [_unreadable("record", "", *one) for one in broken.items()]
        unreadable += [_unreadable("intent", "", *one) for one in broken_intents.items()]
        known = [record.attachment for record in (*records, *begun)]
        return [attachment for attachment in known if attachment.key not in self._removed], unreadable

    def of(self, network: str, leaks: list[Leak]) -> Claims:
        """Collect what there is of a network; return who owns the rest.

        Args:
            leaks: Takes each leak as soon as it is known, so that none is lost over the next.
        """
        ours, elsewhere, broken = self._all_records.read_network(network)
        pending, broken_intents = self._runtime.intents.read_network(network)
        begun = {intent.attachment.key: intent for intent in pending}
        for attachment in (record.attachment for record in ours):
            if broken_intents.pop(self._runtime.intents.path_of(attachment.key), None):
                # A loss of power may leave an empty one of DEL's, which is not waited for to be on disk.
                begun[attachment.key] = Record(attachment, b"", command="DEL")
        leaks += [_unreadable("record", network, *one) for one in broken.items()]
        leaks += [_unreadable("intent", network, *one) for one in broken_intents.items()]
        staying: set[Names] = {record.attachment.key[1:] for record in elsewhere}
        for record in ours:
            intent = begun.pop(record.attachment.key, None)
            if record.attachment.key in self._removed:
                continue
            leak = _guarded(record, functools.partial(self._record, intent=intent))
            if leak is None or leak.action != DELETED:
                staying.add(record.attachment.key[1:])
            leaks += [leak] if leak else []
        for intent in (one for one in begun.values() if one.attachment.key not in self._removed):
            leak = _guarded(intent, self._intent)
            if leak is None or leak.action != DELETED:
                staying.add(intent.attachment.key[1:])
            leaks += [leak] if leak else []
        every = (*ours, *elsewhere, *pending)
        going = {record.attachment.key[1:] for record in every} - staying if self._scope.dry_run else set()
        self._going |= {(network, *names) for names in going}
        staying |= self._valid.of(network)
        return self._claims(network, staying, going, broken, every)

    def elsewhere(self, network: str) -> set[Names]:
        """Return the attachments that other runtimes have recorded at their own places by now.

        Raises:
            CniError: Of a record that cannot be read.
        """
        records, broken = self._all_records.read_elsewhere(network)
        for error in broken.values():
            raise error
        return {record.attachment.key[1:] for record in records}

    def everywhere(self) -> Claims:
        """Return who owns something of any network, after all that has been collected, or would have been."""
        records, broken = self._all_records.read_all()
        records += self._runtime.intents.read_all()[0]
        keys = {record.attachment.key for record in records}
        staying = {key[1:] for key in keys - self._going} | self._valid.names()
        going = {key[1:] for key in self._going} - staying
        return self._claims("", staying, going, broken, records)

    def _claims(
        self, network: str, staying: set[Names], going: set[Names], broken: t.Iterable[str], records: t.Sequence[Record]
    ) -> Claims:
        """Return who owns something of a network, or of all; what a network forbids is in its file, or else recorded."""
        claims = Claims(network, frozenset(staying), frozenset(going), tuple(broken), tuple(records))
        configured = self._networks.networks
        others = [one for one in claims.configurations() if one.name not in configured]
        known = [one for one in (*configured.values(), *others) if network in ("", one.name)]
        return dataclasses.replace(claims, sharing=tuple(one for one in known if one.disable_gc))

    def _record(self, record: Record, intent: Record | None) -> Leak | None:
        if intent is not None:
            return self._intent(record, intent)
        reason = self._why_gone(record) or self._why_invalid(record)
        if not reason:
            return None
        attachment, path = record.attachment, self._runtime.records.path_of(record.attachment.key)
        leak = Leak("record", attachment.network, path, f"the {attachment}: {reason}")
        doubt = "" if record.is_own else "the record is another runtime's"
        if not doubt and not self._why_gone(record):
            doubt = self._scope.young(modification_time(path))
        return self._delete(record, leak, doubt)

    def _intent(self, record: Record, intent: Record | None = None) -> Leak:
        """Finish what was begun: the network is locked, so nobody is at it."""
        begun, attachment = intent or record, record.attachment
        path = self._runtime.intents.path_of(attachment.key)
        reason = f"the {attachment}: a run was interrupted at {begun.command}"
        leak = Leak("intent", attachment.network, path, reason)
        if intent is not None and intent.command == "ADD" and not self._why_gone(record):
            leak.evidence += f", and {self._runtime.records.path_of(attachment.key)} says that it was completed"
            return self._scope.settle(leak, "", lambda: self._runtime.intents.remove(attachment.key))
        doubt = ""
        if intent is not None and not record.is_own:
            doubt = "the record is another runtime's"
        elif begun.restoration is not None:
            doubt = "it is to be restored: cni-node-restore.service will finish it"
        elif self._valid.has(attachment.key) and not self._why_gone(record):
            doubt = "it is called valid: let the module attachments finish it"
        return self._delete(record, leak, doubt)

    def _delete(self, record: Record, leak: Leak, doubt: str) -> Leak:
        if self._scope.dry_run and not doubt:
            try:
                self._runtime.require_safe_plugins(record)
            except CniError as exc:
                return leak.fail(exc)
        return self._scope.settle(leak, doubt, lambda: self._detach(record), DELETED)

    def _detach(self, record: Record) -> None:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy

        reconciler = Reconciler(self._runtime, self._networks, Policy())
        error = reconciler.reconcile(DesiredAttachment(record.attachment, present=False)).error
        if error is not None:
            raise error

    def _why_gone(self, record: Record) -> str:
        """Say why nobody can have an attachment any more; one that is restored after a reboot only waits for that."""
        path, recorded = record.attachment.netns, record.netns_identity
        identity = netns_identity(path) if path else ""
        if record.restoration is not None or not path or (identity and recorded in ("", identity)):
            return ""
        if recorded in self._mounted:
            return ""  # it has another path by now: the module attachments attaches it there
        return f"its network namespace {path} is {'another one now' if identity else 'gone'}"

    @functools.cached_property
    def _mounted(self) -> frozenset[str]:
        """The identities of the namespaces that are mounted."""
        from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces

        return frozenset(map(netns_identity, live_namespaces.mount_points().values()))

    def _why_invalid(self, record: Record) -> str:
        lacks = record.is_own and self._valid.lacks(record.attachment.key)
        return "valid_attachments does not have it" if lacks else ""


def _guarded(record: Record, examine: t.Callable[[Record], Leak | None]) -> Leak | None:
    """Return the leak that a record is, or None. An unexpected error becomes a failed leak, and the attachment stays."""
    try:
        return examine(record)
    except Exception as exc:
        kind = "intent" if record.command else "record"
        evidence = f"the {record.attachment}: it could not be examined"
        return Leak(kind, record.attachment.network, str(record.attachment), evidence).fail(as_error(exc))


def _unreadable(kind: str, network: str, path: str, error: CniError) -> Leak:
    return Leak(kind, network, path, f"it cannot be read, so nobody can tell whose it is: {error.msg}")


__all__ = ("RecordLeaks",)
