# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check values of the variables of the role cni_node, before a module refuses them in the middle of a run."""

from __future__ import annotations

import collections.abc
import itertools
import os
import re
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.validation import check_type_float, check_type_int
from ansible.module_utils.common.yaml import yaml_load

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import CONSISTENCY, NODE, SCHEMA, SPECIFICATION
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, parse_name
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive, zero_or_positive
from ansible_collections.cni.node.plugins.plugin_utils._given_values import flag, objects, or_default, settings, words

PREFIX = "cni_node_"
CONCERNS = f"{PREFIX}concerns"
CONFLISTS = f"{PREFIX}conflists"
ATTACHMENTS = f"{PREFIX}attachments"
_SOURCE = f"{PREFIX}plugins_source"
_SETS = f"{PREFIX}plugins_sets"
_CONCERNS = ("kernel", "plugins", "networks", "attachments")
_SPECS = ("roles", "cni_node", "meta", "argument_specs.yml")
_OR_TEXT = "or YAML or JSON text of such a list"
_LINES = "a list, or text with one on each line"
_SHOWN = 100  # characters of a value
# The node replaces a tilde and variables of its environment at the beginning of a path.
_PATH = re.compile(r"[/~$][^\x00-\x1f\x7f]*")

Check = t.Callable[[t.Any], object]


class _Rule(t.NamedTuple):
    """The condition for the value of a variable.

    Attributes:
        is_valid: Return whether a value that is neither null nor blank text is right; it may raise an exception instead.
        expected: For errors.
    """

    is_valid: Check
    expected: str


def find_fault(name: str, option: JsonMapping, value: t.Any) -> str:
    """Return what is wrong with the value of a variable, or an empty string.

    Args:
        option: Its description in the role's argument_specs.
    """
    if name == CONCERNS:
        return _check_concerns(value)
    if name == CONFLISTS:
        return _check_conflists(value)
    if name == ATTACHMENTS:
        return _check_attachments(value)
    if name == _SOURCE:
        return _check_url(value, name)
    if name == _SETS:
        return _check_sets(value)
    if "choices" in option:
        return _check_choice(name, option["choices"], value)
    rule = _find_rule(name[len(PREFIX) :], option)
    if rule is not None:
        return _check_rule(name, rule, value)
    return _check_flag(name, value) if isinstance(option.get("default"), bool) else ""


