# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Install, replace, roll back and remove the plugins of sets in one bin dir."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins import packages
from ansible_collections.cni.node.plugins.module_utils._node.plugins.apply import apply, require_restorable
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import Manifest, PluginSet, Release
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import (
    DesiredPlugin,
    PluginChange,
    find_foreign,
    plan,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore


@dataclasses.dataclass(frozen=True)
class InstallResult:
    """The result of installing, rolling back or removing the plugins of one set.

    Attributes:
        name: The set's name.
        not_removed: Plugins that are not removed, because another file has replaced them.
        set_aside: By name of a plugin in `not_removed`: the path of the file set aside for it, or a description of a link.
        version: The version of the installed release, or None.
        previous: The version that was installed before, or None.
        kept: The other versions that are kept, most recent first.
        changed: Whether files, the kept versions or their names change.
    """

    name: str
    changes: list[PluginChange]
    not_removed: list[str]
    set_aside: dict[str, str]
    version: str | None
    previous: str | None
    kept: list[str]
    changed: bool


class Installation:
    """Installs, replaces and removes the plugins of sets in one directory."""

    def __init__(
        self,
        store: PluginStore,
        directory: BinDirectory,
        *,
        force: bool,
        dry_run: bool,
        new_directories: list[str],
        require_unneeded: t.Callable[[t.Collection[str]], None],
    ) -> None:
        """
        Args:
            force: Set aside files that this collection has not installed.
            new_directories: Directories that do not exist yet.
            require_unneeded: Raises a `CniError` if a plugin that would be removed is needed.
        """
        self._store = store
        self._directory = directory
        self._force = force
        self._dry_run = dry_run
        self._new_directories = new_directories
        self._require_unneeded = require_unneeded

    def change_to(self, sets: t.Mapping[str, PluginSet]) -> list[InstallResult]:
        """Install the current releases of sets, and remove other plugins that these sets had installed.

        Other sets keep their plugins. A plugin can move from one of the sets to another.

        Args:
            sets: By name; a set without releases is removed.

        Raises:
            CniError: Among others, ``INVALID_CONFIG`` if two sets have a plugin of the same name. Nothing is changed then.
        """
        before = self._store.manifest
        after = dataclasses.replace(before, sets=_merge(before, sets), made=[*before.made])
        _require_distinct(after, self._directory.path)
        others = after.plugins_of_others(sets)
        changes = self._plan(after, others, sets)
        self._directory.require_usable(
            runs=any(wanted.releases for wanted in sets.values()), writes=any(change.changed for change in changes)
        )
        require_restorable(changes, before, self._store)
        removed = [change.name for change in changes if change.action == "removed"]
        if removed:
            self._require_unneeded(removed)
        results = _make_results(sets, changes, before, self._store)
        if not self._dry_run:
            after.made = sorted({*before.made, *self._new_directories})
            apply(changes, after, others, self._store, self._directory)
            if not (after.sets or after.set_aside):
                self._store.remove()
        return results

    def _plan(self, after: Manifest, others: t.Collection[str], names: t.Iterable[str]) -> list[PluginChange]:
        desired = {
            plugin: DesiredPlugin(name, digest)
            for name in names
            for plugin, digest in after.find_set(name).files.items()
        }
        obsolete = {*after.installed, *after.set_aside} - desired.keys() - {*others}
        files = self._directory.find({*desired, *obsolete})
        foreign = find_foreign(desired, after, files)
        packages = self._find_packages(foreign) if foreign else {}
        return plan(desired, obsolete, after, files, packages, force=self._force, bin_dir=self._directory.path)

    def _find_packages(self, names: t.Iterable[str]) -> dict[str, str]:
        return packages.find_packages(self._directory.path, names)


def _merge(before: Manifest, sets: t.Mapping[str, PluginSet]) -> dict[str, PluginSet]:
    merged = {**before.sets, **sets}
    return {name: merged[name] for name in sorted(merged) if merged[name].releases}


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
        raise CniError(
            Code.INVALID_CONFIG,
            f"{bin_dir} cannot have the same plugin of two sets: {', '.join(conflicts)}",
            "exclude the plugin from one of the sets with its 'only', or remove the set that is not needed",
        )


def _make_results(
    sets: t.Mapping[str, PluginSet], changes: t.Sequence[PluginChange], before: Manifest, store: PluginStore
) -> list[InstallResult]:
    """Return the result of each set; of other sets only if a file of theirs is restored or removed."""
    names = dict.fromkeys([*sets, *(change.set for change in changes)])
    return [
        _make_result(
            name,
            [change for change in changes if change.set == name],
            before,
            sets.get(name, before.find_set(name)).releases,
            store,
        )
        for name in names
    ]


def _make_result(
    name: str, changes: t.Sequence[PluginChange], manifest: Manifest, releases: t.Sequence[Release], store: PluginStore
) -> InstallResult:
    before = manifest.find_set(name)
    not_removed = [change.name for change in changes if change.action == "left"]
    aside = {plugin: manifest.set_aside[plugin] for plugin in not_removed if plugin in manifest.set_aside}
    return InstallResult(
        name=name,
        changes=[change for change in changes if change.action != "left"],
        not_removed=not_removed,
        set_aside={
            plugin: f"a link to {file.link}" if file.link else store.set_aside(plugin) for plugin, file in aside.items()
        },
        version=releases[-1].label if releases else None,
        previous=before.current.label if before.current else None,
        kept=[release.label for release in reversed(releases[:-1])],
        changed=any(change.changed for change in changes) or _labels(releases) != _labels(before.releases),
    )


def _labels(releases: t.Iterable[Release]) -> list[tuple[str, str]]:
    return [(release.id, release.version) for release in releases]


__all__ = ("InstallResult", "Installation")
