# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `node_info`: it validates the network configurations that the module read."""

from __future__ import annotations

import base64
import typing as t

from ansible.errors import AnsibleActionFail

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONFIGURATIONS_KEY, FINDINGS
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_list
from ansible_collections.cni.node.plugins.plugin_utils._role_action import ModuleAction
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate


class ActionModule(ModuleAction):
    """Refuse unknown variables of a role, run the module, and validate the network configurations that it read."""

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        if self._task.async_val and FINDINGS in (as_list(self._task.args.get("gather")) or ()):
            # Ansible would return the result of the module without this plugin, and so the files.
            raise AnsibleActionFail(
                "gather: findings cannot be gathered by a task with async; gather them in a task of their own"
            )
        result = super().run(tmp, task_vars)
        # They may have secrets, so the result keeps neither the files nor values from them.
        configurations: t.Sequence[JsonMapping] = result.pop(CONFIGURATIONS_KEY, ())
        if not configurations:
            return result
        sources = [Source(entry["file"], base64.b64decode(entry["content"])) for entry in configurations]
        findings = [{**finding.as_dict(), "value": None} for finding in validate(sources)]
        return {**result, "findings": [*findings, *result["findings"]]}
