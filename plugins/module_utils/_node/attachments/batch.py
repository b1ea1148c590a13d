# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import concurrent.futures
import math
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)


def unwanted(runtime: Runtime, wanted: t.Iterable[DesiredAttachment]) -> tuple[list[DesiredAttachment], list[CniError]]:
    """Return what this collection has attached, or begun to, and nobody wants any more.

    Returns:
        The attachments, and what is wrong with each record that does not tell whose it is.
    """
    keys = {one.attachment.key for one in wanted}
    found: dict[Key, DesiredAttachment] = {}
    unknown: list[CniError] = []
    for store in (runtime.records, runtime.intents):
        records, broken = store.read_all()
        unknown += broken.values()
        for record in records:
            if record.is_own and record.attachment.key not in keys:
                found[record.attachment.key] = DesiredAttachment(record.attachment, present=False)
    return list(found.values()), unknown


def reconcile_all(
    reconciler: Reconciler, wanted: t.Sequence[DesiredAttachment], workers: int, until: float = math.inf
) -> list[AttachmentResult]:
    """Work on all of them, different containers at once; one that fails, foreseen or not, does not stop the others.

    A container leaves networks before it joins others, for the interface may have the same name. Where the other cannot
    be joined then, it returns.

    Args:
        until: When, by the monotonic clock, no further container is begun, but for the first.

    Returns:
        What became of each that was worked on, in the order given.
    """
    outcomes = [reconciler.check_unchanged(one) for one in wanted]
    containers: dict[str, list[int]] = {}
    for position, one in enumerate(wanted):
        if outcomes[position] is None:
            containers.setdefault(one.attachment.container_id, []).append(position)

    def work(number: int, positions: list[int]) -> None:
        if number and time.monotonic() >= until:
            return
        for position, outcome in zip(positions, _in_order(reconciler, [wanted[position] for position in positions])):
            outcomes[position] = outcome

    if containers:
        pool = concurrent.futures.ThreadPoolExecutor(workers)
        try:
            begun = [pool.submit(work, number, positions) for number, positions in enumerate(containers.values())]
            # Not one after another: this thread would be woken for each, and take its turn from a worker.
            concurrent.futures.wait(begun, return_when=concurrent.futures.FIRST_EXCEPTION)
        finally:
            pool.shutdown(cancel_futures=True)
        for future in begun:
            future.result()
    return [outcome for outcome in outcomes if outcome is not None]


def _in_order(reconciler: Reconciler, wanted: t.Sequence[DesiredAttachment]) -> list[AttachmentResult]:
    """Work on what is wanted of one container; return the outcomes in the order given."""
    outcomes: dict[Key, AttachmentResult] = {}
    replacements = {one.attachment.ifname: one for one in wanted if one.present}
    for one in sorted(wanted, key=lambda one: one.present):
        replacement = None if one.present else replacements.get(one.attachment.ifname)
        outcomes[one.attachment.key] = reconciler.reconcile(one, replacement)
    for ifname, replacement in replacements.items():
        failed = outcomes[replacement.attachment.key]
        left = [one for one in outcomes.values() if one.removed_record is not None and one.attachment.ifname == ifname]
        if left and failed.action == "failed" and failed.after is None:
            reconciler.roll_back(left[0], failed)
    return [outcomes[one.attachment.key] for one in wanted]


__all__ = ("reconcile_all", "unwanted")
