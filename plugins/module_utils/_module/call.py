# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run the work of a module without Ansible, and return what its task would return."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.arguments import Spec
from ansible_collections.cni.node.plugins.module_utils._module.run import run

Operation = t.Callable[[t.Any, NodePaths], JsonObject]


def call(
    operation: Operation, arguments: Spec, given: JsonMapping, paths: NodePaths, *, check_mode: bool = False
) -> JsonObject:
    """Return the result of a module, whether it succeeds or fails, with its warnings.

    Args:
        operation: The function of `_module` that the module calls.
        arguments: The module's argument_spec, for defaults.
        given: Valid values of options.
    """
    params = {name: option.get("default") for name, option in arguments.items()}
    module = _Module(arguments, {**params, **given}, check_mode=check_mode)
    try:
        run(t.cast("t.Any", module), operation, paths)
    except _End as end:
        return {**end.result, **({"warnings": module.warnings} if module.warnings else {})}


class _Module:
    """Stands for the module. It has what the functions of `_module` use."""

    _verbosity = 0

    def __init__(self, arguments: Spec, params: JsonObject, *, check_mode: bool) -> None:
        self.argument_spec, self.params, self.check_mode = arguments, params, check_mode
        self.warnings: list[str] = []

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        raise _End(result)

    def fail_json(self, **result: t.Any) -> t.NoReturn:
        raise _End({**result, "failed": True})


class _End(Exception):
    def __init__(self, result: JsonObject) -> None:
        super().__init__()
        self.result = result
