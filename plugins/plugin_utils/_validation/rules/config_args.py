# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the ``config_args`` of attachments."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import normalize_config_args
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.capability_args import (
    find_violations,
    list_present,
)

_OPTION = "/config_args"
_SCHEMA = "config-args"


def schema_findings(attachments: t.Sequence[t.Any]) -> list[Finding]:
    """Compare ``config_args`` of attachments with the conventions. Findings never show a value, which may be secret.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    return [
        finding._replace(message=_hide_value(finding), value=None)
        for file, arguments in _all_arguments(attachments)
        for finding in find_violations(_SCHEMA, arguments, file, _OPTION)
    ]


def _hide_value(finding: Finding) -> str:
    """Return the message without the value."""
    if finding.code == "malformed-value":
        return "the value has an invalid format"
    return f"found {kind(finding.value)}" if finding.code == "wrong-type" else finding.message


def _all_arguments(attachments: t.Sequence[t.Any]) -> t.Iterator[tuple[str, JsonObject]]:
    for file, item in list_present(attachments):
        values = as_dict(item.get("config_args"))
        if isinstance(values, dict) and values:
            yield file, normalize_config_args(values)
