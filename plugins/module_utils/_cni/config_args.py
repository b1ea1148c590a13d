# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import value_rules
from ansible_collections.cni.node.plugins.module_utils._cni.capability_values import decode_structured

_STRUCTURED: t.Final = frozenset({"labels", "ips"})
_LABEL: t.Final = value_rules.object_of({"key": value_rules.text, "value": value_rules.text}, ("key", "value"))
# The keys of the specification's conventions. Every plugin gets all values and ignores unknown ones.
_RULE: t.Final = value_rules.object_of(
    {"labels": value_rules.list_of(_LABEL), "ips": value_rules.list_of(value_rules.text), "mac": value_rules.text}
)


def normalize_config_args(config_args: t.Mapping[str, t.Any]) -> JsonObject:
    """Return values for ``args.cni`` in the form that plugins expect.

    Lists may be JSON text, as surveys pass them. Empty texts in place of a list and null values are left out.
    """
    return {key: value for key, value in decode_structured(config_args, _STRUCTURED).items() if value is not None}


def check_config_args(config_args: t.Mapping[str, t.Any]) -> None:
    """Refuse values that no plugin can decode: both ADD and DEL would fail.

    Raises:
        CniError: ``INVALID_CONFIG``. The message does not show the value, which may be a secret.
    """
    problem = _RULE(config_args, "config_args: ")
    if problem:
        raise CniError(Code.INVALID_CONFIG, problem.message(), f"expected: {problem.expected}")


__all__ = ("check_config_args", "normalize_config_args")
