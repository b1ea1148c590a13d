# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.module_utils._base.finding import NODE, Finding, errors, refusal
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._conflist_items import ConflistItemsAction
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict, as_list, plain
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import check_levels
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.schemas import load_library
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import CONTROLLER_LEVELS, validate

_LEVELS: t.Final = (*CONTROLLER_LEVELS, NODE)

# Ansible imports this file before it forks a process for each task and host.
load_library()


class ActionModule(ConflistItemsAction):
    """Validate network configurations before the node is contacted."""

    NOTHING: t.ClassVar[JsonObject] = {"findings": []}

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        self._findings: list[Finding] = []
        self._stopping: list[Finding] = []
        result = super().run(tmp, task_vars)
        node_findings = result.get("findings", ())
        shown = [str(finding) for finding in self._findings if finding not in self._stopping]
        return {
            **result,
            "findings": [*(finding.as_dict() for finding in self._findings), *node_findings],
            **({"warnings": [*result.get("warnings", ()), *shown]} if shown else {}),
        }

    def check(self, sources: list[Source]) -> None:
        """Refuse network configurations with errors, and keep the other findings for the result.

        The level ``node`` is checked by the module.

        Raises:
            CniError: ``INVALID_CONFIG``, with all errors.
            AnsibleError: jsonschema is missing on the controller.
        """
        options = self._validate_option()
        levels, attachments = options.get("levels"), options.get("attachments")
        checked_levels = check_levels(_LEVELS if levels is None else levels, _LEVELS)
        runs_builtin = plain(self._task.args.get("builtin")) != "never"
        self._findings = validate(sources, checked_levels, _items(attachments) or (), runs_builtin=runs_builtin)
        self._stopping = errors(self._findings, strict=boolean(plain(options.get("strict", False)), strict=False))
        if self._stopping:
            raise refusal(self._stopping)
        super().check(sources)

    def arguments_for_node(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments without the attachments, which only the controller checks."""
        options = self._validate_option()
        if _items(options.get("attachments")) is None:
            return arguments
        return {**arguments, "validate": {key: value for key, value in options.items() if key != "attachments"}}

    def _validate_option(self) -> JsonObject:
        """Return the option ``validate`` as the module converts it. The module refuses values of the wrong type."""
        options = as_dict(self._task.args.get("validate"))
        if not isinstance(options, dict):
            return {}
        read = {key: as_list(options[key]) for key in ("levels", "attachments") if options.get(key) is not None}
        if isinstance(read.get("attachments"), list):
            read["attachments"] = [as_dict(item) for item in read["attachments"]]
        return {**options, **read}


def _items(attachments: t.Any) -> list[t.Any] | None:
    is_valid = isinstance(attachments, list) and all(isinstance(item, dict) for item in attachments)
    return attachments if is_valid else None
