# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run an operation of a built-in plugin in a process of its own."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import program
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry, sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, BuiltinExecutor


def run(plugin_type: str) -> int:
    """Run the operation that the environment names; return the exit status."""
    sandbox.follow_override(os.environ.get("CNI_NETNS_OVERRIDE", ""))
    return program.run(registry.load(plugin_type), _make_executor)


def _make_executor(directories: t.Sequence[str]) -> Executor:
    return BuiltinExecutor(program.make_process_executor(directories), MISSING)
