# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.file_change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.kernel_needs import Reasons

MODULES = "/etc/modules-load.d/cni.node.conf"
SETTINGS = "/etc/sysctl.d/90-cni.node.conf"

_MODE: t.Final = 0o644
_SIZE_LIMIT: t.Final = 1024 * 1024
_BANNER: t.Final = (
    "# {} of container networks, written by the module cni.node.kernel: what is changed here gets lost.\n"
)


def changes(modules: Reasons, settings: Reasons, values: t.Mapping[str, str]) -> list[FileChange]:
    """Say what becomes of the files from which the next boot takes modules and settings.

    Args:
        modules, settings: Reasons by name, in the order of the file.
    """
    lines = {name: f"{name} = {values[name]}" for name in settings}
    return [
        _change(MODULES, _text("Kernel modules", modules, {name: name for name in modules})),
        _change(SETTINGS, _text("Kernel settings", settings, lines)),
    ]


def apply(change: FileChange) -> None:
    """Carry out one change; the file is the old one or the new one at any moment."""
    if change.action == "removed":
        durable.remove(change.path)
    elif change.changed and change.after is not None:
        durable.make_directory(os.path.dirname(change.path))
        durable.write(change.path, change.after, mode=_MODE)


def _text(what: str, reasons: Reasons, lines: t.Mapping[str, str]) -> bytes | None:
    entries = ["".join(f"# {reason}\n" for reason in reasons[name]) + f"{line}\n" for name, line in lines.items()]
    return "\n".join([_BANNER.format(what), *entries]).encode() if entries else None


def _change(path: str, after: bytes | None) -> FileChange:
    before = durable.read(path, limit=_SIZE_LIMIT)
    mode = None if before is None else stat.S_IMODE(os.stat(path).st_mode)
    wanted = None if after is None else _MODE
    return FileChange("", path, _action(before, after, same_mode=mode == wanted), before, after, mode, wanted)


def _action(before: bytes | None, after: bytes | None, *, same_mode: bool) -> str:
    if before is None:
        return "unchanged" if after is None else "created"
    if after is None:
        return "removed"
    return "unchanged" if before == after and same_mode else "changed"


__all__ = ("MODULES", "SETTINGS", "apply", "changes")
