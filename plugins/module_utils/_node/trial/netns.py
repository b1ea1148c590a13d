# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory


def ensure(paths: NodePaths, names: t.Sequence[str], *, present: bool, dry_run: bool) -> list[str]:
    """Make or remove named network namespaces; nothing is done before every name has been looked at.

    Returns:
        The names that were made or removed, or would be; without those that another run has just seen to.

    Raises:
        CniError: A name is not one, or that of a file that is none and has something in it, or the system refuses.
    """
    directory = NetnsDirectory(paths)
    unique = list(dict.fromkeys(names))
    changing = [name for name in unique if _is_wrong(directory.path_of(name), present)]
    if dry_run:
        return changing
    change = directory.create if present else directory.delete
    return [name for name in changing if change(name)]


def _is_wrong(path: str, present: bool) -> bool:
    is_namespace = netns.is_namespace(path)
    if not is_namespace:
        netns.require_removable(path)
    return not is_namespace if present else os.path.lexists(path)


__all__ = ("ensure",)
