# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import Found
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import Manifest, SetAside


@dataclasses.dataclass(frozen=True)
class PluginChange:
    """The change of one plugin.

    Attributes:
        action: ``installed``, ``updated``, ``repaired``, ``adopted``, ``removed``, ``restored``, ``left``
            or ``unchanged``.
        before: The present file, or None.
        after: SHA-256 of the file afterwards; empty if there is none.
        displaces: Whether the present file is foreign and is set aside.
    """

    name: str
    action: str
    before: Found | None
    after: str
    displaces: bool = False

    @property
    def changed(self) -> bool:
        return self.action not in ("unchanged", "left")

    @property
    def writes(self) -> bool:
        """Return whether the release's content is written."""
        return self.is_ours and (self.before is None or self.before.sha256 != self.after)

    @property
    def is_ours(self) -> bool:
        """Return whether an installed plugin is there afterwards."""
        return bool(self.after) and self.action != "restored"


def plan(
    desired: t.Mapping[str, str], manifest: Manifest, found: t.Mapping[str, Found], *, force: bool, where: str
) -> list[PluginChange]:
    """Decide on every plugin before one is touched.

    Args:
        desired: SHA-256 by name.
        found: Files of the directory with these names, and with those that the manifest lists.
        force: Set aside foreign files that have the names of plugins.
        where: The directory, as the error names it.

    Raises:
        CniError: ``INVALID_CONFIG``: there are such, and ``force`` is not given, or others are set aside already.
    """
    wanted = [_plan_desired(name, digest, manifest, found.get(name)) for name, digest in sorted(desired.items())]
    displaced = [change for change in wanted if change.displaces and change.action != "adopted"]
    second = [change for change in displaced if _is_second(change, manifest)]
    if second:
        raise _second_refusal(second, where)
    if displaced and not force:
        raise _refusal(displaced, where)
    leaving = sorted({*manifest.installed, *manifest.set_aside} - desired.keys())
    return wanted + [change for name in leaving for change in _plan_removal(name, manifest, found.get(name))]


def _plan_desired(name: str, digest: str, manifest: Manifest, before: Found | None) -> PluginChange:
    ours = manifest.installed.get(name)
    is_right = before is not None and before.sha256 == digest and before.is_kept
    if ours is None and before is not None:
        displaces = not is_right or name not in manifest.set_aside
        return PluginChange(name, "adopted" if is_right else "updated", before, digest, displaces)
    if is_right:
        return PluginChange(name, "unchanged", before, digest)
    if ours is None:
        return PluginChange(name, "installed", before, digest)
    return PluginChange(name, "repaired" if ours == [digest] else "updated", before, digest)


def _plan_removal(name: str, manifest: Manifest, before: Found | None) -> t.Iterator[PluginChange]:
    aside = manifest.set_aside.get(name)
    ours = before is None or before.sha256 in manifest.installed.get(name, ())
    if not ours and not (aside and before and is_same(before, aside)):
        yield PluginChange(name, "left", before, "")
    elif aside:
        yield PluginChange(name, "restored", before, aside.sha256)
    elif before:
        yield PluginChange(name, "removed", before, "")


def is_same(found: Found, aside: SetAside) -> bool:
    """Return whether a file equals the one that was set aside."""
    facts = ("sha256", "mode", "uid", "gid", "mtime_ns", "link")
    return all(getattr(found, fact) == getattr(aside, fact) for fact in facts)


def _is_second(change: PluginChange, manifest: Manifest) -> bool:
    aside = manifest.set_aside.get(change.name)
    return aside is not None and change.before is not None and not is_same(change.before, aside)


def _second_refusal(second: t.Sequence[PluginChange], where: str) -> CniError:
    names = ", ".join(change.name for change in second)
    return CniError(
        Code.INVALID_CONFIG,
        f"{where} has foreign files for which others have already been set aside: {names}",
        "exclude these plugins with 'only', or move the files away; set-aside files are restored when the plugins are removed",
    )


def _refusal(displaced: t.Sequence[PluginChange], where: str) -> CniError:
    names = ", ".join(change.name for change in displaced)
    return CniError(
        Code.INVALID_CONFIG,
        f"{where} has files with names of plugins that this collection has not installed: {names}",
        "exclude these plugins with 'only', or set 'force' to set the files aside; 'state: absent' restores them",
    )


__all__ = ("PluginChange", "is_same", "plan")
