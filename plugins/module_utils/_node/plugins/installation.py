# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.plugins.apply import apply, require_restorable
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import (
    is_unproven_claim,
    require_version_of_plugin,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import require_identity, select_plugins
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import Manifest, Release
from ansible_collections.cni.node.plugins.module_utils._node.plugins.plan import PluginChange, plan
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore, read


@dataclasses.dataclass(frozen=True)
class Source:
    """A release outside the store.

    Attributes:
        digests, version: As in `Release`.
        plugins: Yields the name and content of each plugin.
        listing: SHA-256 digests by name, instead of the content, if nothing is written.
    """

    digests: list[str]
    version: str
    plugins: t.Callable[[], t.Iterable[tuple[str, bytes]]]
    listing: t.Mapping[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class InstallResult:
    """The result of installing, rolling back or removing plugins.

    Attributes:
        not_removed: Plugins that are not removed, because another file has replaced them.
        set_aside: By name of a plugin in `not_removed`: the path of the file set aside for it, or a description of a link.
        version: The version of the installed release, or None.
        previous: The version that was installed before, or None.
        kept: The other versions that are kept, most recent first.
        changed: Whether files, the kept versions or their names change.
    """

    changes: list[PluginChange]
    not_removed: list[str]
    set_aside: dict[str, str]
    version: str | None
    previous: str | None
    kept: list[str]
    changed: bool


class Installation:
    """Installs, rolls back and removes the plugins of one directory."""

    def __init__(
        self,
        store: PluginStore,
        directory: BinDirectory,
        *,
        keep: int,
        force: bool,
        dry_run: bool,
        new_directories: list[str],
        require_unneeded: t.Callable[[t.Collection[str]], None],
    ) -> None:
        """
        Args:
            keep: Number of releases to keep besides the current one.
            force: Set aside files that this collection has not installed.
            new_directories: Directories that do not exist yet.
            require_unneeded: Raises a `CniError` if a plugin that would be removed is needed.
        """
        self._store = store
        self._directory = directory
        self._keep = keep
        self._force = force
        self._dry_run = dry_run
        self._new_directories = new_directories
        self._require_unneeded = require_unneeded

    def present(
        self, digest: str, version: str, only: t.Sequence[str] | None, fetch: t.Callable[[], Source]
    ) -> InstallResult:
        """Install the plugins of a release, and remove other plugins that this collection installed.

        Args:
            digest: A digest of the release.
            version: The new name of the release; empty to keep its name.
            only: The plugins to install; None for all.
            fetch: Returns the release, if the kept files are not sufficient.

        Raises:
            CniError: Among others, ``INVALID_CONFIG`` if plugins contradict the version.
        """
        release = self._find_complete_release(digest, version, only)
        changes = self._plan(release) if release else []
        if release is None or not self._store.has(release, (change.name for change in changes if change.writes)):
            release = self._store_source(fetch(), digest, only)
            changes = self._plan(release)
        current = self._store.manifest.current
        is_current = current is not None and current.id == release.id
        rolled_back_from = self._store.manifest.rolled_back_from if is_current else ""
        return self._change_to(changes, [*self._releases_to_keep(release), release], rolled_back_from)

    def roll_back(self) -> InstallResult:
        """Return to the release before the current one. Repeated calls change nothing.

        Raises:
            CniError: ``NOT_AVAILABLE``: no earlier release is kept.
        """
        manifest = self._store.manifest
        if manifest.current is None:
            raise CniError(
                Code.NOT_AVAILABLE, f"there is nothing to roll back: no plugins are installed in {self._directory.path}"
            )
        if not manifest.rolled_back_from and len(manifest.releases) < 2:
            raise CniError(
                Code.NOT_AVAILABLE,
                f"there is nothing to roll back to: no version before {manifest.current.label} is kept",
                "install the version you want with state: present",
            )
        release = manifest.current if manifest.rolled_back_from else manifest.releases[-2]
        changes = self._plan(release)
        if not self._store.has(release, (change.name for change in changes if change.writes)):
            raise CniError(
                Code.NOT_AVAILABLE,
                f"cannot roll back to version {release.label}: its kept files are missing or damaged",
                f"install it with state: present; the kept files are in {self._store.path}",
            )
        rolled_back_from = manifest.rolled_back_from or manifest.current.id
        return self._change_to(changes, [*self._releases_to_keep(release), release], rolled_back_from)

    def absent(self) -> InstallResult:
        """Remove all installed plugins and kept releases, except files set aside that cannot be restored yet."""
        result = self._change_to(self._plan(None), [], "")
        if not self._dry_run and not self._store.manifest.set_aside:
            self._store.remove()
        return result

    def _find_complete_release(self, digest: str, version: str, only: t.Sequence[str] | None) -> Release | None:
        release = self._store.manifest.find(digest)
        if release is None:
            return None
        selected = select_plugins(release.names, only)
        if not release.files.keys() >= selected:
            return None
        files = {name: release.files[name] for name in release.files if name in selected}
        if version and version != release.version:
            self._require_label(release, version, files)
        return dataclasses.replace(release, files=files, version=version or release.version)

    def _require_label(self, release: Release, version: str, names: t.Iterable[str]) -> None:
        """Refuse a new version for a kept release if its plugins contradict it."""
        if not is_unproven_claim(version, release.digests):
            return
        for name in names:
            if self._store.has(release, [name]):
                require_version_of_plugin(version, name, read(self._store.file(release, name)))

    def _store_source(self, source: Source, digest: str, only: t.Sequence[str] | None) -> Release:
        known = self._store.manifest.find(digest)
        version = source.version or (known.version if known else "")
        if source.listing is not None:
            selected = select_plugins(source.listing, only)
            files = {name: digest for name, digest in source.listing.items() if name in selected}
            return Release(source.digests, version, sorted(source.listing), files)
        release = Release(source.digests, version, [], {})
        is_unproven = is_unproven_claim(version, source.digests)
        listing: dict[str, str] = {}
        for name, content in source.plugins():
            listing[name] = sha256(content)
            if only is None or name in only:
                if is_unproven:
                    require_version_of_plugin(version, name, content)
                release.files[name] = listing[name]
                if not self._dry_run:
                    self._store.put(self._store.file(release, name), content)
        require_identity(release.id, listing)
        select_plugins(listing, only)
        release.names.extend(sorted(listing))
        return release

    def _plan(self, release: Release | None) -> list[PluginChange]:
        manifest = self._store.manifest
        desired = release.files if release else {}
        files = self._directory.find({*desired, *manifest.installed, *manifest.set_aside})
        return plan(desired, manifest, files, force=self._force, bin_dir=self._directory.path)

    def _releases_to_keep(self, release: Release) -> list[Release]:
        others = [other for other in self._store.manifest.releases if other.id != release.id]
        return others[-self._keep :] if self._keep else []

    def _change_to(self, changes: list[PluginChange], releases: list[Release], rolled_back_from: str) -> InstallResult:
        before = self._store.manifest
        require_restorable(changes, before, self._store)
        removed = [change.name for change in changes if change.action == "removed"]
        if removed:
            self._require_unneeded(removed)
        result = _make_result(changes, before, releases, self._store)
        if not self._dry_run:
            after = dataclasses.replace(before, releases=releases, rolled_back_from=rolled_back_from)
            after.made = sorted({*before.made, *self._new_directories})
            apply(changes, after, self._store, self._directory)
        return result


def _make_result(
    changes: list[PluginChange], before: Manifest, releases: list[Release], store: PluginStore
) -> InstallResult:
    not_removed = [change.name for change in changes if change.action == "left"]
    aside = {name: before.set_aside[name] for name in not_removed if name in before.set_aside}
    return InstallResult(
        changes=[change for change in changes if change.action != "left"],
        not_removed=not_removed,
        set_aside={
            name: f"a link to {file.link}" if file.link else store.set_aside(name) for name, file in aside.items()
        },
        version=releases[-1].label if releases else None,
        previous=before.current.label if before.current else None,
        kept=[release.label for release in reversed(releases[:-1])],
        changed=any(change.changed for change in changes) or _labels(releases) != _labels(before.releases),
    )


def _labels(releases: t.Iterable[Release]) -> list[tuple[str, str]]:
    return [(release.id, release.version) for release in releases]


__all__ = ("InstallResult", "Installation", "Source")
