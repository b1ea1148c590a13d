# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Create and remove named network namespaces."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import mount_propagation, netns
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory


def ensure(paths: NodePaths, names: t.Sequence[str], *, present: bool, dry_run: bool) -> list[str]:
    """Create or remove named network namespaces. All names are checked before the first change.

    Returns:
        The names of the namespaces that were created or removed, or would be in a dry run, in their order.

    Raises:
        CniError: A name is invalid, a file in the way is not empty, the node would not see it, or the kernel refuses.
    """
    directory = NetnsDirectory(paths)
    unique = list(dict.fromkeys(names))
    changing = [name for name in unique if _has_to_change(directory.path_of(name), present)]
    if changing and present:
        mount_propagation.require_visible(directory.path)
    if dry_run:
        return changing
    change = directory.create if present else directory.delete
    return [name for name in changing if change(name)]


def _has_to_change(path: str, present: bool) -> bool:
    is_namespace = netns.is_namespace(path)
    if not is_namespace:
        netns.require_removable(path)
    return not is_namespace if present else os.path.lexists(path)
