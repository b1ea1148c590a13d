# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node import boot_unit, resolv_conf
from ansible_collections.cni.node.plugins.module_utils._node.file_change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.outcome import Outcome
from ansible_collections.cni.node.plugins.module_utils._node.restoration import lasting


def prepare(cache_dir: str, outcomes: t.Sequence[Outcome], *, dry_run: bool) -> tuple[list[FileChange], list[str]]:
    """Have what the next boot needs on the node, as long as a record says that something is to be restored.

    The records are all there is to go by, so a run that was killed is made up for by the next.

    Args:
        outcomes: What has become of attachments, or in a dry run would.

    Returns:
        What has changed, and warnings.

    Raises:
        CniError: ``IO_FAILURE``, ``DECODE_FAILURE``.
    """
    cache_dir = os.path.abspath(cache_dir)
    kept = {path: lasting(path) for path in sorted({cache_dir, *boot_unit.cache_dirs()})}
    undecided = [outcome for outcome in outcomes if outcome.changed] if dry_run else []
    keys = {outcome.attachment.key for outcome in undecided}
    kept[cache_dir] = [record for record in kept[cache_dir] if record.attachment.key not in keys]
    awaited = {cache_dir} if any(outcome.after and outcome.after.restoration for outcome in undecided) else set()
    unit = boot_unit.changes([path for path, records in kept.items() if records or path in awaited])
    records = [record for found in kept.values() for record in found]
    resolving, warnings = resolv_conf.changes(records, [outcome.attachment.netns for outcome in undecided])
    if not dry_run:
        for change in resolving:
            resolv_conf.carry_out(change)
        boot_unit.carry_out(unit)
    return [*unit, *resolving], warnings


__all__ = ("prepare",)
