# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plugin directories, and plugins that networks run, that users other than root can change."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.access import Exposure, exposures
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import executables


def network_findings(
    networks: t.Iterable[NetworkConfiguration], plugin_dirs: t.Sequence[str], *, allow_world_writable: bool
) -> list[Finding]:
    """Find plugin directories, and plugins that networks run, that users other than root can change."""
    types = {executable.type for network in networks for executable in executables(network)}
    return findings(plugin_dirs, sorted(types), allow_world_writable=allow_world_writable) if types else []


def findings(plugin_dirs: t.Sequence[str], types: t.Iterable[str], *, allow_world_writable: bool) -> list[Finding]:
    """Find plugin directories and plugins that users other than root can change.

    Args:
        types: The plugins to check.
        allow_world_writable: Whether plugins that every user of the node can replace are run.
    """
    paths = [
        *plugin_dirs,
        *(os.path.join(path, name) for name in types if name and "/" not in name for path in plugin_dirs),
    ]
    unique = {exposure.path: exposure for path in paths for exposure in exposures(path)}
    return [_finding(exposure, allow_world_writable) for exposure in unique.values()]


def _finding(exposure: Exposure, allow_world_writable: bool) -> Finding:
    if exposure.is_world_writable and not allow_world_writable:
        hint = f"check the content, then run chmod o-w {exposure.path}, or set allow_world_writable_plugins to true"
        refusal = "no plugin is run" if os.path.isdir(exposure.path) else "this plugin is not run"
        return Finding("unsafe-plugin", exposure.path, "", f"{exposure.reason}, so {refusal}", hint)
    hint = f"plugins run as root: run chown root {exposure.path} and chmod go-w {exposure.path}"
    return Finding("writable-plugin", exposure.path, "", exposure.reason, hint)
