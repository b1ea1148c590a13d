# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Values for one attachment, checked against the types that plugins decode (conventions)."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration


class Problem(t.NamedTuple):
    """A value that breaks a rule.

    Attributes:
        path: The option's name and a JSON pointer to the value.
        missing: The key that an object lacks.
    """

    path: str
    value: t.Any
    expected: str
    missing: str = ""

    def message(self, describe: t.Callable[[t.Any], str] = kind) -> str:
        """Return the path and a description of the value, by default only its type."""
        return f"{self.path}: {f'there is no {self.missing}' if self.missing else f'found {describe(self.value)}'}"


Rule = t.Callable[[t.Any, str], t.Optional[Problem]]


def text(value: t.Any, path: str) -> Problem | None:
    """Require a string."""
    return None if isinstance(value, str) else Problem(path, value, "a string")


def integer(expected: str, lowest: int, highest: int) -> Rule:
    """Return a rule that requires an integer within bounds."""

    def rule(value: t.Any, path: str) -> Problem | None:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return None if is_integer and lowest <= value <= highest else Problem(path, value, expected)

    return rule


def list_of(rule: Rule) -> Rule:
    """Return a rule that requires a list and applies a rule to each entry."""

    def list_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, list):
            return Problem(path, value, "a list")
        return first_problem(unless_null(rule, entry, f"{path}/{index}") for index, entry in enumerate(value))

    return list_rule


def object_of(rules: t.Mapping[str, Rule], required: t.Sequence[str] = ()) -> Rule:
    """Return a rule that requires an object with some keys and applies rules to the known ones."""
    by_name = {name.lower(): rule for name, rule in rules.items()}

    def object_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, dict):
            return Problem(path, value, "an object")
        # Plugins written in Go match keys in any case and ignore unknown ones.
        present = {str(key).lower(): (key, entry) for key, entry in value.items() if entry is not None}
        for name in required:
            if name.lower() not in present:
                return Problem(path, value, f"the keys {' and '.join(required)}", missing=name)
        known = ((by_name[name], key, entry) for name, (key, entry) in present.items() if name in by_name)
        return first_problem(rule(entry, f"{path}/{key}") for rule, key, entry in known)

    return object_rule


def unless_null(rule: Rule, value: t.Any, path: str) -> Problem | None:
    """Apply a rule unless the value is null, which plugins written in Go treat as missing."""
    return None if value is None else rule(value, path)


def first_problem(problems: t.Iterable[Problem | None]) -> Problem | None:
    """Return the first problem, or None."""
    return next((problem for problem in problems if problem), None)


def _names(value: t.Any, path: str) -> Problem | None:
    """Require a list of names (the conventions' form), or lists by network (podman's form for its dnsname plugin)."""
    if not isinstance(value, (list, dict)):
        return Problem(path, value, "a list of names, or an object with such a list for each network")
    if isinstance(value, list):
        return _TEXTS(value, path)
    return first_problem(unless_null(_TEXTS, names, f"{path}/{network}") for network, names in value.items())


def _describe(value: t.Any) -> str:
    is_short = isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value)) < 100
    return repr(value) if is_short else kind(value)


_PORT = integer("an integer from 1 to 65535", 1, 65535)
_BITS = integer("an integer of 0 or more", 0, (1 << 64) - 1)
_TEXTS = list_of(text)
_MAPPING = object_of(
    {"hostPort": _PORT, "containerPort": _PORT, "protocol": text, "hostIP": text},
    ("hostPort", "containerPort"),
)
_RANGE = object_of(dict.fromkeys(("subnet", "rangeStart", "rangeEnd", "gateway"), text))
_LIMITS = dict.fromkeys(("ingressRate", "ingressBurst", "egressRate", "egressBurst"), _BITS)

# The type of each capability's value by the specification's conventions. The plugins validate the addresses themselves.
_RULES: t.Final[t.Mapping[str, Rule]] = {
    "portMappings": list_of(_MAPPING),
    "bandwidth": object_of(_LIMITS),
    "ipRanges": list_of(list_of(_RANGE)),
    "ips": _TEXTS,
    "mac": text,
    "dns": object_of(dict.fromkeys(("servers", "searches", "options"), _TEXTS)),
    "deviceID": text,
    "infinibandGUID": text,
    "aliases": _names,
    "cgroupPath": text,
}
_LABEL = object_of({"key": text, "value": text}, ("key", "value"))
# The keys of ``args.cni`` in the conventions. Every plugin gets all values and ignores unknown ones.
_CONFIG_ARGS_RULE = object_of({"labels": list_of(_LABEL), "ips": _TEXTS, "mac": text})

