# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the ``config_args`` of attachments."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import normalize_config_args
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import KeyReader
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.violation import Violation, violation
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas

_OPTION = "/config_args"
_SCHEMA = "config-args"


def schema_findings(attachments: t.Sequence[t.Any]) -> list[Finding]:
    """Compare ``config_args`` of attachments with the conventions. Findings never show a value, which may be secret.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    results: list[Finding] = []
    for file, values in _all_arguments(attachments):
        keys = KeyReader(functools.partial(_report, results, file))
        read = keys.read(values, schemas.load(_SCHEMA), _OPTION)
        for problem in map(violation, schemas.violations(_SCHEMA, read)):
            results.append(Finding(problem.code, file, f"{_OPTION}{problem.path}", _message(problem), problem.hint))
    return results


def _report(
    into: list[Finding], file: str, code: str, path: str, message: str, hint: str = "", dummy: t.Any = None
) -> None:
    into.append(Finding(code, file, path, message, hint))


def _message(problem: Violation) -> str:
    if problem.code == "malformed-value":
        return "the value has an invalid format"
    return f"found {kind(problem.value)}" if problem.code == "wrong-type" else problem.message


def _all_arguments(attachments: t.Sequence[t.Any]) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    for index, item in enumerate(attachments):
        if isinstance(item, dict) and item.get("state", "present") == "present":
            values = as_dict(item.get("config_args"))
            if isinstance(values, dict) and values:
                yield f"attachments[{index}]", normalize_config_args(values)
