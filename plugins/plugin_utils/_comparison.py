# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Let the first task of a role ask the node about the later ones, too, because most runs change nothing."""

from __future__ import annotations

import pathlib
import re
import typing as t

from ansible import template
from ansible.errors import AnsibleError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._given_values import with_value
from ansible_collections.cni.node.plugins.plugin_utils._library_action import PLAN, LibraryAction
from ansible_collections.cni.node.plugins.plugin_utils._role_action import RoleAction
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import (
    AttachmentsArguments,
    ConflistsArguments,
    PluginsArguments,
)

# The modules whose results an earlier call may return.
_ACTIONS: t.Final[t.Mapping[str, type[RoleAction]]] = {
    "cni.node.plugins": PluginsArguments,
    "cni.node.conflists": ConflistsArguments,
    "cni.node.netns": RoleAction,
    "cni.node.attachments": AttachmentsArguments,
    "cni.node.node_info": RoleAction,
}
_IMPORT = "ansible.builtin.import_role"
_ROLES = pathlib.Path(__file__).parents[2] / "roles"
_PLANNING_ROLE = "cni_node"
# A template that is the name of a variable.
_NAME = re.compile(r"\{\{ (\w+) \}\}")
_trust: t.Final[t.Any] = getattr(template, "trust_as_template", str)  # since ansible-core 2.19


class _Task(t.NamedTuple):
    """A task in a file of a role.

    Attributes:
        action: Name of the module.
        arguments: Those of the module, with templates.
        variables: Those of the imports around the task, with templates.
    """

    action: str
    arguments: JsonObject
    variables: JsonObject


class ComparingAction(LibraryAction):
    """An action whose call may return the results of the tasks after it."""

    def list_following(self, variables: JsonObject) -> list[JsonObject]:
        # A new templar would look up each filter again.
        task_variables = self._templar.available_variables
        try:
            files = self._templar.template(variables[PLAN])
            planned = [task for name in files for task in self._tasks_of(_PLANNING_ROLE, name, {})]
            place = [task.action for task in planned].index(self._task.action)
            return list(self._prepare(planned[place + 1 :], variables))
        except (AnsibleError, CniError, ValueError):
            # The task that it is about fails with the error.
            return []
        finally:
            self._templar.available_variables = task_variables

    def _tasks_of(self, role: str, name: str, variables: JsonObject) -> t.Iterator[_Task]:
        """Yield the tasks in a file of a role that run modules of this collection, and those of the roles that it imports."""
        path = str(_ROLES / role / "tasks" / f"{name}.yml")
        for entry in self._loader.load_from_file(path, unsafe=True):  # nothing is changed, so no copy is needed
            inner = {**variables, **entry.get("vars", {})}
            imported = entry.get(_IMPORT)
            if imported:
                yield from self._tasks_of(
                    imported["name"].rpartition(".")[2], imported.get("tasks_from", "main"), inner
                )
            yield from (_Task(key, entry[key], inner) for key in entry if key in (*_ACTIONS, self._task.action))

    def _prepare(self, planned: t.Sequence[_Task], variables: JsonObject) -> t.Iterator[JsonObject]:
        """Yield `module` and `arguments` for the node, up to the first task that has to run itself."""
        for planned_task in planned:
            own = _trust_all(planned_task.variables)
            available = {**variables, **own}
            self._templar.available_variables = available
            task = self._task.copy()
            task.action = planned_task.action
            arguments = self._templar.template(_look_up(_trust_all(planned_task.arguments), own, variables))
            task.args = with_value(_without(variables.get("omit"), arguments))
            action = _ACTIONS[task.action](
                task, self._connection, self._play_context, self._loader, self._templar, self._shared_loader_obj
            )
            compared = action.arguments_to_compare(available)
            if compared is None:
                return
            yield {"module": action.module_name, "arguments": compared}


def _look_up(value: t.Any, own: JsonObject, variables: JsonObject) -> t.Any:
    """Replace templates that are the name of a variable by its value. Ansible would compile each of them.

    Args:
        value: From a file of this collection.
        own: Variables from such files, which take precedence.
        variables: Other variables; nothing in their values is looked up.
    """
    if isinstance(value, dict):
        return {key: _look_up(item, own, variables) for key, item in value.items()}
    found = _NAME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    name = found[1]
    return _look_up(own[name], {}, variables) if name in own else variables.get(name, value)


def _trust_all(value: t.Any) -> t.Any:
    """Return a value from a file of this collection with its templates, which Ansible does not expand in other files."""
    if isinstance(value, dict):
        return {key: _trust_all(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_trust_all(item) for item in value]
    return _trust(value) if isinstance(value, str) else value


def _without(omit: t.Any, value: t.Any) -> t.Any:
    """Return a value without the options that a template has omitted; since ansible-core 2.19, none is left here."""
    if isinstance(value, dict):
        return {key: _without(omit, item) for key, item in value.items() if omit is None or item != omit}
    return value
