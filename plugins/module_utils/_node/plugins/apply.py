# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The change of a bin dir: a plan is carried out so that a run can be killed at any moment."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory, discard
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    Manifest,
    PluginStore,
    SetAside,
    read,
)


@dataclasses.dataclass(frozen=True)
class Application:
    """Carries out a plan.

    Everything that needs disk space is written before the first plugin changes. If the process is killed, each plugin
    is the old or the new one, and the manifest lists both.

    Attributes:
        after: The new manifest, without the results of the changes.
        others: Plugins of sets that do not change.
        staged: By name of a plugin, the path of the temporary file that replaces it.
    """

    changes: t.Sequence[PluginChange]
    after: Manifest
    others: t.Collection[str]
    store: PluginStore
    directory: BinDirectory
    staged: dict[str, str] = dataclasses.field(default_factory=dict)

    def run(self) -> None:
        self.directory.clean()
        try:
            if any(change.changed for change in self.changes):
                durable.make_directory(self.directory.path)
                self._prepare()
                self._record_installed()
                self._carry_out()
        finally:
            for path in self.staged.values():
                discard(path)
        self._finish()

    def _prepare(self) -> None:
        for change in self.changes:
            path = self.directory.file(change.name)
            if change.displaces and change.before:
                if not change.before.link:
                    self.store.put(self.store.set_aside(change.name), read(path))
                self.after.set_aside = {**self.after.set_aside, change.name: change.before.as_set_aside}
            release = self.after.find_set(change.set).current
            if change.writes and release:
                content = self.store.read_unchanged(self.store.file(release, change.name), change.after)
                self.staged[change.name] = self.directory.stage(change.name, content)
        for change, aside in _files_to_restore(self.changes, self.after):
            content = b"" if aside.link else self.store.read_unchanged(self.store.set_aside(change.name), aside.sha256)
            self.staged[change.name] = self.directory.stage(change.name, content, aside)

    def _record_installed(self) -> None:
        """List the new digests beside the old ones, so that either counts as installed if the process is killed."""
        after, installed = self.after, dict(self.after.installed)
        for change in self.changes:
            if change.is_installed:
                installed[change.name] = sorted({*installed.get(change.name, ()), change.after})
        after.installed = installed
        after.owners = {**after.owners, **{change.name: change.set for change in self.changes}}
        self.store.manifest = after
        self.store.save()

    def _carry_out(self) -> None:
        self.directory.put(self.staged)
        self.staged.clear()
        for change in self.changes:
            if change.action == "removed":
                durable.remove(self.directory.file(change.name), flush=False)
            elif change.action in ("repaired", "updated") and not change.writes:
                self.directory.repair(change.name)
        self.directory.sync()

    def _finish(self) -> None:
        """Save the final manifest, and remove files that it does not list."""
        after = self.after
        installed = {change.name: [change.after] for change in self.changes if change.is_installed}
        kept = {*self.others, *installed, *(change.name for change in self.changes if change.action == "left")}
        installed.update({name: after.installed[name] for name in self.others if name in after.installed})
        owners = {**after.owners, **{change.name: change.set for change in self.changes}}
        after.installed = dict(sorted(installed.items()))
        after.set_aside = {name: file for name, file in sorted(after.set_aside.items()) if name in kept}
        after.owners = {name: owners[name] for name in sorted({*after.installed, *after.set_aside})}
        after.seen = self._select_digests()
        self.store.manifest = after
        if after.sets or after.set_aside:
            self.store.save()
            self.store.remove_unlisted()
        else:
            remove_empty(*(path for path in after.made if self.directory.path.startswith(path)))

    def _select_digests(self) -> dict[str, list[t.Any]]:
        """Return digests for the next run: of the plugins as they are on disk now, and of sources on the node."""
        for change in self.changes:
            if change.is_installed and change.changed:
                self.store.digests.sha256(self.directory.file(change.name))
        # Earlier digests serve runs for other sets.
        known = {**(self.after.seen if self.others else {}), **self.store.digests.by_path}
        plugins = {*map(self.directory.file, self.after.installed)}
        return {
            path: entry
            for path, entry in sorted(known.items())
            if path in plugins or (os.path.dirname(path) != self.directory.path and os.path.exists(path))
        }


def require_restorable(changes: t.Sequence[PluginChange], manifest: Manifest, store: PluginStore) -> None:
    """Refuse a plan that would restore a file whose set-aside copy has changed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for change, aside in _files_to_restore(changes, manifest):
        if not aside.link:
            store.read_unchanged(store.set_aside(change.name), aside.sha256)


def _files_to_restore(
    changes: t.Sequence[PluginChange], manifest: Manifest
) -> t.Iterator[tuple[PluginChange, SetAside]]:
    """Yield the changes that restore a file in place of a plugin, unless it is there already."""
    for change in changes:
        aside = manifest.set_aside.get(change.name)
        if change.action == "restored" and aside and not (change.before and change.before.as_set_aside == aside):
            yield change, aside
