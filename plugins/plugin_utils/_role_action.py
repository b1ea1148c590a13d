# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The base of all action plugins: it refuses what the roles cannot work with."""

from __future__ import annotations

import re
import shlex
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.plugin_utils._given_values import with_value
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import (
    COLLECTION,
    KNOWN_VARIABLES,
    prefixes,
    refusal,
    unknown_variables,
)
from ansible_collections.cni.node.plugins.plugin_utils._library_action import LibraryAction
from ansible_collections.cni.node.plugins.plugin_utils._python_version import PROGRAM, too_old

# This role compares the nodes of a play, and shows all of them once.
_COMPARING_ROLE = "cni.node.cni_node"

# The result of this role's task that checks the variables of all hosts. A condition of the role that is false for the first host
# skips it for all of them.
_CHECKED = "__cni_node_checked"

# The last line of a traceback with an error of the system, from Ansible's code around a module.
_SYSTEM_ERROR = re.compile(r"^\w*Error: \[Errno \d+\] (.+)\Z", re.MULTILINE)


class RoleAction(LibraryAction):
    """The controller's part of a module. In a role of this collection, it refuses what the role cannot work with.

    A misspelled ``cni_node_attachments`` with ``cni_node_purge`` would remove every attachment. The check runs before the
    first module of a role and needs no task of its own. An option whose variable is null or blank text, such as an empty answer
    of a survey, counts as not given there.
    """

    # Return values that the module always has, as in a run that does nothing.
    NOTHING: t.ClassVar[JsonObject] = {}

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        variables = task_vars or {}
        roles = [variables.get("ansible_role_name") or "", *(variables.get("ansible_parent_role_names") or ())]
        unknown = unknown_variables(variables, prefixes(map(str, roles)))
        if unknown:
            raise AnsibleActionFail(refusal(unknown), result=dict(self.NOTHING))
        strategy = str(self._task.get_play().strategy) if _COMPARING_ROLE in roles else ""
        if strategy and not _runs_hosts_together(strategy):
            raise AnsibleActionFail(_refuse_strategy(strategy), result=dict(self.NOTHING))
        if _COMPARING_ROLE in roles and (variables.get(_CHECKED) or {}).get("skipped"):
            self._require_valid_variables(variables)
        if _COMPARING_ROLE in roles[1:]:
            self._require_passed_values(str(roles[0]), variables)
        if roles[0].startswith(COLLECTION):
            self._task.args = with_value(self._task.args)
        result: JsonObject = super().run(tmp, task_vars)
        return result

    def _require_passed_values(self, role: str, variables: JsonObject) -> None:
        """Raise an error if something overrides a value that the role cni_node passes on to one of its roles.

        The other roles would go on with the value of cni_node, and look for networks in another directory, for example.
        """
        passed = {
            name: value for name, value in self._task.get_vars().items() if name.startswith(tuple(prefixes([role])))
        }
        different = {name: value for name, value in passed.items() if variables.get(name) != value}
        evaluate = self._templar.template
        overridden = [name for name, value in different.items() if evaluate(variables.get(name)) != evaluate(value)]
        if overridden:
            raise AnsibleActionFail(_refuse_overriding(overridden), result=dict(self.NOTHING))

    def _require_valid_variables(self, variables: JsonObject) -> None:
        # Its imports take time, and few plays need it.
        from ansible_collections.cni.node.plugins.plugin_utils._skipped_checks import find_errors

        errors = find_errors(variables, self._templar.template, str(self._task.get_play()._uuid))
        if errors:
            raise AnsibleActionFail("\n".join(errors), result=dict(self.NOTHING))

    def arguments_to_compare(self, task_vars: JsonObject) -> JsonObject | None:
        """Return the arguments that the node will get, for an earlier task; None if this task has to run itself.

        Raises:
            AnsibleError: They cannot be found, as when a template is missing; so does `CniError`.
        """
        return dict(self._task.args)

    def call_with(self, controller: JsonObject, arguments: JsonObject, task_vars: JsonObject | None) -> JsonObject:
        """Run the module with values of the controller, which its result does not show."""
        arguments = {**arguments, CONTROLLER_KEY: controller}
        result = self._execute_module(module_args=arguments, task_vars=task_vars)
        result.get("invocation", {}).get("module_args", {}).pop(CONTROLLER_KEY, None)
        return result

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        """Run a module. If it fails without an error of its own, find out why Ansible could not start it."""
        result: JsonObject = super()._execute_module(*arguments, **keywords)
        _name_host_in_warnings(result, keywords.get("task_vars") or {})
        if not result.get("failed") or "error" in result or keywords.get("wrap_async"):
            return result
        refused = self._check_start(result) or self._check_python(keywords.get("task_vars") or {})
        return (
            {"failed": True, "changed": False, "msg": str(refused), "error": refused.as_dict()} if refused else result
        )

    def _check_start(self, result: JsonObject) -> CniError | None:
        """Return the error of the system that has stopped Ansible's code around the module, if one has."""
        # With a terminal, as for some kinds of become, standard error is part of the output.
        texts = (str(result.get(key) or "").strip() for key in ("module_stderr", "module_stdout"))
        found = [match[1] for match in map(_SYSTEM_ERROR.search, texts) if match]
        if not found:
            return None
        advice = "expected: some free space in a directory where the user of the task can write, such as /tmp or TMPDIR"
        return CniError(
            Code.IO_FAILURE, f"Ansible cannot start {self.module_name} on the node: {found[0].strip()}", advice
        )

    def _check_python(self, variables: JsonObject) -> CniError | None:
        interpreter = (self._used_interpreter or "").lstrip("!#").strip()
        if not interpreter:
            return None
        answer = self._low_level_execute_command(f"{interpreter} -c {shlex.quote(PROGRAM)}")
        host = self._task.delegate_to or variables.get("inventory_hostname") or "the node"
        return too_old(str(answer.get("stdout", "")), interpreter, str(host))


