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
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import lasting
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange

_MADE: t.Final = (Action.ADDED, Action.RECREATED)


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
    """Have what the next boot needs on the node, as long as a record says that something is to be restored.

    The records are all there is to go by, so a run that was killed is made up for by the next.

    Args:
        outcomes: What has become of attachments, or in a dry run would.
        timeout: Seconds to wait for another run that is at it, of whatever cache directory.
        program_dir: Where the program is to be; None to leave it where it is.

    Returns:
        What has changed, and warnings.

    Raises:
        CniError: ``IO_FAILURE``, ``DECODE_FAILURE``; ``TRY_AGAIN`` when the time is over.
    """
    lock = hold_lock(boot_paths.LOCK, exclusive=True, timeout=timeout, what="what the next boot needs")
    with contextlib.nullcontext() if dry_run else lock:
        foretold = [outcome for outcome in outcomes if outcome.changed and dry_run]
        plan = _plan(os.path.abspath(cache_dir), foretold, program_dir)
        if not dry_run:
            for change in plan.resolving:
                resolv_conf.carry_out(change)
            systemd_unit.carry_out(plan.unit)
    return [*plan.unit, *plan.resolving], plan.warnings


def _plan(cache_dir: str, foretold: t.Sequence[AttachmentResult], program_dir: str | None) -> _Plan:
    kept = {path: lasting(path) for path in sorted({cache_dir, *systemd_unit.cache_dirs()})}
    keys = {outcome.attachment.key for outcome in foretold}
    kept[cache_dir] = [record for record in kept[cache_dir] if record.attachment.key not in keys]
    staying = [outcome for outcome in foretold if outcome.after and outcome.after.restoration]
    awaited = {cache_dir} if staying else set()
    unit = systemd_unit.changes([path for path, records in kept.items() if records or path in awaited], program_dir)
    noted = [outcome.attachment.key for outcome in staying if outcome.action not in _MADE]
    kept[cache_dir] += filter(None, map(RecordStore.of_records(cache_dir).read, noted))
    records = [record for found in kept.values() for record in found]
    # Only a plugin can tell the name servers of what is yet to be made.
    undecided = [outcome.attachment.netns for outcome in staying if outcome.action in _MADE]
    resolving, warnings = resolv_conf.changes(records, undecided)
    return _Plan(unit, resolving, warnings)


__all__ = ("prepare",)
