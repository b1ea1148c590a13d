# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is accepted without jsonschema is valid for jsonschema, too."""

from __future__ import annotations

import json
import typing as t

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import fast_path, schemas

SCHEMAS: t.Final[list[t.Any]] = [
    *({"type": name} for name in ("array", "boolean", "integer", "object", "string")),
    {"type": ["boolean", "string"]},
    {"enum": ["host-local", "x"]},
    *({"const": value} for value in (True, 1, "x")),
    *({"minimum": 2}, {"maximum": 2}, {"minLength": 2}, {"maxLength": 2}, {"minItems": 2}),
    *({"pattern": "^[a-h]"}, {"format": "cidr"}),
    *({"items": inner} for inner in (True, False, {"type": "string"})),
    *({"properties": {"a": inner}} for inner in (True, False, {"minimum": 2})),
    *({"patternProperties": {"^[ab]": inner}} for inner in (False, {"minimum": 2})),
    *(
        {"properties": {"a": True}, "patternProperties": {"^b": True}, "additionalProperties": inner}
        for inner in (True, False, {"minimum": 2})
    ),
    {"additionalProperties": {"minimum": 2}},
    {"propertyNames": {"pattern": "^a"}},
    *({"required": ["a", "b"]}, {"dependentRequired": {"a": ["b"], "c": []}}),
    *({word: [{"minimum": 2}, {"type": "integer"}, {"maximum": 5}]} for word in ("allOf", "anyOf")),
    *(
        {"not": inner}
        for inner in (
            {"required": ["a"]},
            {"required": ["a"], "properties": {"a": {"const": True}}},
        )
    ),
    {"if": {"type": "integer"}, "then": {"minimum": 2}},
]
VALUES: t.Final[list[t.Any]] = [
    *(None, True, False, 0, 1, 2, 3, 7, 1.0, 2.5, float("nan"), "", "x", "ab", "host-local", "10.1.0.0/24"),
    *([], [1], ["x", "y"], ["x", 1]),
    *(
        {},
        {"a": 1},
        {"a": 2},
        {"a": True},
        {"b": 1},
        {"b": "x"},
        {"c": 1},
        {"c": 3},
        {"a": 1, "b": 2},
        {"a": 2, "b": 1, "c": 3},
    ),
]


def is_valid(schema: t.Any, value: t.Any) -> bool:
    own: t.Any = schemas.validator("network-list")
    return bool(type(own)(schema, format_checker=own.format_checker).is_valid(value))


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_a_keyword_accepts_valid_values_only(schema: JsonObject) -> None:
    accepted = [value for value in VALUES if fast_path.accepts(schema, value)]
    assert accepted
    assert [value for value in accepted if not is_valid(schema, value)] == []


@pytest.mark.parametrize(("schema", "value"), [({"uniqueItems": True}, [1]), ({"type": "null"}, None)])
def test_what_no_schema_uses_is_left_to_the_library(schema: JsonObject, value: t.Any) -> None:
    assert not fast_path.accepts(schema, value)
