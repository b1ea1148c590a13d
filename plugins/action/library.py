# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `library`: it installs the library, or removes it without running from it."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._role_action import ModuleAction


class ActionModule(ModuleAction):
    """Install the library, or run the module without it, to remove it."""

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        self.uses_library = plain(self._task.args.get("state")) != "absent"
        result = super().run(tmp, task_vars)
        if self.has_installed and not result.get("failed"):
            result.update(changed=True, msg=f"{result['library']}: installed")
        return result
