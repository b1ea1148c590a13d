# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.plugin_sources import (
    SourceMissing,
    SourceNeeded,
    Sources,
)
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import (
    BinDirectory,
    Labels,
    missing_directories,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import Installation, InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import (
    is_unproven_claim,
    require_version_of_digest,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore
from ansible_collections.cni.node.plugins.module_utils._node.plugins.url_credentials import separate

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def ensure(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Run the module `plugins` and return its result.

    If a source on the controller is needed, the result has ``{"needed": "content"}``, or ``{"needed": "listing"}`` for the
    names and digests of its plugins.
    """
    _move_credentials(module)
    _check_options(module.params)
    module.params["bin_dir"] = os.path.normpath(module.params["bin_dir"])
    if module.check_mode:
        return _operate(module, PluginStore(module.params["cache_dir"], module.params["bin_dir"]), [], paths)
    return _operate_locked(module, paths)


def _move_credentials(module: AnsibleModule) -> None:
    """Move credentials from the source, which results show, to the options for them."""
    params = module.params
    if not params["source"]:
        return
    params["source"], credentials = separate(params["source"])
    for key, value in zip(("url_username", "url_password"), credentials):
        params[key] = params[key] or value
    # Ansible does so for options with no_log.
    module.no_log_values.update(filter(None, [params["url_password"]]))


def _check_options(params: t.Mapping[str, t.Any]) -> None:
    for key in ("bin_dir", "cache_dir"):
        if not os.path.isabs(params[key]):
            raise CniError(Code.INVALID_CONFIG, f"{key}: {params[key]!r} is not an absolute path")
    if params["keep"] < 0:
        raise CniError(Code.INVALID_CONFIG, f"keep: {params['keep']}", "expected: a number of versions, 0 or more")
    positive("timeout", params["timeout"])
    positive("download_timeout", params["download_timeout"])
    if params["state"] == "rolled_back" and (params["version"] or params["source"]):
        raise CniError(
            Code.INVALID_CONFIG,
            "state: rolled_back takes neither version nor source, because it returns to the previous version",
            "for another version, use state: present",
        )


def _operate_locked(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Operate while no other run uses the same bin dir, and remove empty directories that this module created."""
    bin_dir, cache_dir = module.params["bin_dir"], module.params["cache_dir"]
    store = PluginStore(cache_dir, bin_dir)
    new_directories = [*missing_directories(bin_dir), *missing_directories(store.parents[0])]
    unused = new_directories
    try:
        with hold_lock(store.lock, exclusive=True, timeout=module.params["timeout"], what=bin_dir):
            store = PluginStore(cache_dir, bin_dir)
            if module.params["state"] == "absent":
                unused = [*new_directories, *store.manifest.made]
            try:
                return _operate(module, store, new_directories, paths)
            except BaseException:
                with contextlib.suppress(CniError):
                    store.remove_unlisted()
                raise
    finally:
        remove_empty(*unused)


def _operate(module: AnsibleModule, store: PluginStore, new_directories: list[str], paths: NodePaths) -> JsonObject:
    params = module.params
    directory = BinDirectory(params["bin_dir"], store.digests, _labels(module))
    installation = Installation(
        store,
        directory,
        keep=params["keep"],
        force=params["force"],
        dry_run=module.check_mode,
        new_directories=new_directories,
        require_unneeded=functools.partial(_require_unneeded, module, paths),
    )
    if params["state"] == "absent":
        return _report(module, installation.absent())
    if params["state"] == "rolled_back":
        return _report(module, installation.roll_back())
    return _present(module, store, installation)


def _require_unneeded(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> None:
    # Imported here, because a run that removes no plugin does not need it.
    from ansible_collections.cni.node.plugins.module_utils._module.plugin_removal import require_unneeded

    require_unneeded(module, paths, plugins)


def _present(module: AnsibleModule, store: PluginStore, installation: Installation) -> JsonObject:
    sources = Sources(module, store.digests)
    warn(module, filter(None, [sources.request.warning]))
    require_version_of_digest(sources.request.version, sources.digest)
    try:
        result = installation.present(
            sources.digest, sources.request.version, module.params["only"] or None, sources.fetch
        )
    except SourceMissing:
        warn(module, [f"{sources.request.location} is not on the node yet, so its plugins cannot be listed"])
        result = _predict_missing(sources.request.version, store)
    except SourceNeeded:
        is_content_needed = not module.check_mode or is_unproven_claim(sources.request.version, [sources.digest])
        what = "content" if is_content_needed else "listing"
        return {"needed": what, "changed": False, "msg": f"the {what} of the source is needed"}
    return _report(module, result)


def _predict_missing(version: str, store: PluginStore) -> InstallResult:
    current = store.manifest.current
    label = current.label if current else None
    return InstallResult(
        changes=[], not_removed=[], set_aside={}, version=version or None, previous=label, kept=[], changed=True
    )


class _SELinux:
    """The labels that the node's SELinux policy defines for paths."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module

    def has_expected_label(self, path: str) -> bool:
        expected = self._module.selinux_default_context(path)
        current = self._module.selinux_context(path)
        return all(part in (None, current_part) for part, current_part in zip(expected, current))

    def apply(self, path: str, name: str) -> None:
        self._module.set_context_if_different(path, self._module.selinux_default_context(name), False)


def _labels(module: AnsibleModule) -> Labels | None:
    return _SELinux(module) if module.selinux_enabled() else None


def _report(module: AnsibleModule, result: InstallResult) -> JsonObject:
    path = module.params["bin_dir"]
    warn(module, (_not_removed_warning(f"{path}/{name}", result.set_aside.get(name)) for name in result.not_removed))
    actions = summarize_actions((change.action for change in result.changes), predicted=module.check_mode)
    what = "plugins, rolled back" if module.params["state"] == "rolled_back" else "plugins"
    return {
        "changed": result.changed,
        "version": result.version,
        "previous": result.previous,
        "plugins": [_entry(change) for change in result.changes],
        "kept": result.kept,
        "diff": {"before": _state(result, after=False), "after": _state(result, after=True)},
        "msg": f"{what} {result.version}: {actions}" if result.version else f"{what}: {actions}",
    }


def _not_removed_warning(path: str, aside: str | None) -> str:
    warning = f"{path} is not removed, because it is not the file that was installed"
    restored = f"the file set aside for it, {aside}, is restored by the next run once {path} is gone"
    return f"{warning}; {restored}" if aside else warning


def _entry(change: PluginChange) -> dict[str, str]:
    entry = {"name": change.name, "action": change.action}
    return {**entry, "sha256": change.after} if change.after else entry


def _state(result: InstallResult, *, after: bool) -> JsonObject:
    """Return one side of the diff: the version and the plugins that change."""
    if not result.changed:
        return {}
    changed = [change for change in result.changes if change.changed]
    plugins = {change.name: _describe(change, after) for change in changed}
    kept = {"kept": result.kept} if after else {}
    return {"version": result.version if after else result.previous, "plugins": plugins, **kept}


def _describe(change: PluginChange, after: bool) -> str:
    if after:
        return change.after[:12] or "absent"
    return str(change.before) if change.before else "absent"


__all__ = ("ensure",)
