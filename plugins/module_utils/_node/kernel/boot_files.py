# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The files from which the next boot loads kernel modules and sets kernel settings."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, plan_change
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Reasons

_BANNER = "# {} for container networks, written by the module cni.node.kernel. Changes to this file are overwritten.\n"


def plan_files(paths: NodePaths, modules: Reasons, settings: Reasons, values: t.Mapping[str, str]) -> list[FileChange]:
    """Plan the files from which the next boot loads modules and sets settings.

    Args:
        modules, settings: Reasons by name, in the order of the file.
    """
    lines = {name: f"{name} = {values[name]}" for name in settings}
    return [
        plan_change(paths.modules_file, _text("Kernel modules", modules, {name: name for name in modules})),
        plan_change(paths.sysctl_file, _text("Kernel settings", settings, lines)),
    ]


def _text(what: str, reasons: Reasons, lines: t.Mapping[str, str]) -> bytes | None:
    entries = ["".join(f"# {reason}\n" for reason in reasons[name]) + f"{line}\n" for name, line in lines.items()]
    return "\n".join([_BANNER.format(what), *entries]).encode() if entries else None
