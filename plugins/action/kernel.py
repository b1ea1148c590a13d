# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `kernel`: it reads networks and `sysctls` given as text, and installs missing packages."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._comparison import ComparingAction
from ansible_collections.cni.node.plugins.plugin_utils._conflist_items import RequiredConflistsAction
from ansible_collections.cni.node.plugins.plugin_utils._given_values import settings
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._packages import PackagesAction


class ActionModule(ComparingAction, PackagesAction, RequiredConflistsAction):
    """Prepare network configurations, read `sysctls` given as text, and install packages that the node lacks."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        self.require_packages()
        return super().run(tmp, task_vars)

    def task_arguments(self) -> JsonObject:
        arguments = super().task_arguments()
        if "sysctls" in arguments:
            try:
                arguments["sysctls"] = settings(plain(arguments["sysctls"]))
            except AnsibleFilterError as exc:
                raise AnsibleActionFail(f"sysctls: {exc}", result=dict(self.NOTHING)) from exc
        return arguments

    def execute(self, arguments: JsonObject, task_vars: JsonObject | None) -> JsonObject:
        result = super().execute(arguments, task_vars)
        if result.get("failed") or "commands" not in result:
            return result
        programs = [command["name"] for command in result["commands"] if not command["path"]]
        return self.complete(result, programs, result["missing_libraries"], task_vars or {})
