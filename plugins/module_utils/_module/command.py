# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `command`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name
from ansible_collections.cni.node.plugins.module_utils._module import arguments, gc, repair
from ansible_collections.cni.node.plugins.module_utils._module.run import phrase_action
from ansible_collections.cni.node.plugins.module_utils._node.boot.command_file import set_up

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# What the command uses.
_SETTINGS: t.Final[arguments.Spec] = {
    **{f"gc_{name}": gc.ARGUMENTS[name] for name in ("min_age", "owners")},
    **{f"repair_{name}": repair.ARGUMENTS[name] for name in ("networks", "owners", "resources")},
    **arguments.CONF_DIR,
    **arguments.PLUGIN_DIRS,
    **arguments.CACHE_DIR,
}
ARGUMENTS: t.Final[arguments.Spec] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "path": {"type": "path", "default": "/usr/local/sbin/cni-node"},
    **_SETTINGS,
}


def ensure(module: AnsibleModule) -> JsonObject:
    """Run the module `command` and return its result."""
    params = module.params
    path = arguments.path_of_file("path", params["path"])
    settings = _read_settings(params) if params["state"] == "present" else None
    change = set_up(path, settings, dry_run=module.check_mode)
    return {
        "changed": change.changed,
        "files": [{"path": path, "action": change.action}] if change.changed else [],
        "diff": [change.as_diff()] if change.changed else [],
        "msg": f"{path}: {phrase_action(change.action, predicted=module.check_mode)}",
    }


def _read_settings(params: JsonObject) -> JsonObject:
    """Return the settings after checking those that the command would refuse each time."""
    arguments.zero_or_positive("gc_min_age", params["gc_min_age"])
    for position, name in enumerate(params["repair_networks"]):
        check_network_name(name, f"repair_networks[{position}]")
    return {name: params[name] for name in _SETTINGS}
