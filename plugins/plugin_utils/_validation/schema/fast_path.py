# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Keywords of jsonschema that accept most valid values without the library."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.formats import FORMATS

if t.TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_Rule = t.Callable[[t.Any], bool]


def is_integer(value: object) -> t.TypeGuard[int]:
    """Return whether a value is an integer, as JSON and Go define it: true, false and 1500.0 are not."""
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: t.Final[t.Mapping[str, _Rule]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: value is True or value is False,
    "integer": is_integer,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}

# By the id() of a schema. The schema is kept, so that its id() stays unique.
_rules: dict[int, tuple[dict[str, t.Any], _Rule]] = {}


def properties(
    validator: Validator, known: dict[str, dict[str, t.Any]], instance: t.Any, schema: t.Any
) -> t.Iterator[ValidationError]:
    """Validate the keyword ``properties``. Values that are plainly valid skip the library, which is slow."""
    if not isinstance(instance, dict):
        return
    for key, value in instance.items():
        if key in known and not _rule(known[key])(value):
            yield from validator.descend(value, known[key], path=key, schema_path=key)  # type: ignore[attr-defined]


def items(
    validator: Validator, item_schema: dict[str, t.Any], instance: t.Any, schema: t.Any
) -> t.Iterator[ValidationError]:
    """Validate the keyword ``items``, with the same short cut as `properties`."""
    if not isinstance(instance, list):
        return
    rule = _rule(item_schema)
    for index, value in enumerate(instance):
        if not rule(value):
            yield from validator.descend(value, item_schema, path=index)  # type: ignore[attr-defined]


def _rule(schema: dict[str, t.Any]) -> _Rule:
    known = _rules.get(id(schema))
    return known[1] if known else _rules.setdefault(id(schema), (schema, _make_rule(schema)))[1]


def _make_rule(schema: dict[str, t.Any]) -> _Rule:
    """Return a rule that accepts most valid values of a schema, and no invalid value."""
    words = schema.keys() - {"description"}
    right = _TYPES.get(str(schema.get("type")), _never)
    if words == {"type"}:
        return right
    if words == {"type", "format"}:
        matches_format = FORMATS[schema["format"]]
        return lambda value: right(value) and matches_format(value)
    if words == {"type", "enum"}:
        known = schema["enum"]
        return lambda value: right(value) and value in known
    if words <= {"type", "minimum", "maximum"} and schema.get("type") == "integer":
        low, high = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
        return lambda value: right(value) and low <= value <= high
    return _never


def _never(dummy: t.Any) -> bool:
    return False
