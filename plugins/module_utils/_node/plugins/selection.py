# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The release that becomes the current one of a set: a kept one, or one from its source."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.plugins import label
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import ReleaseSource, identity_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    REFERENCE,
    PluginSet,
    PluginStore,
    Release,
)


@dataclasses.dataclass(frozen=True)
class ReleaseSelection:
    """Selects the new release of one set, and gets it into the store.

    Attributes:
        name: The set's name.
        keep: Number of releases to keep besides the current one.
        dry_run: Whether to leave the store unchanged.
    """

    name: str
    store: PluginStore
    directory: BinDirectory
    keep: int
    dry_run: bool

    @property
    def _set(self) -> PluginSet:
        return self.store.manifest.find_set(self.name)

    def select(
        self, digest: str, version: str, only: t.Sequence[str], fetch: t.Callable[[], ReleaseSource]
    ) -> PluginSet:
        """Return the set with a release as its current one.

        Args:
            digest: A digest of the release.
            version: The new name of the release; empty to keep its name.
            only: The plugins to install; empty for all.
            fetch: Returns the release, if the kept files are not sufficient.

        Raises:
            CniError: Among others, ``INVALID_CONFIG`` if plugins contradict the version.
        """
        release = self._find_complete_release(digest, version, only)
        if release is None or not self._has_content(release):
            release = self._store_source(fetch(), digest, version, only)
        is_current = self._set.current is not None and self._set.current.id == release.id
        return self._with_current(release, self._set.rolled_back_from if is_current else "")

    def roll_back(self) -> PluginSet:
        """Return the set with the release before the current one. Repeated calls change nothing.

        Raises:
            CniError: ``NOT_AVAILABLE``: no earlier release is kept.
        """
        current, replaced = self._set.current, self._set.rolled_back_from
        if current is None:
            what = "no plugins are" if self.name == REFERENCE else f"the set {self.name} is not"
            problem = f"there is nothing to roll back: {what} installed in {self.directory.path}"
            raise CniError(Code.NOT_AVAILABLE, problem)
        release = current if replaced else self._set.earlier
        if release is None:
            problem = f"there is nothing to roll back to: no version before {self._describe(current)} is kept"
            raise CniError(Code.NOT_AVAILABLE, problem, "install the version you want with state: present")
        if not self._has_content(release):
            problem = f"cannot roll back to version {self._describe(release)}: its kept files are missing or damaged"
            advice = f"install it with state: present; the kept files are in {self.store.path}"
            raise CniError(Code.NOT_AVAILABLE, problem, advice)
        return self._with_current(release, replaced or current.id)

    def _describe(self, release: Release) -> str:
        return release.label if self.name == REFERENCE else f"{release.label} of {self.name}"

    def _with_current(self, release: Release, rolled_back_from: str) -> PluginSet:
        others = [other for other in self._set.releases if other.id != release.id]
        return PluginSet([*(others[-self.keep :] if self.keep else []), release], rolled_back_from)

    def _has_content(self, release: Release) -> bool:
        """Return whether the store has all plugins of a release that are not in the bin dir already."""
        files = self.directory.find(release.files)
        return self.store.has(
            release, [name for name in release.files if name not in files or files[name].sha256 != release.files[name]]
        )

    def _find_complete_release(self, digest: str, version: str, only: t.Sequence[str]) -> Release | None:
        release = self._set.find(digest)
        # A single executable has another name if the task now gives it one: then the release does not have that name.
        selected = set(only or (release.names if release else ()))
        if release is None or not selected <= release.files.keys():
            return None
        files = {name: release.files[name] for name in release.files if name in selected}
        if version and version != release.version and self._is_unproven(version, release.digests):
            for name, expected in files.items():
                if self.store.has(release, [name]):
                    content = self.store.read_unchanged(self.store.file(release, name), expected)
                    label.require_version_of_plugin(version, name, content)
        return dataclasses.replace(release, files=files, version=version or release.version)

    def _is_unproven(self, version: str, digests: t.Iterable[str]) -> bool:
        return self.name == REFERENCE and label.is_unproven_claim(version, digests)

    def _store_source(self, source: ReleaseSource, digest: str, version: str, only: t.Sequence[str]) -> Release:
        known = self._set.find(digest)
        version = version or (known.version if known else "")
        release = Release(source.digests, version, [], {})
        is_unproven = self._is_unproven(version, source.digests)
        listing = dict(source.listing)
        for name, content in source.plugins():
            listing[name] = sha256(content)
            if only and name not in only:
                continue
            if is_unproven:
                label.require_version_of_plugin(version, name, content)
            if not self.dry_run:
                self.store.put(self.store.file(release, name), content)
        _require_identity(release.id, listing)
        unknown = sorted(set(only) - listing.keys())
        if unknown:
            problem = f"only: the release has no plugin {', '.join(unknown)}"
            raise CniError(Code.INVALID_CONFIG, problem, f"it has {', '.join(sorted(listing))}")
        files = {name: digest for name, digest in listing.items() if not only or name in only}
        return dataclasses.replace(release, names=sorted(listing), files=files)


def _require_identity(identity: str, listing: t.Mapping[str, str]) -> None:
    """Refuse a directory of plugins whose digest has changed; archives are verified earlier.

    Raises:
        CniError: ``DECODE_FAILURE``.
    """
    actual = identity_of(listing)
    if identity.startswith("files:") and identity != actual:
        problem = f"the plugins have changed since they were listed: expected {identity}, found {actual}"
        advice = "the source was changed while it was read; nothing was installed; run the task again"
        raise CniError(Code.DECODE_FAILURE, problem, advice)