class ModuleAction(RoleAction, NormalAction):
    """Refuses unknown variables of a role, then runs the module."""


def _name_host_in_warnings(result: JsonObject, variables: JsonObject) -> None:
    """Let warnings of a play with several hosts begin with the host. Ansible shows equal ones once, and names none."""
    warnings = result.get("warnings")
    if isinstance(warnings, list) and len(variables.get("ansible_play_hosts_all") or ()) > 1:
        host = variables.get("inventory_hostname", "")
        result["warnings"] = [f"{host}: {_text_of(warning)}" for warning in warnings]


def _text_of(warning: t.Any) -> str:
    # Since ansible-core 2.19, warnings of modules are objects.
    return str(getattr(getattr(warning, "event", None), "msg", warning))


def _runs_hosts_together(strategy: str) -> bool:
    """Return whether a play finishes each task on all hosts before the next, as linear and its variants do."""
    name = strategy.rpartition(".")[2]
    return name.endswith("linear") or name == "debug"


def _refuse_overriding(names: t.Iterable[str]) -> str:
    named = ", ".join(f"{name} (set {meant})" if (meant := _find_variable(name)) else name for name in names)
    return (
        f"overridden by extra variables, set_fact or include_vars: {named}; the role {_COMPARING_ROLE} passes on values of"
        " its own variables, on which its other steps rely"
    )


def _find_variable(name: str) -> str:
    """Return the variable of the role cni_node that it passes on as another one, or an empty string."""
    own = name.partition("_")[2]
    return next(
        (each for each in (f"cni_node_{own.partition('_')[2]}", f"cni_node_{own}") if each in KNOWN_VARIABLES), ""
    )


def _refuse_strategy(strategy: str) -> str:
    return (
        f"strategy: {strategy}; the role {_COMPARING_ROLE} compares the nodes of a play with each other, so give the play"
        " strategy: linear"
    )
