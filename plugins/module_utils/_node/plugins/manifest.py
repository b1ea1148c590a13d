# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The manifest of a bin dir: installed plugins, kept releases and files set aside."""

from __future__ import annotations

import dataclasses
import os
import typing as t
import urllib.parse

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# Path below the cache directory.
_STORES: t.Final = ("cni.node", "plugins")
FILE: t.Final = "manifest.json"
_FORMAT: t.Final = 2
# The format before there were sets.
_WITHOUT_SETS: t.Final = 1
# The name of the set that the options of a task describe, without an item of its own.
REFERENCE: t.Final = "reference"


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
    def files(self) -> dict[str, str]:
        """SHA-256 of the plugins of the current release by name."""
        return self.current.files if self.current else {}

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

    @classmethod
    def load(cls, directory: str) -> Manifest:
        """Read the manifest. An unreadable one is an error, because a guess could remove foreign files.

        Raises:
            CniError: ``DECODE_FAILURE``, ``IO_FAILURE``.
        """
        path = os.path.join(directory, FILE)
        content = durable.read(path)
        if content is None:
            return cls()
        keys = json_text.as_object(json_text.decode(content, path), path)
        try:
            return cls._from_keys(_with_sets(keys))
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise CniError(
                Code.DECODE_FAILURE,
                f"{path} is not a valid manifest of installed plugins: {exc}",
                f"remove {directory}; the installed plugins then count as foreign files",
            ) from exc

    @classmethod
    def _from_keys(cls, keys: dict[str, t.Any]) -> Manifest:
        if keys.pop("format") != _FORMAT:
            raise ValueError("an unknown format")
        keys["sets"] = {name: _read_set(**plugin_set) for name, plugin_set in keys["sets"].items()}
        keys["set_aside"] = {name: SetAside(**file) for name, file in keys["set_aside"].items()}
        return cls(**keys)

    def save(self, directory: str) -> None:
        """Write the manifest if it has changed."""
        path = os.path.join(directory, FILE)
        content = json_text.encode({"format": _FORMAT, **dataclasses.asdict(self)}) + b"\n"
        if content != durable.read(path):
            durable.write(path, content)


def _read_set(releases: list[dict[str, t.Any]], rolled_back_from: str) -> PluginSet:
    return PluginSet([Release(**release) for release in releases], rolled_back_from)


def _with_sets(keys: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the keys of a manifest with sets. One without sets is that of the reference plugins."""
    if keys["format"] != _WITHOUT_SETS:
        return keys
    plugin_set = {key: keys.pop(key) for key in ("releases", "rolled_back_from")}
    sets = {REFERENCE: plugin_set} if plugin_set["releases"] else {}
    owners = dict.fromkeys({*keys["installed"], *keys["set_aside"]}, REFERENCE)
    return {**keys, "format": _FORMAT, "sets": sets, "owners": owners}


def store_path(cache_dir: str, bin_dir: str) -> str:
    """Return the directory that has the manifest and the kept files of a bin dir."""
    return os.path.join(cache_dir, *_STORES, urllib.parse.quote(bin_dir, safe=""))


def load_all(cache_dir: str) -> dict[str, Manifest]:
    """Return every manifest by its bin dir.

    Raises:
        CniError: As `Manifest.load`.
    """
    top = os.path.join(cache_dir, *_STORES)
    names = [name for name in list_directory(top) if os.path.isdir(os.path.join(top, name))]
    return {urllib.parse.unquote(name): Manifest.load(os.path.join(top, name)) for name in names}


__all__ = ("FILE", "REFERENCE", "Manifest", "PluginSet", "Release", "SetAside", "load_all", "store_path")
