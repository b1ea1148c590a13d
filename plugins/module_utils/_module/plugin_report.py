# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The result of the module `plugins`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange

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
    warn(module, (_package_warning(f"{path}/{change.name}", change.package) for change in changes if change.package))
    actions = summarize_actions((change.action for change in changes), predicted=module.check_mode)
    what = "plugins, rolled back" if module.params["state"] == "rolled_back" else "plugins"
    versions = ", ".join(filter(None, (_label(result, results) for result in results)))
    return {
        "changed": any(result.changed for result in results),
        **next((_versions(result) for result in results if result.name == REFERENCE), {}),
        "sets": [{"name": result.name, **_versions(result)} for result in results],
        "plugins": [_entry(change) for change in changes],
        "diff": {"before": _state(results, after=False), "after": _state(results, after=True)},
        "msg": f"{what} {versions}: {actions}" if versions else f"{what}: {actions}",
    }


def _is_reference_only(results: t.Sequence[InstallResult]) -> bool:
    return [result.name for result in results] == [REFERENCE]


def _label(result: InstallResult, results: t.Sequence[InstallResult]) -> str:
    name = "" if _is_reference_only(results) else result.name
    return f"{name} {result.version or ''}".strip()


def _versions(result: InstallResult) -> JsonObject:
    return {"version": result.version, "previous": result.previous, "kept": result.kept}


def _not_removed_warning(path: str, aside: str | None) -> str:
    warning = f"{path} is not removed, because it is not the file that was installed"
    restored = f"the file set aside for it, {aside}, is restored by the next run once {path} is gone"
    return f"{warning}; {restored}" if aside else warning


def _package_warning(path: str, package: str) -> str:
    return f"{path} belongs to the package {package}, whose next update replaces the plugin"


def _entry(change: PluginChange) -> dict[str, str]:
    entry = {"name": change.name, "set": change.set, "action": change.action}
    return {**entry, "sha256": change.after} if change.after else entry


def _state(results: t.Sequence[InstallResult], *, after: bool) -> JsonObject:
    """Return one side of the diff: the version and the plugins of each set that changes."""
    states = {result.name: _set_state(result, after=after) for result in results if result.changed}
    return states.get(REFERENCE, {}) if _is_reference_only(results) else states


def _set_state(result: InstallResult, *, after: bool) -> JsonObject:
    plugins = {change.name: _describe(change, after) for change in result.changes if change.changed}
    kept = {"kept": result.kept} if after else {}
    return {"version": result.version if after else result.previous, "plugins": plugins, **kept}


def _describe(change: PluginChange, after: bool) -> str:
    if after:
        return change.after[:12] or "absent"
    return str(change.before) if change.before else "absent"


__all__ = ("report",)
