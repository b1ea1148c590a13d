# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plan the changes of the plugins in a bin dir."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import PluginFile
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE, Manifest, SetAside


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


class DesiredPlugin(t.NamedTuple):
    """A plugin of the new release of a set.

    Attributes:
        set: The set's name.
        sha256: Digest of the file.
    """

    set: str
    sha256: str


def plan(
    desired: t.Mapping[str, DesiredPlugin],
    obsolete: t.Iterable[str],
    manifest: Manifest,
    files: t.Mapping[str, PluginFile],
    packages: t.Mapping[str, str],
    *,
    force: bool,
    bin_dir: str,
) -> list[PluginChange]:
    """Plan the changes of the plugins of some sets.

    Args:
        desired: The plugins by name.
        obsolete: Names of plugins in the manifest that no set has any more.
        files: The files of the bin dir that have one of these names.
        packages: By name, the packages of those files that this collection has not installed.
        force: Set aside foreign files that have the names of plugins.
        bin_dir: The directory's name in errors.

    Raises:
        CniError: ``INVALID_CONFIG``: there are foreign files, and they may not or cannot be set aside.
    """
    changes = [
        _plan_desired(name, plugin, manifest, files.get(name), packages.get(name, ""))
        for name, plugin in sorted(desired.items())
    ]
    displaced = [change for change in changes if change.displaces and (change.action != "adopted" or change.package)]
    blocked = [change for change in displaced if _has_other_set_aside(change, manifest)]
    if blocked:
        raise _blocked_error(blocked, bin_dir)
    if displaced and not force:
        raise _foreign_files_error(displaced, bin_dir)
    return changes + [change for name in sorted(obsolete) for change in _plan_removal(name, manifest, files.get(name))]


def find_foreign(
    desired: t.Mapping[str, DesiredPlugin], manifest: Manifest, files: t.Mapping[str, PluginFile]
) -> list[str]:
    """Return the plugins in whose place there is a file that this collection has not installed."""
    present = [name for name in desired if name in files]
    return [name for name in present if files[name].sha256 not in manifest.installed.get(name, ())]


def _plan_desired(
    name: str, plugin: DesiredPlugin, manifest: Manifest, before: PluginFile | None, package: str
) -> PluginChange:
    owner, digest = plugin
    installed = manifest.installed.get(name)
    is_intact = before is not None and before.sha256 == digest and before.has_plugin_metadata
    # A package that has replaced an installed plugin must keep its file, whereas other changes are repaired.
    if before is not None and (installed is None or package):
        displaces = not is_intact or name not in manifest.set_aside
        return PluginChange(name, owner, "adopted" if is_intact else "updated", before, digest, displaces, package)
    if is_intact:
        return PluginChange(name, owner, "unchanged", before, digest)
    if installed is None:
        return PluginChange(name, owner, "installed", before, digest)
    return PluginChange(name, owner, "repaired" if installed == [digest] else "updated", before, digest)


def _plan_removal(name: str, manifest: Manifest, before: PluginFile | None) -> t.Iterator[PluginChange]:
    owner, aside = manifest.owners.get(name, REFERENCE), manifest.set_aside.get(name)
    is_foreign = before is not None and before.sha256 not in manifest.installed.get(name, ())
    if is_foreign and not (aside and before and is_set_aside_file(before, aside)):
        yield PluginChange(name, owner, "left", before, "")
    elif aside:
        yield PluginChange(name, owner, "restored", before, aside.sha256)
    elif before:
        yield PluginChange(name, owner, "removed", before, "")


def is_set_aside_file(file: PluginFile, aside: SetAside) -> bool:
    """Return whether a file equals the one that was set aside."""
    fields = ("sha256", "mode", "uid", "gid", "mtime_ns", "link")
    return all(getattr(file, field) == getattr(aside, field) for field in fields)


def _has_other_set_aside(change: PluginChange, manifest: Manifest) -> bool:
    aside = manifest.set_aside.get(change.name)
    return aside is not None and change.before is not None and not is_set_aside_file(change.before, aside)


def _blocked_error(blocked: t.Sequence[PluginChange], bin_dir: str) -> CniError:
    names = ", ".join(change.name for change in blocked)
    return CniError(
        Code.INVALID_CONFIG,
        f"{bin_dir} has foreign files that cannot be set aside, because others with these names already are: {names}",
        "exclude these plugins with 'only', or move the files away; files that are set aside are restored when the "
        "plugins are removed",
    )


def _foreign_files_error(displaced: t.Sequence[PluginChange], bin_dir: str) -> CniError:
    names = ", ".join(_name_with_package(change) for change in displaced)
    advice = "exclude these plugins with 'only', or set 'force' to set the files aside; 'state: absent' restores them"
    packages = sorted({change.package for change in displaced if change.package})
    if packages:
        advice += (
            f"; or remove {', '.join(packages)}, whose updates would replace the plugins, or set another 'bin_dir'"
        )
    return CniError(
        Code.INVALID_CONFIG,
        f"{bin_dir} has files with names of plugins that this collection has not installed: {names}",
        advice,
    )


def _name_with_package(change: PluginChange) -> str:
    return f"{change.name} (package {change.package})" if change.package else change.name


__all__ = ("DesiredPlugin", "PluginChange", "find_foreign", "is_set_aside_file", "plan")
