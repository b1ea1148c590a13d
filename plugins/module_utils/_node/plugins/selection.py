# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Select the new release of a set of plugins, and get it into the store."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import (
    is_unproven_claim,
    require_version_of_plugin,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import require_identity, select_plugins
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE, PluginSet, Release
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


class ReleaseSelection:
    """Selects the new release of one set, and gets it into the store."""

    def __init__(self, name: str, store: PluginStore, directory: BinDirectory, *, keep: int, dry_run: bool) -> None:
        """
        Args:
            name: The set's name.
            keep: Number of releases to keep besides the current one.
            dry_run: Whether to leave the store unchanged.
        """
        self._name = name
        self._set = store.manifest.find_set(name)
        self._store = store
        self._directory = directory
        self._keep = keep
        self._dry_run = dry_run

    def present(
        self, digest: str, version: str, only: t.Sequence[str] | None, fetch: t.Callable[[], Source]
    ) -> PluginSet:
        """Return the set with a release as its current one.

        Args:
            digest: A digest of the release.
            version: The new name of the release; empty to keep its name.
            only: The plugins to install; None for all.
            fetch: Returns the release, if the kept files are not sufficient.

        Raises:
            CniError: Among others, ``INVALID_CONFIG`` if plugins contradict the version.
        """
        release = self._find_complete_release(digest, version, only)
        if release is None or not self._has_content(release):
            release = self._store_source(fetch(), digest, only)
        is_current = self._set.current is not None and self._set.current.id == release.id
        return self._with_current(release, self._set.rolled_back_from if is_current else "")

    def roll_back(self) -> PluginSet:
        """Return the set with the release before the current one. Repeated calls change nothing.

        Raises:
            CniError: ``NOT_AVAILABLE``: no earlier release is kept.
        """
        current = self._set.current
        if current is None:
            what = "no plugins are" if self._name == REFERENCE else f"the set {self._name} is not"
            problem = f"there is nothing to roll back: {what} installed in {self._directory.path}"
            raise CniError(Code.NOT_AVAILABLE, problem)
        if not self._set.rolled_back_from and len(self._set.releases) < 2:
            raise CniError(
                Code.NOT_AVAILABLE,
                f"there is nothing to roll back to: no version before {self._describe(current)} is kept",
                "install the version you want with state: present",
            )
        release = current if self._set.rolled_back_from else self._set.releases[-2]
        if not self._has_content(release):
            raise CniError(
                Code.NOT_AVAILABLE,
                f"cannot roll back to version {self._describe(release)}: its kept files are missing or damaged",
                f"install it with state: present; the kept files are in {self._store.path}",
            )
        return self._with_current(release, self._set.rolled_back_from or current.id)

    def _describe(self, release: Release) -> str:
        return release.label if self._name == REFERENCE else f"{release.label} of {self._name}"

    def _with_current(self, release: Release, rolled_back_from: str) -> PluginSet:
        others = [other for other in self._set.releases if other.id != release.id]
        return PluginSet([*(others[-self._keep :] if self._keep else []), release], rolled_back_from)

    def _has_content(self, release: Release) -> bool:
        """Return whether the store has all plugins of a release that are not in the bin dir already."""
        files = self._directory.find(release.files)
        missing = [name for name in files if files[name].sha256 != release.files[name]]
        return self._store.has(release, [*missing, *(release.files.keys() - files.keys())])

    def _find_complete_release(self, digest: str, version: str, only: t.Sequence[str] | None) -> Release | None:
        release = self._set.find(digest)
        # A single executable has another name if the task now gives it one.
        if release is None or not {*(only or ())} <= {*release.names}:
            return None
        selected = select_plugins(release.names, only)
        if not release.files.keys() >= selected:
            return None
        files = {name: release.files[name] for name in release.files if name in selected}
        if version and version != release.version:
            self._require_label(release, version, files)
        return dataclasses.replace(release, files=files, version=version or release.version)

    def _claims_reference(self, version: str, digests: t.Iterable[str]) -> bool:
        return self._name == REFERENCE and is_unproven_claim(version, digests)

    def _require_label(self, release: Release, version: str, names: t.Iterable[str]) -> None:
        """Refuse a new version for a kept release if its plugins contradict it."""
        if not self._claims_reference(version, release.digests):
            return
        for name in names:
            if self._store.has(release, [name]):
                require_version_of_plugin(version, name, read(self._store.file(release, name)))

    def _store_source(self, source: Source, digest: str, only: t.Sequence[str] | None) -> Release:
        known = self._set.find(digest)
        version = source.version or (known.version if known else "")
        if source.listing is not None:
            selected = select_plugins(source.listing, only)
            files = {name: digest for name, digest in source.listing.items() if name in selected}
            return Release(source.digests, version, sorted(source.listing), files)
        release = Release(source.digests, version, [], {})
        is_unproven = self._claims_reference(version, source.digests)
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


__all__ = ("ReleaseSelection", "Source")
