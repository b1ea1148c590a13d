# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reconcile the attachments of a task, different containers at the same time."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux.rules import rule_cache
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    DesiredAttachment,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_index


def find_unlisted(
    runtime: Runtime, listed: t.Iterable[DesiredAttachment]
) -> tuple[list[DesiredAttachment], list[CniError]]:
    """Return this collection's attachments that the task does not list, with state absent. Intents count as attachments.

    Returns:
        The attachments, and an error for each record that cannot be read.
    """
    keys = {desired.attachment.key for desired in listed}
    surplus: dict[Key, DesiredAttachment] = {}
    unreadable: list[CniError] = []
    for store in (runtime.records, runtime.intents):
        records, broken = store.read_all()
        unreadable += broken.values()
        for record in records:
            if record.is_own and record.attachment.key not in keys:
                surplus[record.attachment.key] = DesiredAttachment(record.attachment, present=False)
    return list(surplus.values()), unreadable


T = t.TypeVar("T")


class Sharing(t.NamedTuple):
    """How many containers are shared among processes.

    Attributes:
        prepare: Loads the plugins and leases of a network, before processes are forked.
        journals: Everything that keeps notes of a run.
    """

    prepare: t.Callable[[NetworkConfiguration], None]
    journals: t.Sequence[Journal]


class Journal(t.Protocol):
    """Notes that a run keeps in memory besides its results. The processes of a run hand theirs over to the first one."""

    def take(self) -> t.Any:
        """Return what was noted since the last call, as something that can be pickled."""

    def merge(self, taken: t.Any) -> None:
        """Add what another process has taken."""


def reconcile_all(
    reconciler: Reconciler,
    desired: t.Sequence[DesiredAttachment],
    workers: int,
    until: float = math.inf,
    sharing: Sharing | None = None,
) -> list[AttachmentResult]:
    """Reconcile all attachments, different containers in parallel; a failure does not stop the others.

    A container leaves networks before it joins others, because the interface may have the same name. If the second
    network cannot be joined, the first attachment is rolled back.

    Args:
        until: Time of the monotonic clock after which no further container is begun; the first container always is.
        sharing: How many containers are shared among processes; None to use one process.

    Returns:
        The results of the reconciled attachments, in the order given.
    """
    journals = None if sharing is None else sharing.journals
    with rule_cache.keep(), lease_index.keep():
        results = _find_unchanged(reconciler, desired, workers, journals)
        remaining = {number: item for number, item in enumerate(desired) if number not in results}
        if remaining:
            results.update(_reconcile_remaining(_Batch(reconciler, remaining, workers, until), sharing))
    return [results[number] for number in sorted(results)]


# Containers for which a further process is worth its start. Two processes compare 64 attachments with the kernel as fast as
# one, and 300 in two thirds to three quarters of the time.
_LEAST_SHARE = 16
_LEAST_COMPARED_SHARE = 40
# Threads of a process, with those that wait for a commit in which built-in plugins write for all of them.
_MOST_WAITING = 64
# The numbers of the attachments of one container.
_Container = list[int]
_Results = dict[int, AttachmentResult]


