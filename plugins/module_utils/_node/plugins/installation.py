# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The installation of sets of plugins in a bin dir: the check of a change, and its result."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.apply import Application, require_restorable
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange, plan
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    Manifest,
    PluginSet,
    PluginStore,
    Release,
)


@dataclasses.dataclass(frozen=True)
class InstallResult:
    """The result of installing, rolling back or removing the plugins of one set.

    Attributes:
        name: The set's name.
        version: The version of the installed release, or None.
        previous: The version that was installed before, or None.
        changed: Whether files, the kept versions or their names change.
        changes: Without the plugins in `not_removed`.
        not_removed: Plugins that are not removed, because another file has replaced them.
        set_aside: By name of a plugin in `not_removed`: the path of the file set aside for it, or a description of a link.
        kept: The other versions that are kept, most recent first.
    """

    name: str
    version: str | None
    previous: str | None
    changed: bool
    changes: t.Sequence[PluginChange] = ()
    not_removed: t.Sequence[str] = ()
    set_aside: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    kept: list[str] = dataclasses.field(default_factory=list)


def install(
    sets: t.Mapping[str, PluginSet],
    store: PluginStore,
    directory: BinDirectory,
    *,
    force: bool,
    dry_run: bool,
    new_directories: list[str],
    require_unneeded: t.Callable[[t.Collection[str]], None],
) -> list[InstallResult]:
    """Install the current releases of sets, and remove other plugins that these sets had installed.

    Other sets keep their plugins. A plugin can move from one of the sets to another.

    Args:
        sets: By name; a set without releases is removed.
        force: Set aside files that this collection has not installed.
        new_directories: Directories that do not exist yet.
        require_unneeded: Raises a `CniError` if a plugin that would be removed is needed.

    Raises:
        CniError: Among others, ``INVALID_CONFIG`` if two sets have a plugin of the same name. Nothing is changed then.
    """
    before = store.manifest
    merged = sorted({**before.sets, **sets}.items())
    after = dataclasses.replace(
        before, sets={name: kept for name, kept in merged if kept.releases}, made=[*before.made]
    )
    _require_distinct(after, directory.path)
    others = after.plugins_of_others(sets)
    desired = {plugin: (name, digest) for name in sets for plugin, digest in after.find_set(name).files.items()}
    obsolete = {*after.installed, *after.set_aside} - desired.keys() - {*others}
    changes = plan(desired, obsolete, after, directory, force=force)
    directory.require_usable(
        runs=any(wanted.releases for wanted in sets.values()), writes=any(change.changed for change in changes)
    )
    require_restorable(changes, before, store)
    removed = [change.name for change in changes if change.action == "removed"]
    if removed:
        require_unneeded(removed)
    # Other sets have a result only if a file of theirs is restored or removed.
    names = dict.fromkeys([*sets, *(change.set for change in changes)])
    results = [
        _make_result(
            name,
            [change for change in changes if change.set == name],
            before,
            sets.get(name, before.find_set(name)).releases,
            store,
        )
        for name in names
    ]
    if not dry_run:
        after.made = sorted({*before.made, *new_directories})
        Application(changes, after, others, store, directory).run()
        if not (after.sets or after.set_aside):
            store.remove()
    return results


def _require_distinct(manifest: Manifest, bin_dir: str) -> None:
    """Refuse sets that have a plugin of the same name.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    claims: dict[str, list[str]] = {}
    for name, plugin_set in manifest.sets.items():
        for plugin in plugin_set.files:
            claims.setdefault(plugin, []).append(name)
    conflicts = [f"{plugin} of {' and '.join(names)}" for plugin, names in sorted(claims.items()) if len(names) > 1]
    if conflicts:
        problem = f"{bin_dir} cannot have the same plugin of two sets: {', '.join(conflicts)}"
        advice = "exclude the plugin from one of the sets with its 'only', or remove the set that is not needed"
        raise CniError(Code.INVALID_CONFIG, problem, advice)


def _make_result(
    name: str, changes: t.Sequence[PluginChange], manifest: Manifest, releases: t.Sequence[Release], store: PluginStore
) -> InstallResult:
    before = manifest.find_set(name)
    not_removed = [change.name for change in changes if change.action == "left"]
    aside = {plugin: manifest.set_aside[plugin] for plugin in not_removed if plugin in manifest.set_aside}
    return InstallResult(
        name,
        version=releases[-1].label if releases else None,
        previous=before.current.label if before.current else None,
        changed=any(change.changed for change in changes) or _labels(releases) != _labels(before.releases),
        changes=[change for change in changes if change.action != "left"],
        not_removed=not_removed,
        set_aside={
            plugin: f"a link to {file.link}" if file.link else store.set_aside(plugin) for plugin, file in aside.items()
        },
        kept=[release.label for release in reversed(releases[:-1])],
    )


def _labels(releases: t.Iterable[Release]) -> list[tuple[str, str]]:
    return [(release.id, release.version) for release in releases]
