# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.false_alarm import is_false_alarm
from ansible_collections.cni.node.plugins.module_utils._node.masquerade import sweep


@dataclasses.dataclass(frozen=True)
class Wanted:
    """An attachment and whether there is to be one."""

    attachment: Attachment
    present: bool = True


@dataclasses.dataclass(frozen=True)
class Policy:
    """How far to trust what is recorded.

    Attributes:
        check: ``always``, ``changed`` (only what this run has made) or ``never``.
        on_drift: What a failed CHECK leads to: ``recreate``, ``fail`` or ``report``.
        dry_run: Run no ADD and no DEL, and say what they would do.
    """

    check: str = "always"
    on_drift: str = "recreate"
    dry_run: bool = False


@dataclasses.dataclass
class Outcome:
    """What became of one attachment.

    Attributes:
        action: ``added``, ``checked``, ``recreated``, ``removed``, ``unchanged`` or ``failed``.
        reason: Why there was something to do.
        result: The attachment's CNI result.
        false_alarms: Complaints of CHECK that are known to be wrong.
        awaited: What a dry run misses and another task may be about to make.
        seconds: Time from its start to its end.
    """

    attachment: Attachment
    action: str = "unchanged"
    reason: str = ""
    result: t.Mapping[str, t.Any] | None = None
    error: CniError | None = None
    false_alarms: tuple[CniError, ...] = ()
    awaited: CniError | None = None
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return self.action in ("added", "recreated", "removed")


