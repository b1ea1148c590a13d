# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import concurrent.futures
import functools
import math
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.worker_slots import WorkerSlots
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    DesiredAttachment,
)


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


def reconcile_all(
    reconciler: Reconciler, desired: t.Sequence[DesiredAttachment], workers: int, until: float = math.inf
) -> list[AttachmentResult]:
    """Reconcile all attachments, different containers in parallel; a failure does not stop the others.

    A container leaves networks before it joins others, because the interface may have the same name. If the second
    network cannot be joined, the first attachment is rolled back.

    Args:
        until: Time of the monotonic clock after which no further container is begun; the first container always is.

    Returns:
        The results of the reconciled attachments, in the order given.
    """
    fast_path = reconciler.check_unchanged if reconciler.has_fast_path else lambda dummy: None
    results = [fast_path(item) for item in desired]
    repairs = reconciler.repair(item for item, result in zip(desired, results) if result is None)
    containers: dict[str, list[int]] = {}
    for position, item in enumerate(desired):
        if results[position] is None:
            containers.setdefault(item.attachment.container_id, []).append(position)

    def reconcile(number: int, positions: list[int]) -> None:
        # What was put back is reported by this call.
        is_repaired = any(desired[position].attachment.key in repairs for position in positions)
        if number and not is_repaired and time.monotonic() >= until:
            return
        reconciled = _reconcile_container(reconciler, [desired[position] for position in positions])
        for position, result in zip(positions, reconciled):
            results[position] = result

    if containers:
        slots = WorkerSlots(workers)

        def work(number: int, positions: list[int]) -> None:
            with slots.hold():
                reconcile(number, positions)

        threads = max(workers, min(len(containers), _MOST_WAITING)) if workers > 1 else 1
        _run_all([functools.partial(work, *item) for item in enumerate(containers.values())], threads)
    return [result for result in results if result is not None]


# Threads that wait for a commit in which built-in plugins write for all of them; they hold no slot of a worker.
_MOST_WAITING: t.Final = 64


def _run_all(jobs: t.Iterable[t.Callable[[], None]], workers: int) -> None:
    """Run jobs in threads. After an exception, start no other job, and raise it when the started jobs have ended."""
    pool = concurrent.futures.ThreadPoolExecutor(workers)
    try:
        futures = [pool.submit(job) for job in jobs]
        # Waiting for one future at a time would wake this thread for each of them and take CPU time from a worker.
        concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
    finally:
        pool.shutdown(cancel_futures=True)
    for future in futures:
        future.result()


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


__all__ = ("find_unlisted", "reconcile_all")
