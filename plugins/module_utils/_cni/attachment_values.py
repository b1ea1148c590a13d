# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind
from ansible_collections.cni.node.plugins.module_utils._cni import value_rules
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.value_rules import Problem, Rule


def _names(value: t.Any, path: str) -> Problem | None:
    """Require a list of names, as the conventions say, or lists by network, as podman passes them to its dnsname plugin."""
    if not isinstance(value, (list, dict)):
        return Problem(path, value, "a list of names, or an object with such a list for each network")
    if isinstance(value, list):
        return _TEXTS(value, path)
    return value_rules.first_problem(
        value_rules.unless_null(_TEXTS, names, f"{path}/{network}") for network, names in value.items()
    )


def _describe(value: t.Any) -> str:
    is_short = isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value)) < 100
    return repr(value) if is_short else kind(value)


_PORT: t.Final = value_rules.integer("an integer from 1 to 65535", 1, 65535)
_BITS: t.Final = value_rules.integer("an integer of 0 or more", 0, (1 << 64) - 1)
_TEXTS: t.Final = value_rules.list_of(value_rules.text)
_MAPPING: t.Final = value_rules.object_of(
    {"hostPort": _PORT, "containerPort": _PORT, "protocol": value_rules.text, "hostIP": value_rules.text},
    ("hostPort", "containerPort"),
)
_RANGE: t.Final = value_rules.object_of(
    dict.fromkeys(("subnet", "rangeStart", "rangeEnd", "gateway"), value_rules.text)
)
_LIMITS: t.Final = dict.fromkeys(("ingressRate", "ingressBurst", "egressRate", "egressBurst"), _BITS)

# The type of each capability's value by the specification's conventions. The plugins validate the addresses themselves.
_RULES: t.Final[t.Mapping[str, Rule]] = {
    "portMappings": value_rules.list_of(_MAPPING),
    "bandwidth": value_rules.object_of(_LIMITS),
    "ipRanges": value_rules.list_of(value_rules.list_of(_RANGE)),
    "ips": _TEXTS,
    "mac": value_rules.text,
    "dns": value_rules.object_of(dict.fromkeys(("servers", "searches", "options"), _TEXTS)),
    "deviceID": value_rules.text,
    "infinibandGUID": value_rules.text,
    "aliases": _names,
    "cgroupPath": value_rules.text,
}
_LABEL: t.Final = value_rules.object_of({"key": value_rules.text, "value": value_rules.text}, ("key", "value"))
# The keys of ``args.cni`` in the conventions. Every plugin gets all values and ignores unknown ones.
_CONFIG_ARGS_RULE: t.Final = value_rules.object_of(
    {"labels": value_rules.list_of(_LABEL), "ips": _TEXTS, "mac": value_rules.text}
)

_PROTOCOL: t.Final = "tcp"
_NUMBER: t.Final = re.compile(r"\s*([0-9]{1,20})\s*", re.ASCII)
_NUMBERS: t.Final[t.Mapping[str, frozenset[str]]] = {
    "portMappings": frozenset({"hostport", "containerport"}),
    "bandwidth": frozenset(name.lower() for name in _LIMITS),
}
# Capabilities whose values are lists and objects. Sources that only have text, such as surveys, pass them as JSON text.
_STRUCTURED_CAPABILITIES: t.Final = frozenset({"portMappings", "bandwidth", "ipRanges", "ips", "dns", "aliases"})
_STRUCTURED_CONFIG_ARGS: t.Final = frozenset({"labels", "ips"})


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
    text = value.strip()
    if text[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
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
            problem = value_rules.unless_null(_RULES[name], capability_args[name], f"capability_args: /{name}")
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


__all__ = ("check_capability_args", "check_config_args", "normalize_capability_args", "normalize_config_args")
