# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `conflists`: it validates network configurations before the node is contacted."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.module_utils._base.finding import NODE, Finding, errors, refusal
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._comparison import ComparingAction
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import ConflistsArguments, list_of_dicts
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import check_levels
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import CONTROLLER_LEVELS, validate

_LEVELS = (*CONTROLLER_LEVELS, NODE)


class ActionModule(ComparingAction, ConflistsArguments):
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
        options = self.validate_option()
        levels, attachments = options.get("levels"), options.get("attachments")
        checked_levels = check_levels(_LEVELS if levels is None else levels, _LEVELS)
        runs_builtin = plain(self._task.args.get("builtin")) != "never"
        self._findings = validate(sources, checked_levels, list_of_dicts(attachments) or (), runs_builtin=runs_builtin)
        self._stopping = errors(self._findings, strict=boolean(plain(options.get("strict", False)), strict=False))
        if self._stopping:
            raise refusal(self._stopping)
        super().check(sources)
