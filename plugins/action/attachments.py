# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `attachments`: it divides a long task into several calls, and shows progress."""

from __future__ import annotations

import time

from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.plugin_utils._comparison import ComparingAction
from ansible_collections.cni.node.plugins.plugin_utils._merged_calls import MergedCalls
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import AttachmentsArguments

display = Display()


class ActionModule(ComparingAction, AttachmentsArguments):
    """Divide a long task into several calls of the module, and show progress between them."""

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        result: JsonObject = super().run(tmp, task_vars)
        if self._task.async_val:
            in_background = not self._connection.has_native_async
            arguments = {key: value for key, value in self._task.args.items() if key != CONTROLLER_KEY}
            done = self._execute_module(module_args=arguments, task_vars=task_vars, wrap_async=in_background)
        else:
            done = self._run_in_calls(task_vars or {})
        return {**result, **done}

    def _run_in_calls(self, task_vars: JsonObject) -> JsonObject:
        started = time.monotonic()
        result = self.call_with({}, self._task.args, task_vars)
        if CONTROLLER_KEY not in result:
            return result
        calls = MergedCalls(result, predicted=bool(self._task.check_mode))
        while calls.continuation:
            self._show(calls.progress(time.monotonic() - started, names=not self._task.no_log), task_vars)
            try:
                calls.take(self.call_with(calls.continuation, self._task.args, task_vars))
            except AnsibleConnectionFailure as exc:
                calls.take({"unreachable": True, "msg": str(exc)})
        return calls.result()

    def _show(self, progress: str, task_vars: JsonObject) -> None:
        host = task_vars.get("inventory_hostname", "")
        where = f"{host} -> {self._task.delegate_to}" if self._task.delegate_to else host
        # Standard output stays parseable for programs.
        display.display(printable.line(f"[{where}] {progress}"), stderr=True)
