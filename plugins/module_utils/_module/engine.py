# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The engine with the plugins and records that a module's options name."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Listener
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types


def make_runtime(
    params: t.Mapping[str, t.Any], paths: NodePaths, timeout: float, listener: Listener | None = None
) -> Runtime:
    """Return the engine with the plugins and records that a module's options name.

    Args:
        timeout: Seconds for each plugin, and to wait for each lock.
        listener: Gets what plugins write to standard error.
    """
    allowed = params["allow_world_writable_plugins"]
    executor = make_executor(
        params["plugin_dirs"], timeout, allow_world_writable=allowed, listener=listener, builtin=params["builtin"]
    )
    return Runtime(executor, params["cache_dir"], timeout, nested_types, paths)
