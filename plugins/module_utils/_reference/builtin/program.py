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

from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import program
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry, sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, BuiltinExecutor


def main(name: str) -> int:
    """Run the plugin of a name; return the exit status."""
    plugin_type = os.path.basename(name)
    if plugin_type not in registry.TYPES:
        sys.stderr.write(f"{name}: no built-in plugin has this name; known: {', '.join(sorted(registry.TYPES))}\n")
        return 1
    sandbox.follow_override(os.environ.get("CNI_NETNS_OVERRIDE", ""))
    return program.run(registry.load(plugin_type), _make_executor)


def _make_executor(directories: t.Sequence[str]) -> Executor:
    return BuiltinExecutor(program.make_process_executor(directories), MISSING)


__all__ = ("main",)
