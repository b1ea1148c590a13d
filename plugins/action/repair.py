# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `repair`: it installs the package of a missing library, and repairs what was left."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._packages import PackagesAction, with_packages
from ansible_collections.cni.node.plugins.plugin_utils._role_action import ModuleAction


class ActionModule(PackagesAction, ModuleAction):
    """Run the module. If it lacks a library, install its package and repair what was left."""

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        self.require_packages()
        result = super().run(tmp, task_vars)
        completed = self.complete(result, (), result.get("missing_libraries", ()), task_vars or {})
        if self._task.check_mode or "packages" not in completed:
            return completed
        return with_packages(super().run(tmp, task_vars), completed["packages"], predicted=False)
