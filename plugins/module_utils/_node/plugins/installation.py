# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The change of the sets of plugins in a bin dir: it is planned, and carried out so that it can be killed at any moment."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory, discard
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plugin_changes import PluginChange, plan
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    REFERENCE,
    PluginSet,
    PluginStore,
    SetAside,
    read,
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
        not_removed: Plugins that are not removed, because another file has replaced them: by name, the path of the file that
            was set aside for the plugin, a description of a link, or an empty string.
        kept: The other versions that are kept, most recent first.
        earlier: The version to which a rollback would return, or None.
    """

    name: str
    version: str | None
    previous: str | None
    changed: bool
    changes: t.Sequence[PluginChange] = ()
    not_removed: dict[str, str] = dataclasses.field(default_factory=dict)
    kept: list[str] = dataclasses.field(default_factory=list)
    earlier: str | None = None


class Installation:
    """Installs the current releases of sets, and removes other plugins that these sets had installed.

    Other sets keep their plugins. A plugin can move from one of the sets to another.

    Attributes:
        changes: The planned changes.
    """

    def __init__(
        self, sets: t.Mapping[str, PluginSet], store: PluginStore, directory: BinDirectory, *, force: bool
    ) -> None:
        """
        Args:
            sets: By name; a set without releases is removed.
            force: Set aside files that this collection has not installed.

        Raises:
            CniError: Among others, ``INVALID_CONFIG`` if two sets have a plugin of the same name.
        """
        self._sets, self._store, self._directory = sets, store, directory
        self._before = store.manifest
        merged = sorted({**self._before.sets, **sets}.items())
        self._after = dataclasses.replace(self._before, sets={name: kept for name, kept in merged if kept.releases})
        self._after.require_distinct(directory.path)
        # Plugins of sets that do not change.
        self._others = self._after.plugins_of_others(sets)
        self.changes = plan(sets, self._after, directory, force=force)
        is_changed = any(change.changed for change in self.changes)
        directory.require_usable(runs=any(wanted.releases for wanted in sets.values()), writes=is_changed)
        for dummy in self._read_files_to_restore():
            pass  # one that was changed after it was set aside is an error

    @property
    def removed(self) -> list[str]:
        """Return the plugins that are removed without a file in their place."""
        return [change.name for change in self.changes if change.action == "removed"]

    @property
    def results(self) -> list[InstallResult]:
        """Return the result of each set; of other sets only if a file of theirs is restored or removed."""
        names = dict.fromkeys([*self._sets, *(change.set for change in self.changes)])
        return [self._result(name, [change for change in self.changes if change.set == name]) for name in names]

    def _result(self, name: str, changes: t.Sequence[PluginChange]) -> InstallResult:
        before = self._before.find_set(name)
        wanted = self._sets.get(name, before)
        return InstallResult(
            name,
            version=wanted.label,
            previous=before.label,
            changed=any(change.changed for change in changes) or _labels(wanted) != _labels(before),
            changes=[change for change in changes if change.action != "left"],
            not_removed={
                change.name: self._describe_aside(change.name) for change in changes if change.action == "left"
            },
            kept=[release.label for release in wanted.releases[-2::-1]],
            earlier=wanted.earlier.label if wanted.earlier else None,
        )

    def _describe_aside(self, name: str) -> str:
        aside = self._before.set_aside.get(name)
        return (f"a link to {aside.link}" if aside.link else self._store.set_aside(name)) if aside else ""

    def run(self, new_directories: t.Iterable[str]) -> None:
        """Carry out the changes.

        Everything that needs disk space is written before the first plugin changes. If the process is killed, each plugin
        is the old or the new one, and the manifest lists both.

        Args:
            new_directories: Directories that do not exist yet.
        """
        self._after.made = sorted({*self._before.made, *new_directories})
        self._after.owners = {**self._before.owners, **{change.name: change.set for change in self.changes}}
        self._directory.clean()
        staged: dict[str, str] = {}
        try:
            if any(change.changed for change in self.changes):
                durable.make_directory(self._directory.path)
                self._prepare(staged)
                self._record_installed()
                try:
                    self._replace(staged)
                except CniError as exc:
                    raise exc.with_detail(self._describe_return()) from exc
        finally:
            for path in staged.values():
                discard(path)
        self._finish()

    def _describe_return(self) -> str:
        """Return what to do if some plugins are new and some old."""
        results = [result for result in self.results if result.earlier and result.version != result.previous]
        names = ["" if result.name == REFERENCE else f" of {result.name}" for result in results]
        earlier = ", ".join(f"{result.earlier}{name}" for result, name in zip(results, names))
        return "before that, this run may have changed plugins; run it again" + (
            f", or return to release {earlier} with state: rolled_back" if earlier else ""
        )

    def _prepare(self, staged: dict[str, str]) -> None:
        """Set files aside, and write new ones to temporary files, whose paths are added by the names of the plugins."""
        for change in self.changes:
            if change.displaces and change.before:
                if not change.before.link:
                    self._store.put(self._store.set_aside(change.name), read(self._directory.file(change.name)))
                self._after.set_aside = {**self._after.set_aside, change.name: change.before.as_set_aside}
            release = self._after.find_set(change.set).current
            if change.writes and release:
                content = self._store.read_unchanged(self._store.file(release, change.name), change.after)
                staged[change.name] = self._directory.stage(change.name, content)
        for name, content, aside in self._read_files_to_restore():
            staged[name] = self._directory.stage(name, content, aside)

    def _read_files_to_restore(self) -> t.Iterator[tuple[str, bytes, SetAside]]:
        """Yield the name, content and description of each file to restore, unless it is there already.

        Raises:
            CniError: ``IO_FAILURE``: its content has changed.
        """
        for change in self.changes:
            aside = self._after.set_aside.get(change.name)
            if change.action == "restored" and aside and not (change.before and change.before.as_set_aside == aside):
                path = self._store.set_aside(change.name)
                yield change.name, b"" if aside.link else self._store.read_unchanged(path, aside.sha256), aside

    def _record_installed(self) -> None:
        """List the new digests beside the old ones, so that either counts as installed if the process is killed."""
        installed = dict(self._after.installed)
        for change in self.changes:
            if change.is_installed:
                installed[change.name] = sorted({*installed.get(change.name, ()), change.after})
        self._after.installed = installed
        self._store.save(self._after)

    def _replace(self, staged: dict[str, str]) -> None:
        self._directory.put(staged)
        staged.clear()
        for change in self.changes:
            if change.action == "removed":
                durable.remove(self._directory.file(change.name), flush=False)
            elif change.action in ("repaired", "updated") and not change.writes:
                self._directory.repair(change.name)
        self._directory.sync()

    def _finish(self) -> None:
        """Save the final manifest, and remove files that it does not list."""
        after = self._after
        installed = {change.name: [change.after] for change in self.changes if change.is_installed}
        kept = {*self._others, *installed, *(change.name for change in self.changes if change.action == "left")}
        installed.update({name: after.installed[name] for name in self._others if name in after.installed})
        after.installed = dict(sorted(installed.items()))
        after.set_aside = {name: file for name, file in sorted(after.set_aside.items()) if name in kept}
        after.owners = {name: after.owners[name] for name in sorted({*after.installed, *after.set_aside})}
        after.seen = self._select_digests()
        if after.sets or after.set_aside:
            self._store.save(after)
            self._store.remove_unlisted()
        else:
            remove_empty(*(path for path in after.made if self._directory.path.startswith(path)))
            self._store.remove()

    def _select_digests(self) -> dict[str, list[t.Any]]:
        """Return digests for the next run: of the plugins as they are on disk now, and of sources on the node."""
        for change in self.changes:
            if change.is_installed and change.changed:
                self._store.digests.sha256(self._directory.file(change.name))
        # Earlier digests serve runs for other sets.
        known = {**(self._after.seen if self._others else {}), **self._store.digests.by_path}
        plugins = {*map(self._directory.file, self._after.installed)}
        return {
            path: entry
            for path, entry in sorted(known.items())
            if path in plugins or (os.path.dirname(path) != self._directory.path and os.path.exists(path))
        }


def _labels(plugin_set: PluginSet) -> list[tuple[str, str]]:
    return [(release.id, release.version) for release in plugin_set.releases]
