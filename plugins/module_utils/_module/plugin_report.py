# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The result of the module plugins."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def report(module: AnsibleModule, results: t.Sequence[InstallResult]) -> JsonObject:
    """Return the result of the module, and warn about plugins that are not removed."""
    path = module.params["bin_dir"]
    for result in results:
        warn(
            module, (_not_removed_warning(f"{path}/{name}", result.set_aside.get(name)) for name in result.not_removed)
        )
    changes = [change for result in results for change in result.changes]
    warn(
        module,
        (
            f"{path}/{change.name} belongs to the package {change.package}, whose next update replaces the plugin"
            for change in changes
            if change.package
        ),
    )
    is_reference_only = [result.name for result in results] == [REFERENCE]
    labels = [f"{'' if is_reference_only else result.name} {result.version or ''}".strip() for result in results]
    actions = summarize_actions((change.action for change in changes), predicted=module.check_mode)
    what = "plugins, rolled back" if module.params["state"] == "rolled_back" else "plugins"
    sets = {result.name: {key: getattr(result, key) for key in ("version", "previous", "kept")} for result in results}
    before, after = (
        {result.name: _state(result, after=after) for result in results if result.changed} for after in (False, True)
    )
    if is_reference_only:
        before, after = before.get(REFERENCE, {}), after.get(REFERENCE, {})
    return {
        "changed": any(result.changed for result in results),
        **sets.get(REFERENCE, {}),
        "sets": [{"name": name, **versions} for name, versions in sets.items()],
        "plugins": [_entry(change) for change in changes],
        "diff": {"before": before, "after": after},
        "msg": f"{' '.join([what, ', '.join(filter(None, labels))]).strip()}: {actions}",
    }


def _not_removed_warning(path: str, aside: str | None) -> str:
    warning = f"{path} is not removed, because it is not the file that was installed"
    restored = f"the file set aside for it, {aside}, is restored by the next run once {path} is gone"
    return f"{warning}; {restored}" if aside else warning


def _entry(change: PluginChange) -> JsonObject:
    entry = {"name": change.name, "set": change.set, "action": change.action}
    return {**entry, "sha256": change.after} if change.after else entry


def _state(result: InstallResult, *, after: bool) -> JsonObject:
    """Return one side of the diff of a set: its version, and the plugins that change."""
    plugins = {
        change.name: (change.after[:12] if after else str(change.before or "")) or "absent"
        for change in result.changes
        if change.changed
    }
    if after:
        return {"version": result.version, "plugins": plugins, "kept": result.kept}
    return {"version": result.previous, "plugins": plugins}