class Attachments:
    """Brings a node's attachments to what is wanted, by facts and not by memory."""

    def __init__(self, runtime: Runtime, conf_dir: ConfDir, policy: Policy) -> None:
        self._runtime = runtime
        self._conf_dir = conf_dir
        self._policy = policy
        self._recorded_networks: dict[bytes, NetworkConfiguration] = {}

    def converge(self, wanted: t.Sequence[Wanted], workers: int) -> list[Outcome]:
        """Work on all of them, different containers at once; one that fails does not stop the others.

        Returns:
            What became of each, in the order given.
        """
        containers: dict[str, list[int]] = {}
        for position, one in enumerate(wanted):
            containers.setdefault(one.attachment.container_id, []).append(position)
        outcomes: dict[int, Outcome] = {}

        def work(positions: list[int]) -> None:
            for position in positions:
                outcomes[position] = self._converge(wanted[position])

        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for dummy in pool.map(work, containers.values()):
                pass
        return [outcomes[position] for position in range(len(wanted))]

    def unwanted(self, wanted: t.Sequence[Wanted]) -> list[Wanted]:
        """Return what this collection has attached, or begun to, and nobody wants any more."""
        keys = {one.attachment.key for one in wanted}
        found: dict[Key, Wanted] = {}
        for store in (self._runtime.records, self._runtime.intents):
            records, dummy = store.read_all()
            for record in records:
                if record.is_own and record.attachment.key not in keys:
                    found[record.attachment.key] = Wanted(record.attachment, present=False)
        return list(found.values())

    def _converge(self, one: Wanted) -> Outcome:
        outcome = Outcome(one.attachment)
        started = time.monotonic()
        try:
            self._runtime.records.check_key(one.attachment.validated().key)
            if self._policy.dry_run:
                self._decide(one, outcome)
            else:
                with self._runtime.exclusion.attachment(one.attachment):
                    self._decide(one, outcome)
        except CniError as exc:
            outcome.action, outcome.error = "failed", exc
        outcome.seconds = time.monotonic() - started
        return outcome

    def _decide(self, one: Wanted, outcome: Outcome) -> None:
        record, outcome.reason = self._known(one.attachment)
        if not one.present:
            self._remove(record, outcome)
            return
        network = self._required(one.attachment, outcome)
        if record is None or network is None:
            self._add(network, outcome, "recreated" if record else "added")
            return
        outcome.reason = outcome.reason or self._difference(record, network, one.attachment)
        if not outcome.reason:
            outcome.result = record.result.keys if record.result else None
            self._check_existing(record, outcome)
        if outcome.reason and outcome.action == "unchanged":
            self._delete(record)
            self._add(network, outcome, "recreated")

    def _required(self, attachment: Attachment, outcome: Outcome) -> NetworkConfiguration | None:
        """Return the network's configuration where both it and the namespace are there."""
        try:
            network = self._conf_dir.get(attachment.network)
            netns.require_foreign(attachment.netns)
        except CniError as exc:
            is_there = os.path.exists(attachment.netns) and attachment.network in self._conf_dir.networks
            if is_there or not self._policy.dry_run:
                raise
            outcome.awaited = exc
            return None
        return network

    def _known(self, attachment: Attachment) -> tuple[Record | None, str]:
        """Return what is recorded of an attachment, and why it cannot stay whatever it is."""
        try:
            record = self._record(attachment)
            intent = self._intent(attachment.key, needed=record is None)
        except CniError as exc:
            return self._from_configuration(attachment, exc), f"its record is broken: {exc.msg}"
        if record is not None and intent is not None and intent.command == "ADD":
            self._forget_intent(attachment.key)  # the run was killed right after it had written the record
            return record, ""
        if intent is None:
            return record, ""
        return record or intent, f"an earlier run was interrupted at {intent.command}"

    def _record(self, attachment: Attachment) -> Record | None:
        record = self._runtime.records.read(attachment.key)
        if record is not None and not record.attachment.netns:  # libcni did not record it before 1.2
            return dataclasses.replace(record, attachment=record.attachment.with_netns(attachment.netns))
        return record

    def _intent(self, key: Key, *, needed: bool) -> Record | None:
        try:
            return self._runtime.intents.read(key)
        except CniError:
            if needed:
                raise
            return Record(Attachment(*key), b"", command="DEL")  # a loss of power may leave an empty file of DEL's

    def _forget_intent(self, key: Key) -> None:
        if not self._policy.dry_run:
            self._runtime.intents.remove(key)

    def _from_configuration(self, attachment: Attachment, broken: CniError) -> Record:
        """Make up for a record that cannot be read, as well as today's configuration allows."""
        try:
            network = self._conf_dir.get(attachment.network)
        except CniError as exc:
            advice = f"there is no configuration to run DEL with instead: {exc.msg}; restore it, or remove the record"
            raise CniError(broken.code, broken.msg, advice) from exc
        identity = netns_identity(attachment.netns)
        return Record(
            attachment, network.content, version=self._runtime.versions.select(network), netns_identity=identity
        )

    def _difference(self, record: Record, network: NetworkConfiguration, attachment: Attachment) -> str:
        """Say what of a recorded attachment is not as wanted, or nothing."""
        was = record.attachment
        current = netns_identity(attachment.netns)
        if current != (record.netns_identity or netns_identity(was.netns)):
            return "its network namespace is gone" if not current else "its network namespace is another one now"
        if self._recorded_network(record) != network:
            return "the network's configuration has changed"
        if dict(was.args) != dict(attachment.args):
            return "its arguments have changed"
        if dict(was.capability_args) != dict(attachment.capability_args):
            return "its capability arguments have changed"
        return ""

    def _recorded_network(self, record: Record) -> NetworkConfiguration | None:
        if record.config not in self._recorded_networks:
            try:
                self._recorded_networks[record.config] = record.network()
            except CniError:
                return None
        return self._recorded_networks[record.config]

    def _check_existing(self, record: Record, outcome: Outcome) -> None:
        if self._policy.check != "always":
            return
        try:
            self._check(record, outcome)
        except CniError as exc:
            self._drifted(outcome, exc)

    def _drifted(self, outcome: Outcome, failure: CniError) -> None:
        outcome.reason = f"CHECK failed: {failure}"
        if self._policy.on_drift == "fail":
            raise failure
        if self._policy.on_drift == "report":
            outcome.action, outcome.error = "checked", failure

    def _check(self, record: Record, outcome: Outcome) -> None:
        checked = self._runtime.check(record, is_false_alarm)
        outcome.false_alarms = checked.excused
        if checked.asked:
            outcome.action = "checked"

    def _add(self, network: NetworkConfiguration | None, outcome: Outcome, action: str) -> None:
        if network is not None and not self._policy.dry_run:
            outcome.result = self._runtime.add(network, outcome.attachment).keys
            if self._policy.check != "never":
                self._check_new(outcome)
        outcome.action = action

    def _check_new(self, outcome: Outcome) -> None:
        record = self._runtime.records.read(outcome.attachment.key)
        if record is None:
            raise CniError(
                Code.INTERNAL,
                f"{outcome.attachment}: its record is gone right after ADD",
                "does another runtime share the cache?",
            )
        try:
            self._check(record, outcome)
        except CniError as exc:
            if self._policy.on_drift != "report":
                advice = "it is attached; if the plugin is wrong, forbid CHECK by the option check or by disableCheck"
                what = f"CHECK fails right after ADD, so making it anew will not help: {exc.msg}"
                raise CniError(exc.code, what, f"{exc.details}\n{advice}") from exc
            outcome.error = exc

    def _remove(self, record: Record | None, outcome: Outcome) -> None:
        if record is None:
            outcome.action = "unchanged"
            return
        self._delete(record)
        outcome.action = "removed"

    def _delete(self, record: Record) -> None:
        if self._policy.dry_run:
            return
        try:
            self._runtime.delete(record)
        except CniError:
            if not sweep(record, self._runtime.records):
                raise
            self._runtime.delete(record)  # what had been left behind earlier was in its way
        else:
            sweep(record, self._runtime.records)


__all__ = ("Attachments", "Outcome", "Policy", "Wanted")
