# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `repair`."""

from __future__ import annotations

import collections
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name
from ansible_collections.cni.node.plugins.module_utils._linux.links.traffic_control import LIBRARY
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_units
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import OWN, Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import (
    LIBRARY_HINT,
    Repair,
    Resource,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

ARGUMENTS: t.Final[arguments.Spec] = {
    "networks": {"type": "list", "elements": "str", "default": []},
    "owners": {"type": "list", "elements": "str", "choices": [OWN, *rows.OWNER_NAMES], "default": []},
    "resources": {"type": "list", "elements": "str", "choices": [resource.value for resource in Resource]},
    "timeout": {"type": "float", "default": 60},
    "on_reload": {"type": "str", "choices": ["present", "absent"]},
    "repair_on": {"type": "list", "elements": "str", "choices": list(repair_units.EVENTS)},
    "interval": {"type": "str", "default": "1min"},
    "packages": {"type": "bool", "default": False},
    **arguments.CACHE_DIR,
}


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
    events = _read_events(params)
    settings = None if events is None else _read_settings(params, events)
    repairs, unreadable = repair_node(paths, params["cache_dir"], timeout, selection, dry_run=module.check_mode)
    warn(module, (f"attachment not repaired: {error}" for error in unreadable))
    result = _report(repairs, predicted=module.check_mode)
    return result if settings is None else {**result, **_set_up_units(module, paths, settings, result)}


def _read_events(params: JsonObject) -> frozenset[str] | None:
    """Return when the node repairs its attachments by itself; None to leave the units as they are."""
    if params["on_reload"] is not None:
        is_present = params["on_reload"] == "present"
        return frozenset((repair_units.BOOT, repair_units.RELOAD) if is_present else ())
    return None if params["repair_on"] is None else frozenset(params["repair_on"])


def _read_settings(params: JsonObject, events: frozenset[str]) -> repair_units.RepairSettings:
    resources = params["resources"]
    return repair_units.RepairSettings(
        os.path.abspath(params["cache_dir"]),
        repair_units.check_interval(params["interval"]),
        tuple(sorted(set(params["networks"]))),
        tuple(sorted(set(params["owners"]))),
        None if resources is None else tuple(sorted(set(resources))),
        events,
    )


def _set_up_units(
    module: AnsibleModule, paths: NodePaths, settings: repair_units.RepairSettings, result: JsonObject
) -> JsonObject:
    """Install or remove the units that repair without a playbook, and return the keys of the result that this changes."""
    wanted = settings if settings.events else None
    option = "on_reload" if module.params["on_reload"] else "repair_on"
    timeout = module.params["timeout"]
    try:
        changes = repair_units.set_up(paths, wanted, timeout, dry_run=module.check_mode, option=option)
    except Exception as exc:  # what was repaired must be reported
        error = as_error(exc)
        return {"failed": True, "msg": f"{result['msg']}\n{error}", "error": error.as_dict(), "files": []}
    files = [{"path": change.path, "action": change.action} for change in changes]
    if not changes:
        return {"files": files}
    first, *failures = result["msg"].split("\n")
    first += f"; files: {summarize_actions((change.action for change in changes), predicted=module.check_mode)}"
    diff = [result["diff"], *(change.as_diff() for change in changes)]
    return {"files": files, "changed": True, "diff": diff, "msg": "\n".join([first, *failures])}


def _report(repairs: t.Sequence[Repair], *, predicted: bool) -> JsonObject:
    entries = [_entry(repair) for repair in repairs]
    remarks = [f"{repair.record.attachment}: {repair.error}" for repair in repairs if repair.error]
    is_library_missing = any(repair.lacks_library for repair in repairs)
    if is_library_missing:
        remarks.append(LIBRARY_HINT)
    actions = summarize_actions((entry["action"] for entry in entries), predicted=predicted)
    return {
        "attachments": [entry for entry in entries if entry["action"] != "unchanged"],
        "missing_libraries": [LIBRARY] if is_library_missing else [],
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
