# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Convert errors of jsonschema to messages of this collection."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import IFNAME_RULE
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import nearest
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

if t.TYPE_CHECKING:
    from jsonschema import ValidationError

_FORMATS = {
    "ip": ("an IP address", "an address such as 10.1.0.1 or fd00::1, without a prefix length"),
    "ip-or-cidr": ("an IP address", "an address such as 10.1.0.5 or 10.1.0.5/16"),
    "cidr": ("an address with its prefix length", "a value such as 10.1.0.0/16 or fd00::/64"),
    "cluster-range": ("a range", "a subnet such as 10.1.0.0/16, or 10.1.0.10-10.1.0.99/16"),
    "mac": ("a MAC address", "an address such as 02:00:00:00:00:01, and not of a group"),
    "subnet": ("a subnet", "a network such as 10.1.0.0/16 or fd00::/64"),
    "chain": (
        "a chain to which a rule can jump",
        "at most 28 bytes without spaces and quotes, and not the name of a built-in chain",
    ),
    "admin-chain": (
        "a chain of your own",
        "at most 28 bytes without spaces and quotes, and not CNI-FORWARD, a built-in chain or a target",
    ),
    "ifname": ("the name of a link", f"{IFNAME_RULE}, and not 'lo'"),
}
_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
}


@dataclasses.dataclass(frozen=True)
class Violation:
    """A violation of a schema, with its message.

    Attributes:
        path: JSON pointer, relative to the validated value.
    """

    code: str
    path: str
    message: str
    hint: str = ""
    value: t.Any = None


@dataclasses.dataclass(frozen=True)
class _BrokenRule:
    """A rule of a schema that a value violates.

    Attributes:
        rule: The keyword of the schema.
        expected: The value of this keyword.
        schema: The schema that contains the keyword.
    """

    rule: str
    expected: t.Any
    schema: dict[str, t.Any]
    instance: t.Any
    message: str


def violation(cause: ValidationError) -> Violation:
    """Convert an error of jsonschema to a violation with this collection's message."""
    path = join("", *cause.absolute_path)
    schema = t.cast("dict[str, t.Any]", cause.schema)
    error = _BrokenRule(str(cause.validator), cause.validator_value, schema, cause.instance, cause.message)
    if "propertyNames" in cause.absolute_schema_path:
        expected = f"expected: {error.schema.get('description', '')}"
        return Violation(
            "malformed-value", join(path, error.instance), f"the key {error.instance!r} is not allowed here", expected
        )
    return _RULES.get(error.rule, _fallback)(error, path)


def _type(error: _BrokenRule, path: str) -> Violation:
    expected = error.expected if isinstance(error.expected, list) else [error.expected]
    hint = f"expected: {' or '.join(_NAMES[name] for name in expected)}{_advice(expected, error.instance)}"
    actual = repr(error.instance) if isinstance(error.instance, float) else kind(error.instance)
    return Violation("wrong-type", path, f"found {actual}", hint, error.instance)


def _advice(expected: list[str], value: t.Any) -> str:
    if not isinstance(value, str):
        return ""
    if ("boolean" in expected and value.lower() in ("true", "false")) or ("integer" in expected and value.isdecimal()):
        return f"; write {value.lower()} without quotes"
    return ""


def _missing_key(error: _BrokenRule, path: str) -> Violation:
    key = next(entry for entry in error.expected if f"{entry!r} is" in error.message)
    return Violation("missing-key", join(path, key), f"the key {key!r} is missing", _purpose(error, key))


def _purpose(error: _BrokenRule, key: str) -> str:
    described = error.schema.get("properties", {}).get(key, {}).get("description", "")
    return f"expected: {described[:1].lower()}{described[1:].rstrip('.')}" if described else ""


def _dependent(error: _BrokenRule, path: str) -> Violation:
    present_key, missing = next(
        (present_key, key)
        for present_key, keys in error.expected.items()
        for key in keys
        if present_key in error.instance and key not in error.instance
    )
    return Violation(
        "missing-key", join(path, missing), f"the key {missing!r} is missing", f"required by {present_key!r}"
    )


def _enum(error: _BrokenRule, path: str) -> Violation:
    known = [entry for entry in error.expected if entry != ""]
    suggestion = nearest(error.instance, known) if isinstance(error.instance, str) else ""
    hint = f"did you mean {suggestion}?" if suggestion else f"expected: one of {', '.join(map(str, known))}"
    return Violation("unknown-value", path, f"{_short(error.instance)} is unknown", hint, error.instance)


def _bound(error: _BrokenRule, path: str) -> Violation:
    low, high = error.schema.get("minimum"), error.schema.get("maximum")
    expected = f"{low or 0} to {high}" if high is not None else f"at least {low}"
    return Violation("out-of-range", path, f"{error.instance} is out of range", f"expected: {expected}", error.instance)


def _size(error: _BrokenRule, path: str) -> Violation:
    what = "entries" if isinstance(error.instance, list) else "characters"
    bound = "at least" if error.rule.startswith("min") else "at most"
    message = f"{len(error.instance)} {what}"
    return Violation("out-of-range", path, message, f"expected: {bound} {error.expected}", error.instance)


def _pattern(error: _BrokenRule, path: str) -> Violation:
    message = f"{_short(error.instance)} has an invalid format"
    hint = str(error.schema.get("description", f"the pattern {error.expected}"))
    return Violation("malformed-value", path, message, f"expected: {hint}", error.instance)


def _format(error: _BrokenRule, path: str) -> Violation:
    what, example = _FORMATS[error.expected]
    return Violation(
        "malformed-value", path, f"{_short(error.instance)} is not {what}", f"expected: {example}", error.instance
    )


def _not(error: _BrokenRule, path: str) -> Violation:
    rule = error.expected
    which = "one of " if rule["required"][1:] else ""
    return Violation("exclusive-keys", path, str(rule["description"]), f"remove {which}{', '.join(rule['required'])}")


def _any_of(error: _BrokenRule, path: str) -> Violation:
    if isinstance(error.instance, dict):
        keys = [key for entry in error.expected for key in entry["required"] if "properties" not in entry]
        return Violation("missing-key", path, f"none of the keys {', '.join(keys)} is set", "expected: one of them")
    hint = f"expected: {error.schema.get('description', '')}"
    return Violation("unknown-value", path, f"{_short(error.instance)} is unknown", hint, error.instance)


def _fallback(error: _BrokenRule, path: str) -> Violation:
    return Violation("malformed-value", path, error.message[:200], value=error.instance)


def _short(value: t.Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


_RULES: t.Final[t.Mapping[str, t.Callable[[_BrokenRule, str], Violation]]] = {
    "type": _type,
    "required": _missing_key,
    "dependentRequired": _dependent,
    "enum": _enum,
    "minimum": _bound,
    "maximum": _bound,
    "minLength": _size,
    "maxLength": _size,
    "minItems": _size,
    "maxItems": _size,
    "pattern": _pattern,
    "format": _format,
    "not": _not,
    "anyOf": _any_of,
}