_PROTOCOL = "tcp"
_NUMBER = re.compile(r"\s*([0-9]{1,20})\s*", re.ASCII)
_NUMBERS: t.Final[t.Mapping[str, frozenset[str]]] = {
    "portMappings": frozenset({"hostport", "containerport"}),
    "bandwidth": frozenset(name.lower() for name in _LIMITS),
}
# Capabilities whose values are lists and objects. Sources that only have text, such as surveys, pass them as JSON text.
_STRUCTURED_CAPABILITIES = frozenset({"portMappings", "bandwidth", "ipRanges", "ips", "dns", "aliases"})
_STRUCTURED_CONFIG_ARGS = frozenset({"labels", "ips"})


def normalize_capability_args(capability_args: t.Mapping[str, t.Any]) -> JsonObject:
    """Return capability arguments in the form that plugins expect.

    The protocol of a mapped port is tcp by default and in lower case. Digits become numbers. JSON text for a list or an
    object is decoded, and an empty text in its place is left out. Values of any other form stay as they are.
    """
    return {
        name: _normalize(name, value)
        for name, value in _decode_structured(capability_args, _STRUCTURED_CAPABILITIES).items()
    }


def _decode_structured(values: t.Mapping[str, t.Any], names: t.Container[str]) -> JsonObject:
    """Decode the JSON text of the named values, which are lists or objects, and leave out empty texts among them."""
    decoded = {name: _decode(value) if name in names else value for name, value in values.items()}
    return {name: value for name, value in decoded.items() if value != "" or name not in names}


def _decode(value: t.Any) -> t.Any:
    if not isinstance(value, str):
        return value
    stripped = value.strip()
    if stripped[:1] not in ("[", "{"):
        return stripped
    try:
        return json_text.decode(stripped.encode(), "it")
    except (CniError, UnicodeEncodeError):
        return value


def _normalize(name: str, value: t.Any) -> t.Any:
    if name == "portMappings" and isinstance(value, list):
        return [_normalize_mapping(entry) if isinstance(entry, dict) else entry for entry in value]
    return _with_numbers(value, _NUMBERS[name]) if name == "bandwidth" and isinstance(value, dict) else value


def _normalize_mapping(written: JsonObject) -> JsonObject:
    mapping = _with_numbers(written, _NUMBERS["portMappings"])
    key = next((key for key in mapping if str(key).lower() == "protocol"), "protocol")
    protocol = mapping.get(key) or _PROTOCOL
    return {**mapping, key: protocol.lower() if isinstance(protocol, str) else protocol}


def _with_numbers(values: JsonObject, names: t.Container[str]) -> JsonObject:
    return {key: _number(value) if str(key).lower() in names else value for key, value in values.items()}


def _number(value: t.Any) -> t.Any:
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else value


def check_capability_args(network: NetworkConfiguration, capability_args: t.Mapping[str, t.Any]) -> None:
    """Refuse values that the plugin receiving them cannot decode: both its ADD and its DEL would fail.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    for plugin in network.plugins:
        for name in sorted(plugin.capabilities & capability_args.keys() & _RULES.keys()):
            problem = unless_null(_RULES[name], capability_args[name], f"capability_args: /{name}")
            if problem:
                advice = f"expected: {problem.expected}; plugin {plugin.type} gets this value"
                raise CniError(Code.INVALID_CONFIG, problem.message(_describe), advice)


def normalize_config_args(config_args: t.Mapping[str, t.Any]) -> JsonObject:
    """Return values for ``args.cni`` in the form that plugins expect.

    Lists may be JSON text, as surveys pass them. Empty texts in place of a list and null values are left out.
    """
    return {
        key: value
        for key, value in _decode_structured(config_args, _STRUCTURED_CONFIG_ARGS).items()
        if value is not None
    }


def check_config_args(config_args: t.Mapping[str, t.Any]) -> None:
    """Refuse values that no plugin can decode: both ADD and DEL would fail.

    Raises:
        CniError: ``INVALID_CONFIG``. The message does not show the value, which may be a secret.
    """
    problem = _CONFIG_ARGS_RULE(config_args, "config_args: ")
    if problem:
        raise CniError(Code.INVALID_CONFIG, problem.message(), f"expected: {problem.expected}")
