# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find out in the call of one task whether later tasks of the play have anything to change."""

from __future__ import annotations

import importlib
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux.rules import rule_cache
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY, require_paths

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_MODULES = "ansible_collections.cni.node.plugins.modules"


def compare(
    module: AnsibleModule, following: t.Sequence[JsonObject], result: JsonObject, paths: NodePaths
) -> list[JsonObject | None]:
    """Return the results of later tasks, up to the first that has something to change or fails.

    Args:
        module: That of the current task.
        following: `module` and `arguments` of each later task, in their order.
        result: That of the current task. Where it has changed something, nothing is known of later tasks.

    Returns:
        None for a task that does not change anything but has to run itself, because check mode may have other warnings.
    """
    answers: list[JsonObject | None] = []
    if result.get("failed") or result["changed"]:
        return answers
    with rule_cache.keep():
        for task in following:
            try:
                answer = _dry_run(module, task, paths)
            except Exception:  # whatever it is, the task itself fails with it
                break
            if answer.get("changed") or answer.get("failed") or CONTROLLER_KEY in answer:
                break
            answers.append(answer if module.check_mode or not answer["warnings"] else None)
    return answers


def _dry_run(module: AnsibleModule, task: JsonObject, paths: NodePaths) -> JsonObject:
    loaded: t.Any = importlib.import_module(f"{_MODULES}.{task['module']}")
    keywords = {key: value for key, value in loaded.SPEC.items() if key != "supports_check_mode"}
    validated = ArgumentSpecValidator(**keywords).validate(task["arguments"])
    if validated.error_messages:
        return {"failed": True}
    later = _LaterModule(module, keywords["argument_spec"], validated.validated_parameters)
    require_paths(later.argument_spec, later.params)
    answer: JsonObject = printable.escape_all(loaded.ensure(later, paths))
    return {**answer, "warnings": later.warnings}


class _LaterModule:
    """Stands for the module of a later task in check mode. It has what the functions of `_module` use."""

    check_mode = True

    def __init__(self, module: AnsibleModule, argument_spec: JsonObject, params: JsonObject) -> None:
        self.argument_spec, self.params = argument_spec, params
        self.warnings: list[str] = []
        self._module = module

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self._module, name)
