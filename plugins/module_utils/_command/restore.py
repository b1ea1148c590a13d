# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The subcommand `restore`: restore the attachments with persist, as the unit does at boot."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._command.subcommand import Answer, Call, Subcommand, add_nothing
from ansible_collections.cni.node.plugins.module_utils._module.call import call
from ansible_collections.cni.node.plugins.module_utils._module.items.attachments_result import describe
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import restore, write_resolv_conf
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import format_attachments


def _run(request: Call) -> Answer:
    result = call(_restore, {}, {}, request.paths)
    entries = result.get("attachments", ())
    lines = [result["msg"], *(format_attachments(entries) if entries else ())]
    return Answer(result, lines, bool(result.get("failed") or result.get("warnings")))


def _restore(module: t.Any, paths: NodePaths) -> JsonObject:
    """Restore from the directories that the unit names; without it, no attachment has persist."""
    cache_dirs = SystemdUnit(paths).read_cache_dirs()
    restored = [restore(cache_dir, default_workers(), paths) for cache_dir in cache_dirs]
    outcomes = [outcome for results, dummy in restored for outcome in results]
    warn(module, (f"not restored: {doubt}" for dummy, doubts in restored for doubt in doubts))
    warn(module, write_resolv_conf(cache_dirs, paths))
    failures = [f"{outcome.attachment}: {outcome.error}" for outcome in outcomes if outcome.error]
    actions = summarize_actions(outcome.action.value for outcome in outcomes)
    return {
        "attachments": [describe(outcome) for outcome in outcomes],
        "changed": any(outcome.changed for outcome in outcomes),
        "failed": bool(failures),
        "msg": "\n".join([f"attachments: {actions}" if outcomes else "no attachment has persist", *failures]),
    }


SUBCOMMAND = Subcommand("restore", "restore the attachments with persist, as at boot", add_nothing, _run)
