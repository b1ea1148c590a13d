# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run a built-in plugin as an executable; the name under which it was started decides which one."""

from __future__ import annotations

import os
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.current_library import hold_current
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.library import collect_rarely
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import standard_output
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor


def main(name: str) -> int:
    """Run the plugin with this name; return the exit status."""
    collect_rarely()
    plugin_type = os.path.basename(name)
    if plugin_type not in registry.TYPES:
        sys.stderr.write(f"{name}: no built-in plugin has this name; known: {', '.join(sorted(registry.TYPES))}\n")
        return 1
    try:
        hold_current()
    except CniError as exc:
        return _print({"cniVersion": version.LATEST, **exc.as_dict()}, 1)
    # Runtimes ask for versions before each operation, and the answer needs little of the engine.
    if os.environ.get("CNI_COMMAND") == "VERSION" and sys.stdout is not None:
        return _print(version.describe(list_versions(plugin_type)), 0)
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin import program
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox

    sandbox.follow_override(os.environ.get("CNI_NETNS_OVERRIDE", ""))
    return program.run(registry.load(plugin_type), _make_executor)


def _make_executor(directories: t.Sequence[str]) -> Executor:
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin import program
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, BuiltinExecutor

    return BuiltinExecutor(program.make_process_executor(directories), MISSING)


def _print(keys: JsonObject, status: int) -> int:
    """Print a result or an error; return the exit status."""
    try:
        standard_output.write(json_text.encode(keys))
    except CniError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return status
