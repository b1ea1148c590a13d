# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `plugins`, which refuses to remove plugins that are needed."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.access import exposures
from ansible_collections.cni.node.plugins.module_utils._base.current_library import find_current
from ansible_collections.cni.node.plugins.module_utils._base.durable import is_executable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity, shorten
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config, planned_networks
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._module.sources.plugin_sources import (
    move_credentials,
    requested_sets,
    select_releases,
)
from ansible_collections.cni.node.plugins.module_utils._node.files.change import missing_directories, remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.library.users import register
from ansible_collections.cni.node.plugins.module_utils._node.plugins import writable_plugins
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import Installation, InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plugin_changes import PluginChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import BUILTIN
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE, PluginStore
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import executables

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


# What the result says of each set.
_VERSIONS = ("version", "previous", "kept", "earlier")

# The networks and attachments that need a plugin, by its name.
_Needs = dict[str, list[str]]

# The networks and attachments that a message names.
_SHOWN = 3
_ADVICE = (
    "keep them with 'only' or a release that has them, first remove the networks and attachments that need them, or set "
    "remove_needed to true"
)


def ensure(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Run the module `plugins` and return its result.

    If sources on the controller are needed, the result has ``needed``: by the name of a set ``content``, or ``listing`` for
    the names and digests of its plugins.
    """
    move_credentials(module)
    _check_options(module.params)
    module.params["bin_dir"] = os.path.normpath(module.params["bin_dir"])
    if module.check_mode:
        return _operate(module, PluginStore(module.params["cache_dir"], module.params["bin_dir"]), [], paths)
    return _operate_locked(module, paths)


def _check_options(params: t.Mapping[str, t.Any]) -> None:
    if params["keep"] < 0:
        raise CniError(Code.INVALID_CONFIG, f"keep: {params['keep']}", "expected: a number of versions, 0 or more")
    positive("timeout", params["timeout"])
    positive("download_timeout", params["download_timeout"])
    requested_sets(params, ())


def _operate_locked(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Operate while no other run uses the same bin dir, and remove empty directories that this module created."""
    bin_dir, cache_dir = module.params["bin_dir"], module.params["cache_dir"]
    store = PluginStore(cache_dir, bin_dir)
    new_directories = [*missing_directories(bin_dir), *missing_directories(os.path.dirname(store.path))]
    unused = new_directories
    try:
        with hold_lock(f"{store.path}.lock", exclusive=True, timeout=module.params["timeout"], what=bin_dir):
            store = PluginStore(cache_dir, bin_dir)
            if any(options.state == "absent" for options in requested_sets(module.params, ())):
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
    directory = BinDirectory(
        module.params["bin_dir"], store.digests, _SELinux(module) if module.selinux_enabled() else None
    )
    requested = requested_sets(module.params, store.manifest.sets)
    selected = select_releases(module, requested, store, directory)
    if selected.needed:
        what = ", ".join(f"the {what} of {name}" for name, what in selected.needed.items())
        return {"needed": selected.needed, "changed": False, "msg": f"the controller must send {what}"}
    installation = Installation(selected.sets, store, directory, force=module.params["force"])
    if installation.removed:
        _require_unneeded(module, paths, installation.removed)
    results = installation.results
    if not module.check_mode:
        installation.run(new_directories)
    library = find_current()
    if library is not None and not module.check_mode and any(options.source == BUILTIN for options in requested):
        register(library, [directory.path, store.path])
    if any(wanted.releases for wanted in selected.sets.values()) and exposures(directory.path):
        # Users other than root can replace the installed plugins.
        warn(module, map(str, writable_plugins.findings([directory.path], (), allow_world_writable=False)))
    return _report(module, [*results, *selected.missing])


def _report(module: AnsibleModule, results: t.Sequence[InstallResult]) -> JsonObject:
    """Return the result of the module, and warn about plugins that are not removed."""
    path = module.params["bin_dir"]
    not_removed = [entry for result in results for entry in result.not_removed.items()]
    warn(module, [_not_removed_warning(f"{path}/{name}", aside) for name, aside in not_removed])
    changes = [change for result in results for change in result.changes]
    owned = [f"{path}/{change.name} belongs to the package {change.package}" for change in changes if change.package]
    warn(module, [f"{problem}, whose next update replaces the plugin" for problem in owned])
    names = ["" if _is_reference_only(results) else result.name for result in results]
    labels = [f"{name} {result.version or ''}".strip() for name, result in zip(names, results)]
    actions = summarize_actions((change.action for change in changes), predicted=module.check_mode)
    what = "plugins, rolled back" if module.params["state"] == "rolled_back" else "plugins"
    sets = {result.name: {key: getattr(result, key) for key in _VERSIONS} for result in results}
    return {
        "changed": any(result.changed for result in results),
        **sets.get(REFERENCE, {}),
        "sets": [{"name": name, **versions} for name, versions in sets.items()],
        "plugins": [_entry(change) for change in changes],
        "diff": {"before": _state(results, after=False), "after": _state(results, after=True)},
        "msg": f"{' '.join([what, ', '.join(filter(None, labels))]).strip()}: {actions}",
    }


def _not_removed_warning(path: str, aside: str) -> str:
    warning = f"{path} is not removed, because it is not the file that was installed"
    restored = f"the file set aside for it, {aside}, is restored by the next run once {path} is gone"
    return f"{warning}; {restored}" if aside else warning


def _entry(change: PluginChange) -> JsonObject:
    entry = {"name": change.name, "set": change.set, "action": change.action}
    return {**entry, "sha256": change.after} if change.after else entry


def _is_reference_only(results: t.Sequence[InstallResult]) -> bool:
    return [result.name for result in results] == [REFERENCE]


def _state(results: t.Sequence[InstallResult], *, after: bool) -> JsonObject:
    """Return one side of the diff: the version of each set that changes, and the plugins that change."""
    states = {}
    for result in results:
        changes = [change for change in result.changes if change.changed]
        if after:
            plugins = {change.name: change.after[:12] or "absent" for change in changes}
            state = {"version": result.version, "plugins": plugins, "kept": result.kept}
        else:
            plugins = {change.name: str(change.before or "absent") for change in changes}
            state = {"version": result.previous, "plugins": plugins}
        states.update({result.name: state} if result.changed else {})
    return states.get(REFERENCE, {}) if _is_reference_only(results) else states


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


def _require_unneeded(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> None:
    """Refuse to remove plugins that networks or attachments need; with ``remove_needed``, warn instead.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    bin_dir, plugin_dirs = module.params["bin_dir"], module.params["plugin_dirs"]
    needs = _find_needs(module, paths, [name for name in plugins if not _is_elsewhere(name, plugin_dirs, bin_dir)])
    if not needs:
        return
    counted = quantity(len(needs), "needed plugin")
    described = "; ".join(f"{plugin}, needed by {shorten(users, _SHOWN)}" for plugin, users in needs.items())
    if not module.params["remove_needed"]:
        raise CniError(Code.INVALID_CONFIG, f"{bin_dir}: {counted} would be removed: {described}", _ADVICE)
    warn(module, [f"{bin_dir}: {counted} {'is' if len(needs) == 1 else 'are'} removed: {described}"])


def _is_elsewhere(plugin: str, directories: t.Iterable[str], bin_dir: str) -> bool:
    """Return whether a directory other than ``bin_dir`` has an executable plugin of that name."""
    own = os.path.realpath(bin_dir)
    return any(is_executable(os.path.join(path, plugin)) for path in directories if os.path.realpath(path) != own)


def _find_needs(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> _Needs:
    """Return the networks and attachments that need each of the plugins, also as delegated plugins.

    An attachment needs the plugins of its recorded configuration, even if its network has changed. A broken record needs no
    plugin, because none can be run for it. Attachments that an earlier task would remove do not count.
    """
    needs: _Needs = {}
    for network in [*_node_networks(module), *_task_networks(module.params)]:
        _add_needs(needs, plugins, network, f"network {network.name} ({network.source})")
    cache_dir, is_predicted = module.params["cache_dir"], module.check_mode
    removed = planned_networks.read_removed_attachments(module.params["planned_attachments"] if is_predicted else ())
    records, dummy = AllRecords(RecordStore.of_records(cache_dir), paths.state_dir).read_all()
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    for record in [*records, *intents]:
        if record.attachment.key not in removed:
            with contextlib.suppress(CniError):
                _add_needs(needs, plugins, record.network(), f"the {record.attachment}")
    return dict(sorted(needs.items()))


def _add_needs(needs: _Needs, plugins: t.Collection[str], network: NetworkConfiguration, user: str) -> None:
    for name in {executable.type for executable in executables(network)}.intersection(plugins):
        users = needs.setdefault(name, [])
        users += [user] if user not in users else []


def _node_networks(module: AnsibleModule) -> t.Iterable[NetworkConfiguration]:
    """Return the networks of the node; in check mode, without those that an earlier task would remove."""
    planned = planned_networks.read_planned_files(module.params["planned_conflists"] if module.check_mode else [])
    return planned_networks.with_planned(conf_dir.load(module.params["conf_dir"]), planned).networks.values()


def _task_networks(params: t.Mapping[str, t.Any]) -> t.Iterator[NetworkConfiguration]:
    for position, item in enumerate(params["conflists"] if params["state"] != "absent" else ()):
        content = content_of(item, f"conflists[{position}]")
        if content is not None:
            yield config.parse(content, f"conflists[{position}]")