def _find_unchanged(
    reconciler: Reconciler,
    desired: t.Sequence[DesiredAttachment],
    workers: int,
    journals: t.Sequence[Journal] | None,
) -> _Results:
    """Return the results of attachments that are as desired and need no lock.

    Args:
        journals: As in `Sharing`; None to use one process.
    """
    numbers = [number for number, item in enumerate(desired) if reconciler.may_be_unchanged(item)]

    def examine(turns: t.Iterator[int]) -> _Results:
        found = ((number, reconciler.check_unchanged(desired[number])) for number in turns)
        return {number: result for number, result in found if result is not None}

    if not reconciler.compares:
        return examine(iter(numbers))
    processes = _limit_processes(workers, len(numbers) // _LEAST_COMPARED_SHARE)
    if journals is None or processes == 1:
        results = examine(iter(numbers))
    else:
        # All processes share what the first comparison loads: modules, and lists of the node's links and rules.
        results = examine(iter(numbers[:1]))
        results.update(_share(numbers[1:], processes, examine, journals)[0])
    # What is changed of a container may concern its other attachments: DEL of executables also removes rules of those.
    changed = {item.attachment.container_id for number, item in enumerate(desired) if number not in results}
    return {number: each for number, each in results.items() if each.attachment.container_id not in changed}


def _limit_processes(workers: int, shares: int) -> int:
    return max(1, min(workers, len(os.sched_getaffinity(0)), shares))


def _share(
    items: t.Sequence[T], processes: int, work: t.Callable[[t.Iterator[T]], _Results], journals: t.Sequence[Journal]
) -> tuple[_Results, list[CniError]]:
    """Let processes take items in turns; return their results, and the errors of processes that have none."""
    # Most runs are too small for it.
    from ansible_collections.cni.node.plugins.module_utils._linux.worker_processes import Turns, run_shares

    own = os.getpid()

    def run(turns: Turns[T]) -> tuple[_Results, list[t.Any]]:
        if os.getpid() == own:
            return work(turns), []
        for journal in journals:
            journal.take()
        return work(turns), [journal.take() for journal in journals]

    try:
        turns = Turns(items)
    except OSError:  # this process can open no pipe
        return work(iter(items)), []
    rule_cache.share()
    with contextlib.closing(turns):
        outcomes = run_shares([turns] * processes, run)
    results: _Results = {}
    for done, notes in (outcome for outcome in outcomes if not isinstance(outcome, CniError)):
        results.update(done)
        for journal, taken in zip(journals, notes):
            journal.merge(taken)
    return results, [outcome for outcome in outcomes if isinstance(outcome, CniError)]


def _reconcile_remaining(batch: _Batch, sharing: Sharing | None) -> _Results:
    processes = batch.count_processes()
    if sharing is None or processes == 1:
        return batch.reconcile(iter(batch.containers), len(batch.containers))
    batch.prepare(sharing.prepare)

    def reconcile(containers: t.Iterator[_Container]) -> _Results:
        return batch.reconcile(containers, len(batch.containers), processes)

    results, errors = _share(batch.containers, processes, reconcile, sharing.journals)
    for number in batch.desired if errors else ():
        failed = AttachmentResult(batch.desired[number].attachment, Action.FAILED, error=errors[0])
        results.setdefault(number, failed)
    return results


class _Batch:
    """The attachments that are not known to be as desired."""

    def __init__(
        self, reconciler: Reconciler, desired: t.Mapping[int, DesiredAttachment], workers: int, until: float
    ) -> None:
        self._reconciler = reconciler
        self.desired = desired
        self._workers = workers
        self._until = until
        reconciler.repair(desired.values())
        by_container: dict[str, _Container] = {}
        for number, item in desired.items():
            by_container.setdefault(item.attachment.container_id, []).append(number)
        self.containers = list(by_container.values())

    def prepare(self, prepare: t.Callable[[NetworkConfiguration], None]) -> None:
        """Load the plugins and leases of the networks whose attachments are added or removed."""
        for network in self._reconciler.networks_to_change(self.desired.values()):
            prepare(network)

    def count_processes(self) -> int:
        """Return among how many processes the containers are worth being shared."""
        # The files of two attachments may have the same name, and then threads of one process agree on another one.
        names = {"-".join(item.attachment.key) for item in self.desired.values()}
        if len(names) < len(self.desired):
            return 1
        return _limit_processes(self._workers, len(self.containers) // _LEAST_SHARE)

    def reconcile(self, containers: t.Iterator[_Container], count: int, processes: int = 1) -> _Results:
        """Reconcile containers in threads of this process.

        Args:
            count: The number of containers.
            processes: The number of processes that take them in turns.
        """
        results: _Results = {}

        def work(position: int) -> None:
            container = next(containers, None)
            if container is not None and (position == 0 or self._may_begin(container)):
                reconciled = _reconcile_container(self._reconciler, [self.desired[number] for number in container])
                results.update(zip(container, reconciled))

        jobs = [functools.partial(work, position) for position in range(count)]
        # Threads that compete for Python's lock with every system call take half as long again.
        places = 1 if self._is_built_in() else math.ceil(self._workers / processes)
        most = max(places, min(_MOST_WAITING, math.ceil(count / processes)))
        # One worker does one thing at a time, but a commit costs the same for one container and for many.
        Workers(places, most, commits_only=self._workers == 1).run(jobs)
        return results

    def _is_built_in(self) -> bool:
        """Return whether built-in plugins will probably do all work, so that no thread waits for an executable."""
        one_of_each = {item.attachment.network: item for item in self.desired.values()}
        return all(map(self._reconciler.is_built_in, one_of_each.values()))

    def _may_begin(self, container: _Container) -> bool:
        # This call reports what was repaired.
        is_repaired = any(self._reconciler.is_repaired(self.desired[number]) for number in container)
        return is_repaired or time.monotonic() < self._until


def _reconcile_container(reconciler: Reconciler, desired: t.Sequence[DesiredAttachment]) -> list[AttachmentResult]:
    """Reconcile the attachments of one container; return the results in the order given."""
    results: dict[Key, AttachmentResult] = {}
    replacements = {item.attachment.ifname: item for item in desired if item.present}
    for item in sorted(desired, key=lambda item: item.present):
        replacement = None if item.present else replacements.get(item.attachment.ifname)
        results[item.attachment.key] = reconciler.reconcile(item, replacement)
    for replacement in replacements.values():
        failed = results[replacement.attachment.key]
        removed = _removed_at(results.values(), replacement.attachment.ifname)
        if removed and failed.action is Action.FAILED and failed.after is None:
            for result in reconciler.roll_back(removed, failed):
                results[result.attachment.key] = result
    return [results[item.attachment.key] for item in desired]


def _removed_at(results: t.Iterable[AttachmentResult], ifname: str) -> AttachmentResult | None:
    """Return the result of the complete attachment that was removed from an interface, or None."""
    removed = (result for result in results if result.removed_record is not None)
    return next((result for result in removed if result.attachment.ifname == ifname), None)
