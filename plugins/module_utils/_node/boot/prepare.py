# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot import paths as boot_paths
from ansible_collections.cni.node.plugins.module_utils._node.boot import resolv_conf, systemd_unit
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import read_restorable
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange

_ADDS: t.Final = (Action.ADDED, Action.RECREATED)


class _Plan(t.NamedTuple):
    unit: list[FileChange]
    resolving: list[FileChange]
    warnings: list[str]


def prepare(
    cache_dir: str,
    outcomes: t.Sequence[AttachmentResult],
    *,
    dry_run: bool,
    timeout: float,
    program_dir: str | None = None,
) -> tuple[list[FileChange], list[str]]:
    """Write the files that restore attachments at boot, or remove them where no record requires restoration.

    This follows from the records alone, so that the next run completes what a killed run left undone.

    Args:
        outcomes: Results of attachments; in a dry run, they are predictions.
        timeout: Seconds to wait for another run that does the same, for any cache directory.
        program_dir: Directory of the program; None to leave it where it is.

    Returns:
        Changes made, or predicted in a dry run, and warnings.

    Raises:
        CniError: ``IO_FAILURE``, ``DECODE_FAILURE``; ``TRY_AGAIN`` when the time is over.
    """
    lock = hold_lock(boot_paths.LOCK, exclusive=True, timeout=timeout, what="what the next boot needs")
    with contextlib.nullcontext() if dry_run else lock:
        predicted = [outcome for outcome in outcomes if outcome.changed and dry_run]
        plan = _plan(os.path.abspath(cache_dir), predicted, program_dir)
        if not dry_run:
            for change in plan.resolving:
                resolv_conf.carry_out(change)
            systemd_unit.carry_out(plan.unit)
    return [*plan.unit, *plan.resolving], plan.warnings


def _plan(cache_dir: str, predicted: t.Sequence[AttachmentResult], program_dir: str | None) -> _Plan:
    kept = {path: read_restorable(path) for path in sorted({cache_dir, *systemd_unit.cache_dirs()})}
    keys = {outcome.attachment.key for outcome in predicted}
    kept[cache_dir] = [record for record in kept[cache_dir] if record.attachment.key not in keys]
    restored = [outcome for outcome in predicted if outcome.after and outcome.after.restoration]
    required = {cache_dir} if restored else set()
    unit = systemd_unit.changes([path for path, records in kept.items() if records or path in required], program_dir)
    noted = [outcome.attachment.key for outcome in restored if outcome.action not in _ADDS]
    kept[cache_dir] += filter(None, map(RecordStore.of_records(cache_dir).read, noted))
    records = [record for found in kept.values() for record in found]
    # The name servers of an attachment are known only after its ADD.
    unknown = [outcome.attachment.netns for outcome in restored if outcome.action in _ADDS]
    resolving, warnings = resolv_conf.changes(records, unknown)
    return _Plan(unit, resolving, warnings)


__all__ = ("prepare",)
