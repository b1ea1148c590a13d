# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Accept most valid values without jsonschema, whose import takes 50 milliseconds.

Nothing is accepted that jsonschema refuses. What is not accepted may still be valid, which jsonschema decides.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.formats import FORMATS

_Schema = dict[str, t.Any]


def accepts(schema: _Schema | bool, value: t.Any) -> bool:
    """Return whether a value is plainly valid. The schema has no references."""
    if isinstance(schema, bool):
        return schema
    for word in schema:
        if word in _ANNOTATIONS:
            continue
        kind, rule = _RULES.get(word, _UNKNOWN)
        if isinstance(value, kind) and not rule(schema, value):
            return False
    return True


def is_integer(value: object) -> t.TypeGuard[int]:
    """Return whether a value is an integer, as JSON and Go define it: true, false and 1500.0 are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _has_type(schema: _Schema, value: t.Any) -> bool:
    wanted = schema["type"]
    return any(name in _TYPES and _TYPES[name](value) for name in ([wanted] if isinstance(wanted, str) else wanted))


def _are_properties_valid(schema: _Schema, value: dict[str, t.Any]) -> bool:
    known = schema["properties"]
    return all(accepts(known[key], item) for key, item in value.items() if key in known)


def _are_further_properties_valid(schema: _Schema, value: dict[str, t.Any]) -> bool:
    known, patterns, inner = (schema.get(word, {}) for word in ("properties", "patternProperties", _FURTHER))
    further = [key for key in value if key not in known and not any(re.search(pattern, key) for pattern in patterns)]
    return all(accepts(inner, value[key]) for key in further)


def _are_patterned_properties_valid(schema: _Schema, value: dict[str, t.Any]) -> bool:
    patterns = schema["patternProperties"].items()
    return all(accepts(inner, value[key]) for pattern, inner in patterns for key in value if re.search(pattern, key))


def _has_dependent_keys(schema: _Schema, value: dict[str, t.Any]) -> bool:
    needed = schema["dependentRequired"]
    return all(other in value for key in needed if key in value for other in needed[key])


def _is_surely_refused(schema: _Schema, value: t.Any) -> bool:
    """Return whether the schema of ``not`` refuses a value because of a missing key, or one that is not the constant."""
    required, known = (schema["not"].get(word, {}) for word in ("required", "properties"))
    constants = {key: inner["const"] for key, inner in known.items() if "const" in inner}
    return isinstance(value, dict) and (
        not all(key in value for key in required)
        or any(key in value and value[key] != constant for key, constant in constants.items())
    )


_FURTHER = "additionalProperties"
# `if` does nothing without `then`, and does not matter where `then` holds.
_ANNOTATIONS = ("description", "if")
_UNKNOWN: t.Final = (object, lambda dummy_schema, dummy_value: False)
_TYPES: t.Final[t.Mapping[str, t.Callable[[t.Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_integer,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
# The values that a keyword is about, and what it demands of them. In Python, true is a number, and equals 1.
_RULES: t.Final[t.Mapping[str, tuple[t.Any, t.Callable[[_Schema, t.Any], bool]]]] = {
    "type": (object, _has_type),
    "enum": (object, lambda schema, value: isinstance(value, str) and value in schema["enum"]),
    "const": (object, lambda schema, value: value == schema["const"] and type(value) is type(schema["const"])),
    "minimum": ((int, float), lambda schema, value: value >= schema["minimum"]),
    "maximum": ((int, float), lambda schema, value: value <= schema["maximum"]),
    "minLength": (str, lambda schema, value: len(value) >= schema["minLength"]),
    "maxLength": (str, lambda schema, value: len(value) <= schema["maxLength"]),
    "pattern": (str, lambda schema, value: re.search(schema["pattern"], value) is not None),
    "format": (str, lambda schema, value: FORMATS[schema["format"]](value)),
    "minItems": (list, lambda schema, value: len(value) >= schema["minItems"]),
    "items": (list, lambda schema, value: all(accepts(schema["items"], item) for item in value)),
    "properties": (dict, _are_properties_valid),
    "patternProperties": (dict, _are_patterned_properties_valid),
    _FURTHER: (dict, _are_further_properties_valid),
    "propertyNames": (dict, lambda schema, value: all(accepts(schema["propertyNames"], key) for key in value)),
    "required": (dict, lambda schema, value: all(key in value for key in schema["required"])),
    "dependentRequired": (dict, _has_dependent_keys),
    "allOf": (object, lambda schema, value: all(accepts(inner, value) for inner in schema["allOf"])),
    "anyOf": (object, lambda schema, value: any(accepts(inner, value) for inner in schema["anyOf"])),
    "not": (object, _is_surely_refused),
    "then": (object, lambda schema, value: accepts(schema["then"], value)),
}
