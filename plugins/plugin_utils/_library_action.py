# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run modules from the library on the node, and send it there when it is missing; take results of earlier calls."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import re
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
from ansible_collections.cni.node.plugins.module_utils._module.arguments import (
    ANSWERS_KEY,
    CONTROLLER_KEY,
    FOLLOWING_KEY,
    URLS_KEY,
)
from ansible_collections.cni.node.plugins.plugin_utils import _library
from ansible_collections.cni.node.plugins.plugin_utils._given_values import or_default

# Ansible forks a process for each host of a task. There, the garbage collector would go through all objects of the controller,
# and so copy the memory that the processes share: one twelfth of the processor time of a run.
gc.freeze()

display = Display()

_LAUNCHER = "cni.node.launcher"
# The variable also moves everything else that is below /opt (docs/playbooks.md).
_OPT_DIR = "cni_node_opt_dir"
# The variable with the files of the role cni_node between whose tasks nothing else changes the node. Only in these tasks is a
# result of an earlier call used.
PLAN = "__cni_node_plan"
# How Ansible refuses a misspelled option, and the options among those that it lists that are not for playbooks.
_REFUSAL = "Unsupported parameters for "
_INTERNAL = re.compile(rf"\b(?:{CONTROLLER_KEY}|{FOLLOWING_KEY}|{URLS_KEY}), ")


class LibraryAction(ActionBase):
    """Runs its module from the library; where that is impossible, as Ansible runs other modules.

    Attributes:
        uses_library: Whether to do so.
        has_installed: Whether this task has installed the library.
    """

    uses_library = True
    has_installed = False
    _has_called = False

    def cleanup(self, force: bool = False) -> None:
        """Forget the results for later tasks if this one has failed before its call: the node may change before they run."""
        variables = self._templar.available_variables
        if PLAN in variables and not self._has_called:
            self.forget_answers(dict(variables))
        super().cleanup(force)

    @property
    def module_name(self) -> str:
        return str(self._task.action).rpartition(".")[2]

    def list_following(self, variables: JsonObject) -> list[JsonObject]:
        """Return `module` and `arguments` of the later tasks whose results the call may return, too."""
        return []

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        variables = keywords.get("task_vars") or {}
        request = {"top": self._find_top(variables), "digest": _library.digest(), "archive": "", "module": ""}
        self._has_called = True
        if arguments or keywords.get("module_name") or not self.uses_library:
            return self._execute_with(request, *arguments, **keywords)
        keywords = {"module_args": self._task.args, **keywords}
        answers = _Answers(self._describe_connection(variables))
        following: list[JsonObject] = []
        if PLAN in variables:
            is_known, answer = answers.take({"module": self.module_name, "arguments": keywords["module_args"]})
            if answer is not None:
                return answer
            following = [] if is_known else self.list_following(variables)
        result = self._execute(request, following, keywords)
        answers.update(following, result)
        return result

    def forget_answers(self, variables: JsonObject) -> None:
        """Let later tasks run themselves, because the controller has changed the node."""
        _Answers(self._describe_connection(variables)).clear()

    def _execute(self, request: JsonObject, following: list[JsonObject], keywords: JsonObject) -> JsonObject:
        """Run the module from the library if possible, with the later tasks."""
        variables = keywords.get("task_vars") or {}
        mark = _Mark(self._describe_connection(variables))
        reason = "a task with async does not install it" if self._task.async_val else mark.reason
        if reason is None:
            result = self._launch(request, following, keywords)
            answer = result.get(ANSWER)
            if answer is None:
                return result
            reason = answer["reason"] or "check mode does not install it"
            if answer["state"] != NEEDS_MORE:
                mark.set(reason)
            display.v(printable.line(f"{self._name_host(variables)} runs without the library: {reason}"))
        return self._execute_with(request, **keywords)

    def _launch(self, request: JsonObject, following: list[JsonObject], keywords: JsonObject) -> JsonObject:
        """Run the module from the library, installing it if it is missing; the result may be the launcher's answer."""
        request = {**request, "module": self.module_name}
        further = {FOLLOWING_KEY: following} if following else {}
        keywords = {**keywords, "module_name": _LAUNCHER, "module_args": {**keywords["module_args"], **further}}
        result = self._execute_with(request, **keywords)
        answer = result.get(ANSWER) or {}
        if answer.get("state") == MISSING and not self._task.check_mode:
            if answer["reason"]:
                host = self._name_host(keywords.get("task_vars") or {})
                display.warning(printable.line(f"{host}: the library is damaged and is sent again: {answer['reason']}"))
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
        if str(result.get("msg", "")).startswith(_REFUSAL):
            # The launcher reads the arguments of the module before it runs it.
            result["msg"] = _INTERNAL.sub("", result["msg"].replace(_LAUNCHER, f"cni.node.{self.module_name}", 1))
        return result

    def send_file(self, path: str, name: str) -> str:
        """Send a file to the task's temporary directory on the node, and return its path there."""
        directory = self._connection._shell.tmpdir or self._make_tmp_path()
        remote = str(self._connection._shell.join_path(directory, name))
        self._transfer_file(path, remote)
        self._fixup_perms2((directory, remote))
        return remote

    def _find_top(self, variables: JsonObject) -> str:
        opt_dir = str(or_default(self._templar.template(variables.get(_OPT_DIR)), "/opt"))
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
        self._path = _path_of(node, "reason")

    @property
    def reason(self) -> str | None:
        content = durable.read(self._path)
        return None if content is None else content.decode()

    def set(self, reason: str) -> None:
        durable.write(self._path, reason.encode(), flush=False)


class _Answers:
    """Keeps the results that a call has returned for later tasks of the run on the same node, in their order."""

    def __init__(self, node: str) -> None:
        self._path = _path_of(node, "answers")

    def take(self, task: JsonObject) -> tuple[bool, JsonObject | None]:
        """Return whether the task is known, and its result; None instead if the task has to run.

        An unknown task begins anew. The others end the use of earlier results.
        """
        kept = json.loads(durable.read(self._path) or b"[]")
        digests = [digest for digest, dummy in kept]
        digest = _digest_of(task)
        if digest not in digests:
            self.clear()
            return False, None
        place = digests.index(digest)
        self._keep(kept[place + 1 :])
        return True, kept[place][1]

    def update(self, following: list[JsonObject], result: JsonObject) -> None:
        """Move the results of later tasks out of a result. A task that has changed something discards all earlier ones."""
        answers = result.pop(ANSWERS_KEY, ())
        if answers or result.get("changed") or result.get("failed"):
            self._keep(list(zip(map(_digest_of, following), answers)))

    def clear(self) -> None:
        self._keep([])

    def _keep(self, answers: list[t.Any]) -> None:
        if answers:
            durable.write(self._path, json.dumps(answers).encode(), flush=False)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


def _path_of(node: str, kind: str) -> str:
    """Return the path of a file that exists as long as the run; only the user can read it."""
    return os.path.join(_library.directory(), f"{hashlib.sha256(node.encode()).hexdigest()}.{kind}")


def _digest_of(task: JsonObject) -> str:
    # Before ansible-core 2.19, a vaulted value is not a string.
    return hashlib.sha256(json.dumps(task, sort_keys=True, default=str).encode()).hexdigest()
