# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of a run: what becomes of each plugin, and of foreign files that have their names."""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory, PluginFile
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE, Manifest, PluginSet

# Seconds. A package database answers within some tenths of one.
_PACKAGES_TIMEOUT = 30.0
_PACKAGES_ENVIRONMENT = {b"LC_ALL": b"C", b"PATH": b"/usr/sbin:/usr/bin:/sbin:/bin"}
# Programs that know which package a file belongs to: their options before the paths, and a line of their output, whose first
# group is the package.
_MANAGERS = {
    "dpkg-query": (("--search",), re.compile(r"(?!diversion by )(\S+(?:, \S+)*): /.*")),
    "rpm": (("-qf", "--queryformat", r"%{NAME}\n"), re.compile(r"([A-Za-z0-9._+-]+)")),
    "apk": (("info", "--who-owns"), re.compile(r"/.* is owned by (\S+?)(?:-\d\S*)?")),
}


@dataclasses.dataclass(frozen=True)
class PluginChange:
    """The change of one plugin.

    Attributes:
        set: The set that has the plugin, or had it.
        action: ``installed``, ``updated``, ``repaired``, ``adopted``, ``removed``, ``restored``, ``unchanged``, or
            ``left`` for a foreign file in place of an installed plugin.
        before: The current file, or None.
        after: SHA-256 of the file afterwards; empty if there is none.
        displaces: Whether the current file is foreign and is set aside.
        package: The distribution's package that the foreign file belongs to; empty if there is none.
    """

    name: str
    set: str
    action: str
    before: PluginFile | None
    after: str
    displaces: bool = False
    package: str = ""

    @property
    def changed(self) -> bool:
        return self.action not in ("unchanged", "left")

    @property
    def writes(self) -> bool:
        """Return whether the release's content is written."""
        return self.is_installed and (self.before is None or self.before.sha256 != self.after)

    @property
    def is_installed(self) -> bool:
        """Return whether the file is an installed plugin afterwards."""
        return bool(self.after) and self.action != "restored"


def plan(
    sets: t.Mapping[str, PluginSet], manifest: Manifest, directory: BinDirectory, *, force: bool
) -> list[PluginChange]:
    """Plan the changes of the plugins of some sets.

    Args:
        sets: By name; the manifest has their new releases already.
        force: Set aside foreign files that have the names of plugins.

    Raises:
        CniError: ``INVALID_CONFIG``: there are foreign files, and they may not or cannot be set aside.
    """
    desired = {plugin: (name, digest) for name, wanted in sets.items() for plugin, digest in wanted.files.items()}
    obsolete = {*manifest.installed, *manifest.set_aside} - desired.keys() - manifest.plugins_of_others(sets)
    files = directory.find({*desired, *obsolete})
    foreign = [name for name in desired if name in files and _is_foreign(name, files[name], manifest)]
    packages = find_packages(directory.path, foreign) if foreign else {}
    changes = [
        _plan_desired(name, *wanted, manifest, files.get(name), packages.get(name, ""))
        for name, wanted in sorted(desired.items())
    ]
    displaced = [change for change in changes if change.displaces and (change.action != "adopted" or change.package)]
    kept = {change.name: (manifest.set_aside.get(change.name), change.before) for change in displaced}
    blocked = ", ".join(name for name, (aside, file) in kept.items() if aside and file and aside != file.as_set_aside)
    if blocked:
        problem = "has foreign files that cannot be set aside, because others with these names already are"
        advice = "move the files away; files that are set aside are restored when the plugins are removed"
        advice = f"exclude these plugins with 'only', or {advice}"
        raise CniError(Code.INVALID_CONFIG, f"{directory.path} {problem}: {blocked}", advice)
    if displaced and not force:
        raise _foreign_files_error(displaced, directory.path)
    return changes + [change for name in sorted(obsolete) for change in _plan_removal(name, manifest, files.get(name))]


def _is_foreign(name: str, file: PluginFile, manifest: Manifest) -> bool:
    """Return whether this collection has not installed a file that has the name of a plugin."""
    return file.sha256 not in manifest.installed.get(name, ())


def _plan_desired(
    name: str, owner: str, digest: str, manifest: Manifest, before: PluginFile | None, package: str
) -> PluginChange:
    installed = manifest.installed.get(name)
    is_intact = before is not None and before.sha256 == digest and before.has_plugin_metadata
    # A package that has replaced an installed plugin must keep its file, whereas other changes are repaired.
    if before is not None and (installed is None or package):
        displaces = not is_intact or name not in manifest.set_aside
        return PluginChange(name, owner, "adopted" if is_intact else "updated", before, digest, displaces, package)
    changed = "installed" if installed is None else "repaired" if installed == [digest] else "updated"
    return PluginChange(name, owner, "unchanged" if is_intact else changed, before, digest)


def _plan_removal(name: str, manifest: Manifest, before: PluginFile | None) -> t.Iterator[PluginChange]:
    owner, aside = manifest.owners.get(name, REFERENCE), manifest.set_aside.get(name)
    if before and _is_foreign(name, before, manifest) and before.as_set_aside != aside:
        yield PluginChange(name, owner, "left", before, "")
    elif aside:
        yield PluginChange(name, owner, "restored", before, aside.sha256)
    elif before:
        yield PluginChange(name, owner, "removed", before, "")


def _foreign_files_error(displaced: t.Sequence[PluginChange], bin_dir: str) -> CniError:
    names = ", ".join(
        f"{change.name} (package {change.package})" if change.package else change.name for change in displaced
    )
    advice = "exclude these plugins with 'only', or set 'force' to set the files aside; 'state: absent' restores them"
    packages = ", ".join(sorted({change.package for change in displaced if change.package}))
    if packages:
        advice += f"; or remove {packages}, whose updates would replace the plugins, or set another 'bin_dir'"
    problem = f"{bin_dir} has files with names of plugins that this collection has not installed: {names}"
    return CniError(Code.INVALID_CONFIG, problem, advice)


def find_packages(directory: str, names: t.Iterable[str]) -> dict[str, str]:
    """Return the distribution's packages that files of a directory belong to, by the name of the file.

    A file without a package is left out. So is every file if the package database cannot be read.
    """
    managers = [(path, name) for name in _MANAGERS if (path := program.find(name))]
    packages = {}
    for name in names:
        # A package lists the path at which it installs a file, not the links that lead there.
        path = os.path.join(directory, name)
        paths = dict.fromkeys([path, os.path.join(os.path.realpath(directory), name), os.path.realpath(path)])
        packages[name] = next(filter(None, (_query(*manager, paths) for manager in managers)), "")
    return {name: package for name, package in packages.items() if package}


def _query(executable: str, name: str, paths: t.Iterable[str]) -> str:
    options, line = _MANAGERS[name]
    # dpkg-query reads patterns.
    escaped = [re.sub(r"([*?\[\\])", r"\\\1", path) for path in paths] if name == "dpkg-query" else paths
    try:
        result = process.run([executable, *options, *escaped], _PACKAGES_ENVIRONMENT, b"", _PACKAGES_TIMEOUT)
    except OSError:
        return ""
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    return next((match[1] for text in lines if (match := line.fullmatch(text))), "")
