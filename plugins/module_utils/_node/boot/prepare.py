# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write the files that restore attachments at boot, or remove them."""

from __future__ import annotations

import contextlib
import itertools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.current_library import require_library
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot.resolv_conf import ResolvConfFiles
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import read_restorable
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, say_done
from ansible_collections.cni.node.plugins.module_utils._node.library.users import register

_ADDS = (Action.ADDED, Action.RECREATED)


class _Plan(t.NamedTuple):
    library: Library | None
    unit: list[FileChange]
    resolv_conf: list[FileChange]
    warnings: list[str]


def prepare(
    cache_dir: str,
    results: t.Sequence[AttachmentResult],
    *,
    dry_run: bool,
    timeout: float,
    paths: NodePaths,
) -> tuple[list[FileChange], list[str]]:
    """Write the files that restore attachments at boot, or remove them if no record requires restoration.

    The changes depend on the records alone, so the next run completes the work of a killed run.

    Args:
        results: Results of attachments; in a dry run, they are predictions.
        timeout: Seconds to wait for another run that prepares restoration, for any cache directory.

    Returns:
        Changes made, or predicted in a dry run, and warnings.

    Raises:
        CniError: ``IO_FAILURE``, ``DECODE_FAILURE``; ``TRY_AGAIN`` after the timeout.
    """
    lock = hold_lock(paths.restore_lock, exclusive=True, timeout=timeout, what="the set-up of restoration at boot")
    with contextlib.nullcontext() if dry_run else lock:
        predicted = [result for result in results if result.changed and dry_run]
        systemd_unit, resolv_conf = SystemdUnit(paths), ResolvConfFiles(paths)
        plan = _plan(os.path.abspath(cache_dir), predicted, systemd_unit, resolv_conf, dry_run=dry_run)
        if not dry_run:
            with say_done() as done:
                for change in plan.resolv_conf:
                    resolv_conf.carry_out(change)
                    done["changed"].append(change.path)
            systemd_unit.carry_out(plan.unit, done)
            if plan.library is not None:
                register(plan.library, [paths.restore_unit])
    return [*plan.unit, *plan.resolv_conf], plan.warnings


def _plan(
    cache_dir: str,
    predicted: t.Sequence[AttachmentResult],
    systemd_unit: SystemdUnit,
    resolv_conf: ResolvConfFiles,
    *,
    dry_run: bool,
) -> _Plan:
    """Plan the changes of all files.

    Args:
        predicted: In a dry run, results of attachments that a run would change.
    """
    listed = systemd_unit.read_cache_dirs()
    restorable = {path: read_restorable(path) for path in sorted({cache_dir, *listed})}
    kept = {path: found.records for path, found in restorable.items()}
    # What cannot be read now may have to be restored at boot.
    doubtful = {path: restorable[path].doubts for path in listed if restorable[path].doubts}
    keys = {result.attachment.key for result in predicted}
    kept[cache_dir] = [record for record in kept[cache_dir] if record.attachment.key not in keys]
    restored = [result for result in predicted if result.after and result.after.restoration]
    required = {path for path, records in kept.items() if records} | ({cache_dir} if restored else set()) | {*doubtful}
    directories = [path for path in kept if path in required]
    library = require_library("persist", dry_run=dry_run) if directories else None
    unit = systemd_unit.plan_changes(directories, library)
    recorded = [result.attachment.key for result in restored if result.action not in _ADDS]
    kept[cache_dir] += filter(None, map(RecordStore.of_records(cache_dir).read, recorded))
    # The name servers of an attachment are known only after its ADD.
    undecided = [result.attachment.netns for result in restored if result.action in _ADDS]
    changes, warnings = resolv_conf.plan_changes(itertools.chain(*kept.values()), undecided, is_complete=not doubtful)
    advice = "restoration at boot stays set up for it; mend it, or make an empty one if nothing is left to restore"
    warnings += [f"{doubt}; {advice}" for doubts in doubtful.values() for doubt in doubts]
    return _Plan(library, unit, changes, warnings)
