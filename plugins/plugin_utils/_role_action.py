# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import shlex
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import prefixes, refusal, unknown_variables
from ansible_collections.cni.node.plugins.plugin_utils._python_version import PROGRAM, too_old


class RoleAction(ActionBase):
    """The controller's part of a module. In a role of this collection, it refuses unknown variables of the role.

    A misspelled ``cni_node_attachments`` with ``cni_node_purge`` would remove every attachment. The check runs before the
    first module of a role and needs no task of its own.
    """

    # Return values that the module always has, as in a run that does nothing.
    NOTHING: t.ClassVar[JsonObject] = {}

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        variables = task_vars or {}
        roles = [variables.get("ansible_role_name") or "", *(variables.get("ansible_parent_role_names") or ())]
        unknown = unknown_variables(variables, prefixes(map(str, roles)))
        if unknown:
            raise AnsibleActionFail(refusal(unknown), result=dict(self.NOTHING))
        result: JsonObject = super().run(tmp, task_vars)
        return result

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        """Run a module. If it fails without an error of its own, check whether the node's Python is too old."""
        result: JsonObject = super()._execute_module(*arguments, **keywords)
        if not result.get("failed") or "error" in result or keywords.get("wrap_async"):
            return result
        refused = self._check_python(keywords.get("task_vars") or {})
        return (
            {"failed": True, "changed": False, "msg": str(refused), "error": refused.as_dict()} if refused else result
        )

    def _check_python(self, variables: JsonObject) -> CniError | None:
        interpreter = (self._used_interpreter or "").lstrip("!#").strip()
        if not interpreter:
            return None
        answer = self._low_level_execute_command(f"{interpreter} -c {shlex.quote(PROGRAM)}")
        host = self._task.delegate_to or variables.get("inventory_hostname") or "the node"
        return too_old(str(answer.get("stdout", "")), interpreter, str(host))


__all__ = ("RoleAction",)
