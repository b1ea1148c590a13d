# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The store of a bin dir: the manifest of what is installed there, and the kept releases and files."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import typing as t
import urllib.parse

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.state_file import EVERY, Shape, StateFile, require_shape
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests, digest_of, sha256

# Bytes of a plugin or of a file that was set aside.
_SIZE_LIMIT = 1024 * 1024 * 1024
# Path below the cache directory.
_STORES = ("cni.node", "plugins")
_FILE = "manifest.json"
_FORMAT = 2
_SHAPE: Shape = {
    "sets": {
        EVERY: {
            "releases": [{"digests": [str], "version": str, "names": [str], "files": {EVERY: str}}],
            "rolled_back_from": str,
        }
    },
    "installed": {EVERY: [str]},
    "owners": {EVERY: str},
    "set_aside": {EVERY: {"sha256": str, "mode": int, "uid": int, "gid": int, "mtime_ns": int, "link": str}},
    "made": [str],
    "seen": {EVERY: list},
}
# The name of the set that the options of a task describe, without an item of its own.
REFERENCE = "reference"


@dataclasses.dataclass(frozen=True)
class Release:
    """A kept release, and its plugins that are installed while it is the current release.

    Attributes:
        digests: The digests that identify it. The first one is ``sha256:HEX``, or ``files:HEX`` without an archive.
        version: The version that a task gave it; may be empty.
        names: All plugins of its source.
        files: SHA-256 of the kept plugins by name.
    """

    digests: list[str]
    version: str
    names: list[str]
    files: dict[str, str]

    @property
    def id(self) -> str:
        return self.digests[0]

    @property
    def label(self) -> str:
        """The version, or the beginning of the digest."""
        return self.version or self.id[:19]


@dataclasses.dataclass(frozen=True)
class SetAside:
    """A foreign file that a plugin has replaced. It is restored when the plugin is removed.

    Attributes:
        sha256: Digest of its kept content; empty for a symbolic link.
        link: Target of a symbolic link.
        mtime_ns: Time of its last change, in nanoseconds.
    """

    sha256: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    link: str = ""


