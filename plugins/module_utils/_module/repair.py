# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import (
    LIBRARY_HINT,
    Repair,
    Resource,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def repair(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Run the module `repair` and return its result."""
    params = module.params
    networks = [check_network_name(name, f"networks[{position}]") for position, name in enumerate(params["networks"])]
    resources = params["resources"]
    selection = Selection(
        frozenset(networks),
        frozenset(params["owners"]),
        None if resources is None else frozenset(Resource(name) for name in resources),
    )
    timeout = positive("timeout", params["timeout"])
    repairs, unreadable = repair_node(paths, params["cache_dir"], timeout, selection, dry_run=module.check_mode)
    warn(module, (f"attachment not repaired: {error}" for error in unreadable))
    return _report(repairs, predicted=module.check_mode)


def _report(repairs: t.Sequence[Repair], *, predicted: bool) -> JsonObject:
    entries = [_entry(repair) for repair in repairs]
    remarks = [f"{repair.record.attachment}: {repair.error}" for repair in repairs if repair.error]
    if any(repair.lacks_library for repair in repairs):
        remarks.append(LIBRARY_HINT)
    actions = summarize_actions((entry["action"] for entry in entries), predicted=predicted)
    return {
        "attachments": [entry for entry in entries if entry["action"] != "unchanged"],
        "summary": dict(collections.Counter(entry["action"] for entry in entries)),
        "changed": any(repair.changed for repair in repairs),
        "failed": any(repair.error for repair in repairs),
        "msg": "\n".join([f"attachments: {actions}" if entries else "no attachments", *remarks]),
        "diff": _diff(repairs),
    }


def _entry(repair: Repair) -> JsonObject:
    attachment = repair.record.attachment
    return {
        "network": attachment.network,
        "container_id": attachment.container_id,
        "ifname": attachment.ifname,
        "netns": attachment.netns,
        "own": repair.record.is_own,
        "action": _action(repair),
        "changed": repair.changed,
        "drift": list(repair.drift),
        "left": list(repair.left),
        "changes": list(repair.changes),
        "reason": repair.reason,
        "error": repair.error.as_dict() if repair.error else None,
    }


def _action(repair: Repair) -> str:
    if repair.error:
        return "failed"
    if repair.changed and not repair.left:
        return "repaired"
    if repair.drift:
        return "drifted"
    return "skipped" if repair.reason else "unchanged"


def _diff(repairs: t.Iterable[Repair]) -> JsonObject:
    changed = [repair for repair in repairs if repair.changed]
    return {
        "before": {},
        "after": {str(repair.record.attachment): list(repair.changes) for repair in changed},
    }


__all__ = ("repair",)
