# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Carry out a plan for the plugins of a bin dir."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory, PluginFile, discard
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import Manifest, Release, SetAside
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange, is_set_aside_file
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore, read


def apply(
    changes: t.Sequence[PluginChange],
    after: Manifest,
    others: t.Collection[str],
    store: PluginStore,
    directory: BinDirectory,
) -> None:
    """Carry out a plan.

    Everything that needs disk space is written before the first plugin changes. If the process is killed, each plugin
    is the old or the new one, and the manifest lists both.

    Args:
        after: The new manifest, without the results of the changes.
        others: Plugins of sets that do not change.
    """
    staged: dict[str, str] = {}
    directory.clean()
    try:
        if any(change.changed for change in changes):
            directory.make()
            _prepare(changes, after, store, directory, staged)
            _record_installed(changes, after, store)
            _carry_out(changes, directory, staged)
    finally:
        for path in staged.values():
            discard(path)
    _finish(changes, after, others, store, directory)


def _prepare(
    changes: t.Sequence[PluginChange],
    after: Manifest,
    store: PluginStore,
    directory: BinDirectory,
    staged: dict[str, str],
) -> None:
    for change in changes:
        if change.displaces:
            after.set_aside = {**after.set_aside, change.name: _set_aside(change, store, directory)}
        if change.writes:
            release = t.cast(Release, after.find_set(change.set).current)
            source = store.file(release, change.name)
            staged[change.name] = directory.stage(change.name, store.read_unchanged(source, change.after))
    for change in changes:
        aside = _find_file_to_restore(change, after)
        if aside:
            content = b"" if aside.link else store.read_unchanged(store.set_aside(change.name), aside.sha256)
            staged[change.name] = directory.stage_restored(change.name, content, aside)


def _find_file_to_restore(change: PluginChange, manifest: Manifest) -> SetAside | None:
    """Return the file to restore in place of a plugin; None if there is none, or it is there already."""
    aside = manifest.set_aside.get(change.name)
    if change.action != "restored" or aside is None or (change.before and is_set_aside_file(change.before, aside)):
        return None
    return aside


def require_restorable(changes: t.Sequence[PluginChange], manifest: Manifest, store: PluginStore) -> None:
    """Refuse a plan that would restore a file whose set-aside copy has changed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for change in changes:
        aside = _find_file_to_restore(change, manifest)
        if aside and not aside.link:
            store.read_unchanged(store.set_aside(change.name), aside.sha256)


def _set_aside(change: PluginChange, store: PluginStore, directory: BinDirectory) -> SetAside:
    file = t.cast(PluginFile, change.before)
    if not file.link:
        store.put(store.set_aside(change.name), read(directory.file(change.name)))
    return SetAside(file.sha256, file.mode, file.uid, file.gid, file.mtime_ns, file.link)


def _record_installed(changes: t.Sequence[PluginChange], after: Manifest, store: PluginStore) -> None:
    """List the new digests beside the old ones, so that either counts as installed if the process is killed."""
    installed = dict(after.installed)
    for change in changes:
        if change.is_installed:
            installed[change.name] = sorted({*installed.get(change.name, ()), change.after})
    after.installed = installed
    after.owners = {**after.owners, **{change.name: change.set for change in changes}}
    store.manifest = after
    store.save()


def _carry_out(changes: t.Sequence[PluginChange], directory: BinDirectory, staged: dict[str, str]) -> None:
    directory.put(staged)
    staged.clear()
    for change in changes:
        if change.action == "removed":
            durable.remove(directory.file(change.name), flush=False)
        elif change.action in ("repaired", "updated") and not change.writes:
            directory.repair(change.name)
    directory.sync()


def _finish(
    changes: t.Sequence[PluginChange],
    after: Manifest,
    others: t.Collection[str],
    store: PluginStore,
    directory: BinDirectory,
) -> None:
    """Save the final manifest, and remove files that it does not list."""
    installed = {change.name: [change.after] for change in changes if change.is_installed}
    kept = {*others, *installed, *(change.name for change in changes if change.action == "left")}
    installed.update({name: after.installed[name] for name in others if name in after.installed})
    owners = {**after.owners, **{change.name: change.set for change in changes}}
    after.installed = dict(sorted(installed.items()))
    after.set_aside = {name: file for name, file in sorted(after.set_aside.items()) if name in kept}
    after.owners = {name: owners[name] for name in sorted({*after.installed, *after.set_aside})}
    after.seen = _select_digests(changes, after, others, directory, store)
    store.manifest = after
    if after.sets or after.set_aside:
        store.save()
        store.remove_unlisted()
    else:
        remove_empty(*(path for path in after.made if directory.path.startswith(path)))


def _select_digests(
    changes: t.Iterable[PluginChange],
    after: Manifest,
    others: t.Collection[str],
    directory: BinDirectory,
    store: PluginStore,
) -> dict[str, list[t.Any]]:
    """Return digests for the next run: of the plugins as they are on disk now, and of sources on the node."""
    for change in changes:
        if change.is_installed and change.changed:
            store.digests.sha256(directory.file(change.name))
    known = {**(_digests_of_others(after, others, directory) if others else {}), **store.digests.by_path}
    paths = {*map(directory.file, after.installed)}
    return {
        path: entry for path, entry in sorted(known.items()) if path in paths or os.path.dirname(path) != directory.path
    }


def _digests_of_others(after: Manifest, others: t.Collection[str], directory: BinDirectory) -> dict[str, list[t.Any]]:
    """Return the cached digests that other sets still use: of their plugins, and of sources that exist."""
    paths = {*map(directory.file, others)}
    return {
        path: entry
        for path, entry in after.seen.items()
        if path in paths or (os.path.dirname(path) != directory.path and os.path.exists(path))
    }


__all__ = ("apply", "require_restorable")