@dataclasses.dataclass(frozen=True)
class PluginSet:
    """The kept releases of a named set of plugins.

    Attributes:
        releases: From the oldest to the current one.
        rolled_back_from: The release that was replaced, if the current one is the result of a rollback.
    """

    releases: list[Release] = dataclasses.field(default_factory=list)
    rolled_back_from: str = ""

    @property
    def current(self) -> Release | None:
        return self.releases[-1] if self.releases else None

    @property
    def label(self) -> str | None:
        return self.current.label if self.current else None

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of the plugins of the current release by name."""
        return self.current.files if self.current else {}

    @property
    def earlier(self) -> Release | None:
        """The release to which a rollback returns; None after a rollback, or if no earlier one is kept."""
        return self.releases[-2] if len(self.releases) > 1 and not self.rolled_back_from else None

    def find(self, digest: str) -> Release | None:
        return next((release for release in self.releases if digest in release.digests), None)


@dataclasses.dataclass
class Manifest:
    """The plugins that this collection has installed in a bin dir, and the releases and files that it keeps.

    Attributes:
        sets: The installed sets by name.
        installed: By name, the SHA-256 digests of an installed file: two while a run is in progress.
        owners: By name of a plugin in `installed` or `set_aside`: the set that it belongs to, or belonged to.
        set_aside: Files that were set aside, by name.
        made: Directories that the collection has created.
        seen: As `by_path` of `digest.Digests`.
    """

    sets: dict[str, PluginSet] = dataclasses.field(default_factory=dict)
    installed: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    owners: dict[str, str] = dataclasses.field(default_factory=dict)
    set_aside: dict[str, SetAside] = dataclasses.field(default_factory=dict)
    made: list[str] = dataclasses.field(default_factory=list)
    seen: dict[str, list[t.Any]] = dataclasses.field(default_factory=dict)

    @property
    def releases(self) -> list[Release]:
        """The kept releases of all sets."""
        return [release for plugin_set in self.sets.values() for release in plugin_set.releases]

    def find_set(self, name: str) -> PluginSet:
        """Return a set; one without releases if it is not installed."""
        return self.sets.get(name) or PluginSet()

    def plugins_of_others(self, names: t.Container[str]) -> set[str]:
        """Return the plugins of the sets that do not have these names."""
        return {plugin for name, other in self.sets.items() if name not in names for plugin in other.files}

    def require_distinct(self, bin_dir: str) -> None:
        """Refuse sets that have a plugin of the same name.

        Raises:
            CniError: ``INVALID_CONFIG``.
        """
        claims: dict[str, list[str]] = {}
        for name, plugin_set in self.sets.items():
            for plugin in plugin_set.files:
                claims.setdefault(plugin, []).append(name)
        conflicts = [f"{plugin} of {' and '.join(names)}" for plugin, names in sorted(claims.items()) if len(names) > 1]
        if conflicts:
            problem = f"{bin_dir} cannot have the same plugin of two sets: {', '.join(conflicts)}"
            advice = "exclude the plugin from one of the sets with its 'only', or remove the set that is not needed"
            raise CniError(Code.INVALID_CONFIG, problem, advice)

    @classmethod
    def load(cls, directory: str) -> Manifest:
        """Read the manifest. An unreadable one is an error, because a guess could remove foreign files.

        Raises:
            CniError: ``DECODE_FAILURE``, ``IO_FAILURE``.
        """
        advice = f"restore it from a backup, or remove {directory}; the installed plugins then count as foreign files"
        file = StateFile(os.path.join(directory, _FILE), "the manifest of installed plugins", advice)
        keys = file.read({"format": int})
        if keys is None:
            return cls()
        try:
            if keys["format"] != _FORMAT:
                raise ValueError(f"/format: expected {_FORMAT}, found {keys['format']}")
            require_shape(keys, _SHAPE)
            return cls._from_keys(keys)._require_consistent()
        except (TypeError, ValueError) as exc:
            raise file.error(str(exc)) from exc

    @classmethod
    def _from_keys(cls, keys: dict[str, t.Any]) -> Manifest:
        del keys["format"]
        for name, plugin_set in keys["sets"].items():
            releases = [Release(**release) for release in plugin_set.pop("releases")]
            keys["sets"][name] = PluginSet(releases, **plugin_set)
        keys["set_aside"] = {name: SetAside(**file) for name, file in keys["set_aside"].items()}
        return cls(**keys)

    def _require_consistent(self) -> Manifest:
        """Refuse what would be used as a path below the store or the bin dir but is not a plain name.

        Raises:
            ValueError: It has such a name, a plugin without an owner, or a release without a digest.
        """
        for release in self.releases:
            if not release.digests:
                raise ValueError("/sets: a release has no digest")
        files = {name for release in self.releases for name in (*release.files, *release.digests)}
        for name in {*files, *self.installed, *self.set_aside}:
            if name in ("", ".", "..") or "/" in name or "\0" in name:
                raise ValueError(f"{name!r} is not the name of a plugin")
        for name in (*self.installed, *self.set_aside):
            if name not in self.owners:
                raise ValueError(f"/owners: the key {name!r} is missing")
        return self

    def save(self, directory: str) -> None:
        """Write the manifest if it has changed."""
        path = os.path.join(directory, _FILE)
        content = json_text.encode({"format": _FORMAT, **dataclasses.asdict(self)}) + b"\n"
        if content != durable.read(path):
            durable.write(path, content)


def load_all(cache_dir: str) -> dict[str, Manifest]:
    """Return every manifest by its bin dir.

    Raises:
        CniError: As `Manifest.load`.
    """
    top = os.path.join(cache_dir, *_STORES)
    names = [name for name in durable.list_directory(top) if os.path.isdir(os.path.join(top, name))]
    return {urllib.parse.unquote(name): Manifest.load(os.path.join(top, name)) for name in names}


class PluginStore:
    """The releases and set-aside files that are kept for one bin dir, and their manifest.

    A file belongs to the store only if the manifest lists it; others are removed.
    """

    def __init__(self, cache_dir: str, bin_dir: str) -> None:
        self.path = os.path.join(cache_dir, *_STORES, urllib.parse.quote(bin_dir, safe=""))
        self.manifest = Manifest.load(self.path)
        self.digests = Digests(self.manifest.seen)

    def file(self, release: Release, name: str) -> str:
        return os.path.join(self.path, release.id.replace(":", "-"), name)

    def set_aside(self, name: str) -> str:
        return os.path.join(self.path, "set-aside", name)

    def put(self, path: str, content: bytes) -> None:
        """Write a file; it belongs to the store when the manifest lists it."""
        durable.make_directory(os.path.dirname(path), mode=0o700)
        durable.write(path, content, mode=0o600)

    def has(self, release: Release, names: t.Iterable[str]) -> bool:
        """Return whether plugins of a release are kept unchanged."""
        with contextlib.suppress(CniError):
            return all(digest_of(self.file(release, name)) == release.files.get(name) for name in names)
        return False

    def read_unchanged(self, path: str, digest: str) -> bytes:
        """Return the content of a kept file, if it is unchanged.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        content = read(path)
        actual = sha256(content)
        if actual != digest:
            problem = f"{path} was changed after it was kept: expected sha256:{digest}, found sha256:{actual}"
            advice = f"restore its content, or remove {self.path}; the installed plugins then count as foreign files"
            raise CniError(Code.IO_FAILURE, problem, advice)
        return content

    def save(self, manifest: Manifest) -> None:
        self.manifest = manifest
        durable.make_directory(self.path, mode=0o700)
        manifest.save(self.path)

    def remove_unlisted(self) -> None:
        """Remove files that the manifest on disk does not list."""
        manifest = Manifest.load(self.path)
        listed = {self.file(release, name) for release in manifest.releases for name in release.files}
        listed |= {self.set_aside(name) for name in manifest.set_aside}
        listed.add(os.path.join(self.path, _FILE))
        for directory, dummy, files in os.walk(self.path, topdown=False):
            for file in (os.path.join(directory, name) for name in files):
                if file not in listed:
                    durable.remove(file, flush=False)
            with contextlib.suppress(OSError):
                os.rmdir(directory)

    def remove(self) -> None:
        with io_errors("remove", self.path):
            if os.path.isdir(self.path):
                shutil.rmtree(self.path)


def read(path: str) -> bytes:
    """Return the content of a file, which must exist.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    content = durable.read(path, limit=_SIZE_LIMIT)
    if content is None:
        raise io_error("read", path, FileNotFoundError(2, os.strerror(2)))
    return content