def read_options() -> JsonObject:
    """Return the documented variables of the role cni_node, by their names."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    specs = yaml_load(durable.read(os.path.join(root, *_SPECS)) or b"")
    options: JsonObject = specs["argument_specs"]["main"]["options"]
    return options


def as_objects(value: t.Any) -> list[JsonMapping] | None:
    """Return a list of objects, given as data or as YAML text, or None if it is something else."""
    try:
        listed = objects(value)
    except AnsibleFilterError:
        return None
    is_list = isinstance(listed, list) and all(isinstance(item, collections.abc.Mapping) for item in listed)
    return listed if is_list else None


def _check_concerns(value: t.Any) -> str:
    try:
        unknown = [str(concern) for concern in words(value) if concern not in _CONCERNS]
    except (AnsibleFilterError, TypeError):
        unknown = [str(value)]
    return f"{CONCERNS}: unknown: {', '.join(unknown)}; expected: any of {', '.join(_CONCERNS)}" if unknown else ""


def _check_conflists(value: t.Any) -> str:
    if as_objects(value) is not None:
        return ""
    return f"{CONFLISTS}: expected: a list of networks, each an item of 'conflists' of cni.node.conflists, {_OR_TEXT}"


def _check_attachments(value: t.Any) -> str:
    listed = as_objects(value)
    if listed is None or not all("network" in item and "netns" in item for item in listed):
        return f"{ATTACHMENTS}: expected: a list of attachments, each an object with 'network' and 'netns', {_OR_TEXT}"
    return next(filter(None, map(_check_identity, itertools.count(), listed)), "")


def _check_identity(position: int, item: JsonMapping) -> str:
    """Return what is wrong with the names of an attachment, for which the modules have defaults; or an empty string."""
    container_id, ifname = item.get("container_id") or "default", item.get("ifname") or "eth0"
    try:
        Attachment(str(item["network"]), str(container_id), str(ifname)).require_identity()
    except CniError as exc:
        return f"{ATTACHMENTS}: [{position}]: {exc}"
    return ""


def _check_url(value: t.Any, where: str) -> str:
    from ansible_collections.cni.node.plugins.module_utils._base.url import require_no_misspelt_url

    try:
        if isinstance(value, str):
            require_no_misspelt_url(value, where)
    except CniError as exc:
        return str(exc)
    return ""


def _check_sets(value: t.Any) -> str:
    """Return what is wrong with sets, whose URLs may have secrets."""
    listed = as_objects(value)
    if listed is None or not all("name" in item for item in listed):
        return f"{_SETS}: expected: a list of sets, each an item of 'sets' of cni.node.plugins, {_OR_TEXT}"
    faults = (_check_url(item.get("source"), f"{_SETS}: {item['name']}: source") for item in listed)
    return next(filter(None, faults), "")


def _check_choice(name: str, choices: t.Sequence[str], value: t.Any) -> str:
    if or_default(value, None) is None or value in choices:
        return ""
    return f"value of {name} must be one of: {', '.join(filter(None, choices))}, got: {value}"


def _check_flag(name: str, value: t.Any) -> str:
    try:
        flag(value)
    except AnsibleFilterError as exc:
        return f"{name}: {exc.message}"
    return ""


def _check_rule(name: str, rule: _Rule, value: t.Any) -> str:
    try:
        if or_default(value, None) is None or rule.is_valid(value):
            return ""
    except (AnsibleFilterError, CniError, OverflowError, TypeError, ValueError):
        pass
    return f"{name}: {value!r:.{_SHOWN}}; expected: {rule.expected}"


def _find_rule(name: str, option: JsonMapping) -> _Rule | None:
    """Return the rule for a variable, given without its prefix; None if there is none."""
    if name in _RULES:
        return _RULES[name]()
    return _path("an absolute path") if option.get("type") == "path" else None


def _check_seconds(value: t.Any) -> bool:
    zero_or_positive("", check_type_float(value))
    return True


def _path(expected: str, ending: str = "") -> _Rule:
    pattern = re.compile(f"(?:{_PATH.pattern}){re.escape(ending)}")
    return _Rule(lambda value: pattern.fullmatch(str(value)), expected)


def _is_path_of_file(value: t.Any) -> bool:
    return _PATH.fullmatch(str(value)) is not None and not str(value).endswith("/")


def _list(is_valid: Check, expected: str) -> _Rule:
    """Return the rule of a list, which may be text."""

    def are_valid(value: t.Any) -> bool:
        listed = words(value)
        return isinstance(listed, list) and all(isinstance(item, (str, int)) and is_valid(str(item)) for item in listed)

    return _Rule(are_valid, f"{expected}: {_LINES}")


def _choices(names: t.Sequence[str]) -> _Rule:
    return _list(names.__contains__, f"any of {', '.join(names)}")


# Ansible compiles what it imports in each run; the rules below are for variables that a play sets.
def _netns() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._linux import netns

    return _list(lambda name: netns.path_of("/", name), "names of network namespaces")


def _modules() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module

    return _list(kernel_module.canonical, "names of kernel modules")


def _networks() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name

    return _list(check_network_name, "names of networks")


def _gc_owners() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows

    return _choices(rows.OWNER_NAMES)


def _repair_owners() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import OWN
    from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows

    return _choices((OWN, *rows.OWNER_NAMES))


def _repair_resources() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Resource

    return _choices([resource.value for resource in Resource])


def _repair_on() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._node.boot.repair_units import EVENTS

    return _choices(EVENTS)


def _repair_interval() -> _Rule:
    from ansible_collections.cni.node.plugins.module_utils._node.boot.repair_units import check_interval

    return _Rule(
        lambda value: check_interval(str(value)), "a time span of systemd such as 30s or 5min, or never, for no timer"
    )


def _is_flag_or_names(value: t.Any) -> bool:
    if isinstance(words(value), list):
        return all(isinstance(item, str) for item in words(value))
    return flag(value) in (True, False)


# By the names of variables without their prefix.
_RULES: t.Final[t.Mapping[str, t.Callable[[], _Rule]]] = {
    "opt_dir": lambda: _path("an absolute path"),
    "plugin_dirs": lambda: _list(_PATH.fullmatch, "absolute paths"),
    "command_path": lambda: _Rule(_is_path_of_file, "the absolute path of a file"),
    "metrics_path": lambda: _path("an absolute path that ends in .prom", ".prom"),
    "validate_levels": lambda: _choices((SCHEMA, SPECIFICATION, CONSISTENCY, NODE)),
    "modules": _modules,
    "sysctls": lambda: _Rule(
        lambda value: isinstance(settings(value), (str, collections.abc.Mapping)),
        "a dictionary, or text with key=value on each line",
    ),
    "packages": lambda: _Rule(_is_flag_or_names, "true, false, or names of packages"),
    "plugins_version": lambda: _Rule(
        lambda value: not isinstance(value, float), 'text, in quotes, such as "1.10", whose last digit a number loses'
    ),
    "plugins_only": lambda: _list(bool, "names of plugins"),
    "download_timeout": lambda: _Rule(
        lambda value: positive("", check_type_float(value)), "a number of seconds above 0"
    ),
    "keep": lambda: _Rule(lambda value: check_type_int(value) >= 0, "a whole number, 0 or more"),
    "netns": _netns,
    "gateway_timeout": lambda: _Rule(_check_seconds, "a number of seconds, 0 or more"),
    "gc_min_age": lambda: _Rule(_check_seconds, "a number of seconds, 0 or more"),
    "gc_owners": _gc_owners,
    "gc_release": lambda: _list(lambda name: parse_name(name, ""), "NETWORK/CONTAINER_ID/IFNAME"),
    "repair_networks": _networks,
    "repair_owners": _repair_owners,
    "repair_resources": _repair_resources,
    "repair_on": _repair_on,
    "repair_interval": _repair_interval,
}
