# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bin dir in a temporary directory, and runs that change it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.files.change import missing_directories
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import (
    BinDirectory,
    Labels,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import Installation, InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.selection import ReleaseSelection
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import ReleaseSource, identity_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    REFERENCE,
    Manifest,
    PluginSet,
    PluginStore,
)

Files = dict[str, bytes]


class NotKept(Exception):
    """The source was fetched, although the release should have been kept."""


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    files: Files

    @property
    def source(self) -> ReleaseSource:
        listing = {name: sha256(content) for name, content in self.files.items()}
        return ReleaseSource([identity_of(listing)], lambda: iter(self.files.items()))


def release(version: str, *names: str) -> Release:
    return Release(version, {name: f"{name} of {version}".encode() for name in names})


def select_release(
    release: Release, only: list[str] | None = None, *, has_source: bool = True
) -> t.Callable[[ReleaseSelection], PluginSet]:
    """Return a function that selects a release for a set."""

    def fetch() -> ReleaseSource:
        if not has_source:
            raise NotKept
        return release.source

    return lambda selection: selection.select(release.source.digests[0], release.version, only or [], fetch)


class BinDir:
    def __init__(self, directory: pathlib.Path, labels: Labels | None = None) -> None:
        self.path = directory / "bin"
        self.cache = directory / "cache"
        self._labels = labels

    @property
    def store(self) -> PluginStore:
        return PluginStore(str(self.cache), str(self.path))

    @property
    def manifest(self) -> Manifest:
        return self.store.manifest

    def change(
        self,
        select: t.Mapping[str, t.Callable[[ReleaseSelection], PluginSet]],
        *,
        keep: int = 1,
        force: bool = False,
        dry_run: bool = False,
    ) -> list[InstallResult]:
        """Change sets to what functions select for them."""
        store = self.store
        directory = BinDirectory(str(self.path), store.digests, self._labels)
        selections = {name: ReleaseSelection(name, store, directory, keep=keep, dry_run=dry_run) for name in select}
        sets = {name: choose(selections[name]) for name, choose in select.items()}
        installation = Installation(sets, store, directory, force=force)
        results = installation.results
        if not dry_run:
            installation.run(missing_directories(str(self.path)))
        return results

    def present(
        self,
        release: Release,
        only: list[str] | None = None,
        *,
        has_source: bool = True,
        name: str = REFERENCE,
        **options: t.Any,
    ) -> InstallResult:
        choose = select_release(release, only, has_source=has_source)
        return self.change({name: choose}, **options)[0]

    def roll_back(self, name: str = REFERENCE, **options: t.Any) -> InstallResult:
        return self.change({name: ReleaseSelection.roll_back}, **options)[0]

    def absent(self, name: str = REFERENCE, **options: t.Any) -> InstallResult:
        return self.change({name: lambda dummy: PluginSet()}, **options)[0]

    def put(self, name: str, content: bytes, mode: int = 0o755) -> pathlib.Path:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def files(self) -> Files:
        """Return the files that are not temporary, with their content."""
        names = [name for name in sorted(os.listdir(self.path)) if not durable.is_temporary(name)]
        return {name: (self.path / name).read_bytes() for name in names}

    def list_unlisted(self) -> list[str]:
        """Return temporary files, and kept files that no release lists."""
        listed = {self.store.file(release, name) for release in self.manifest.releases for name in release.files}
        listed |= {self.store.set_aside(name) for name, file in self.manifest.set_aside.items() if not file.link}
        kept = {str(path) for path in pathlib.Path(self.store.path).rglob("*") if path.is_file()}
        temporary = [name for name in os.listdir(self.path) if durable.is_temporary(name)]
        return sorted(temporary + list(kept - listed - {os.path.join(self.store.path, "manifest.json")}))


def actions(result: InstallResult) -> dict[str, str]:
    return {change.name: change.action for change in result.changes}
