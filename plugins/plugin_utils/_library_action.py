# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run modules from the library on the node, and send it there when it is missing."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.library import (
    ANSWER,
    MISSING,
    NEEDS_MORE,
    REQUEST,
)
from ansible_collections.cni.node.plugins.plugin_utils import _library

display = Display()

_LAUNCHER: t.Final = "cni.node.launcher"
# The variable also moves everything else that is below /opt (docs/playbooks.md).
_OPT_DIR: t.Final = "cni_node_opt_dir"


class LibraryAction(ActionBase):
    """Runs its module from the library; where that is impossible, as Ansible runs other modules.

    Attributes:
        uses_library: Whether to do so.
        has_installed: Whether this task has installed the library.
    """

    uses_library = True
    has_installed = False

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        variables = keywords.get("task_vars") or {}
        request = {"top": self._find_top(variables), "digest": _library.digest(), "archive": "", "module": ""}
        if arguments or keywords.get("module_name") or not self.uses_library:
            return self._execute_with(request, *arguments, **keywords)
        mark = _Mark(self._describe_connection(variables))
        reason = "a task with async does not install it" if self._task.async_val else mark.reason
        if reason is None:
            result = self._launch(request, keywords)
            answer = result.get(ANSWER)
            if answer is None:
                return result
            reason = answer["reason"] or "check mode does not install it"
            if answer["state"] != NEEDS_MORE:
                mark.set(reason)
            display.v(printable.line(f"{self._name_host(variables)} runs without the library: {reason}"))
        return self._execute_with(request, **keywords)

    def _launch(self, request: JsonObject, keywords: JsonObject) -> JsonObject:
        """Run the module from the library, installing it if it is missing; the result may be the launcher's answer."""
        request = {**request, "module": self._task.action.rpartition(".")[2]}
        keywords = {"module_args": self._task.args, **keywords, "module_name": _LAUNCHER}
        result = self._execute_with(request, **keywords)
        is_missing = (result.get(ANSWER) or {}).get("state") == MISSING
        if is_missing and not self._task.check_mode:
            request["archive"] = self.send_file(_library.archive(), "cni_node_library.zip")
            result = self._execute_with(request, **keywords)
            self.has_installed = ANSWER not in result
        return result

    def _execute_with(self, request: JsonObject, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        """Run a module with the request in its environment."""
        self._task.environment.append({REQUEST: json.dumps(request)})
        try:
            result: JsonObject = super()._execute_module(*arguments, **keywords)
        finally:
            self._task.environment.pop()
        return result

    def send_file(self, path: str, name: str) -> str:
        """Send a file to the task's temporary directory on the node, and return its path there."""
        directory = self._connection._shell.tmpdir or self._make_tmp_path()
        remote = str(self._connection._shell.join_path(directory, name))
        self._transfer_file(path, remote)
        self._fixup_perms2((directory, remote))
        return remote

    def _find_top(self, variables: JsonObject) -> str:
        opt_dir = str(self._templar.template(variables.get(_OPT_DIR)) or "/opt")
        if not os.path.isabs(opt_dir):
            raise AnsibleActionFail(f"{_OPT_DIR}: {opt_dir!r} is not an absolute path")
        return os.path.join(opt_dir, "cni/lib/cni.node")

    def _name_host(self, variables: JsonObject) -> str:
        return str(self._task.delegate_to or variables.get("inventory_hostname") or "the node")

    def _describe_connection(self, variables: JsonObject) -> str:
        become = self._connection.become
        user = become and (become.name, become.get_option("become_user"))
        return repr((self._name_host(variables), user, self._task.check_mode))


class _Mark:
    """Remembers for the other tasks of a run that a node does not run modules from the library."""

    def __init__(self, node: str) -> None:
        name = hashlib.sha256(node.encode()).hexdigest()
        self._path = os.path.join(_library.directory(), f"{name}.reason")

    @property
    def reason(self) -> str | None:
        content = durable.read(self._path)
        return None if content is None else content.decode()

    def set(self, reason: str) -> None:
        durable.write(self._path, reason.encode(), flush=False)


__all__ = ("LibraryAction",)
