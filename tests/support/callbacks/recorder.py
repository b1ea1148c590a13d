# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record the result of every task of a playbook, and the state of the node right after the task."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.callback import CallbackBase

from ansible_collections.cni.node.tests.support.state import State, node_state, tree_lines

DOCUMENTATION = r"""
name: recorder
type: notification
short_description: Records results and states for the integration tests
description:
  - One line of JSON for each task goes to the file that the environment variable CNI_TEST_RECORD names.
"""

# Modules that run on the controller alone do not change the node.
ELSEWHERE = {
    "cni.node.show",
    *(
        f"ansible.builtin.{name}"
        for name in ("assert", "debug", "fail", "include_role", "include_tasks", "set_fact", "validate_argument_spec")
    ),
}
TREES = ("/opt/cni", "/var/lib/cni", "/run/cni")


def whole_state() -> State:
    """Return all state that a module may change, including the identity of files below /etc/cni to detect rewrites.

    Lock files, directories below `TREES` and the log of the scripted plugins are omitted.
    """
    files = State({f"files of {tree}": tree_lines(tree) for tree in TREES}).without(r" drwx|\blocks/|/\.calls ")
    configurations = tree_lines("/etc/cni", identity=True)
    return State({**node_state().sections, **files.sections, "configurations": configurations})


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "recorder"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        self._write("", "", "ok", {})

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._task("ok", result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._task("failed", result)

    def v2_runner_on_skipped(self, result: t.Any) -> None:
        self._task("skipped", result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._task("unreachable", result)

    def _task(self, status: str, result: t.Any) -> None:
        # Since ansible-core 2.19 the attributes are public; the private ones are going away.
        task = result.task if hasattr(result, "task") else result._task
        keys = result.result if hasattr(result, "result") else result._result
        self._write(task.name, task.action, status, keys)

    def _write(self, name: str, module: str, status: str, result: t.Any) -> None:
        if module not in ELSEWHERE and status != "skipped":
            self._state = whole_state().sections
        line = {"name": name, "module": module, "status": status, "result": result, "state": self._state}
        with open(os.environ["CNI_TEST_RECORD"], "a", encoding="utf-8") as record:
            record.write(json.dumps(line, default=str) + "\n")
