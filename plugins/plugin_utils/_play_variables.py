# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Evaluate and validate the variables of all hosts of a play."""

from __future__ import annotations

import collections.abc
import contextlib
import os
import typing as t

import jinja2
from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.module_utils.common.yaml import yaml_load

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.url import require_no_misspelt_url
from ansible_collections.cni.node.plugins.plugin_utils._given_values import flag, objects, words
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import refusal, unknown_variables
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs

_PREFIX = "cni_node_"
CONCERNS = f"{_PREFIX}concerns"
CONFLISTS = f"{_PREFIX}conflists"
ATTACHMENTS = f"{_PREFIX}attachments"
SOURCE = f"{_PREFIX}plugins_source"
SETS = f"{_PREFIX}plugins_sets"
_EMPTY_BY_DEFAULT = (CONCERNS, CONFLISTS, ATTACHMENTS)
# A boolean or a list.
_PACKAGES = f"{_PREFIX}packages"
_CONCERNS = ("kernel", "plugins", "networks", "attachments")
_SPECS = ("roles", "cni_node", "meta", "argument_specs.yml")
_FACTS_HINT = "facts of the node are not gathered here: use fact caching, or set the value"
# How many hosts a message names.
_HOSTS_SHOWN = 5


class PlayVariables:
    """The variables of a play's hosts, and of nodes outside the play.

    Attributes:
        unknown: By host, the reason why its variables could not be read.
    """

    def __init__(
        self, hostvars: JsonMapping, play_hosts: t.Sequence[str], task_variables: JsonMapping, task_host: str = ""
    ) -> None:
        """
        Args:
            task_variables: Variables of the current task. They are checked where no host has the variable.
            task_host: The host whose task it is, if known. What the task has instead of a variable of this host is a variable
                of the play, which takes precedence on all of its hosts; only its value for this host is known.
        """
        self._hostvars = hostvars
        self._play_hosts = play_hosts
        self._task_variables = task_variables
        self._task_host = task_host
        self._of_play: JsonObject = {}
        self.unknown: dict[str, str] = {}
        self._read: dict[str, JsonMapping] = {}

    def errors(self) -> list[str]:
        """Return errors in variables, each once with the hosts that have it."""
        given = {str(name) for host in self._play_hosts for name in self._host_variables(host)}
        unknown = unknown_variables({*self._task_variables, *given}, [_PREFIX])
        refusals = [refusal(unknown)] if unknown else []
        checks: dict[str, t.Callable[[t.Any], str]] = {
            CONCERNS: _check_concerns,
            CONFLISTS: _check_conflists,
            ATTACHMENTS: _check_attachments,
            SOURCE: _check_source,
            SETS: _check_sets,
        }
        options = _options()
        for name, option in options.items():
            if "choices" in option:
                checks[name] = _make_choice_check(name, option["choices"])
        given |= {name for name, value in self._task_variables.items() if value is not None}
        for name in sorted(given & options.keys()):
            if isinstance(options[name].get("default"), bool) and name != _PACKAGES:
                checks[name] = _make_flag_check(name)
        return refusals + [text for name, check in checks.items() for text in self._check(name, check)]

    def find_unevaluated(self) -> dict[str, Finding]:
        """Return a finding for each host of the play whose networks or attachments cannot be evaluated without the node."""
        found = {}
        for host in self._play_hosts:
            variables = self._host_variables(host)
            for name in (CONFLISTS, ATTACHMENTS):
                reason = _evaluation_error(variables, name) if name in variables else ""
                if reason:
                    found[host] = Finding("invalid-configuration", name, "", reason, _FACTS_HINT)
                    break
        return found

    def collisions(self, hosts: t.Sequence[str]) -> tuple[list[str], list[str]]:
        """Return errors and warnings about networks that collide with those of other hosts.

        Args:
            hosts: All nodes, including those outside the play.
        """
        concerns = self._task_variables.get(CONCERNS)
        if concerns and "networks" not in concerns:
            return [], []
        networks = {host: _networks(value) for host, value in self._values(CONFLISTS, hosts).items()}
        by_severity: dict[str, list[str]] = {"error": [], "warning": []}
        for finding in inputs.fleet_findings(networks):
            if finding.level == "fleet":
                by_severity[finding.severity].append(f"{finding.message}; {finding.hint} ({finding.code})")
        unknown = [
            f"{host}: its networks were not compared with those of other hosts: {reason}"
            for host, reason in self.unknown.items()
        ]
        return by_severity["error"], by_severity["warning"] + unknown

    def _host_variables(self, host: str) -> JsonMapping:
        if host not in self._read:
            try:
                self._read[host] = t.cast(JsonMapping, self._hostvars[host])
            except KeyError:
                self._read[host] = {}
        return self._read[host]

    def _values(self, name: str, hosts: t.Iterable[str]) -> JsonObject:
        """Return the values of a variable by host. Omit hosts that do not define it, or whose value cannot be evaluated."""
        values: JsonObject = {}
        of_play = self._find_of_play(name)
        for host in hosts:
            variables = self._host_variables(host)
            if of_play is not None and host in self._play_hosts:
                # It may have templates, so that the values of other hosts are unknown.
                if host == self._task_host:
                    values[host] = of_play
                elif name in variables:
                    self._note(host, name, "the play has another value, which is known for its first host only")
            elif name in variables:
                try:
                    values[host] = _evaluate(variables[name])
                except (AnsibleError, jinja2.UndefinedError) as exc:
                    self._note(host, name, exc)
        return values

    def _note(self, host: str, name: str, reason: object) -> None:
        if name == CONFLISTS:
            self.unknown[host] = f"{name}: {reason}"

    def _find_of_play(self, name: str) -> t.Any:
        """Return the value of a variable of the play, or None if there is none."""
        if name not in self._of_play:
            self._of_play[name] = None
            given, variables = self._task_variables.get(name), self._host_variables(self._task_host)
            # Otherwise, it may be the default of the role.
            is_of_play = given is not None and (name in variables or (name in _EMPTY_BY_DEFAULT and bool(given)))
            with contextlib.suppress(AnsibleError, jinja2.UndefinedError):
                if self._task_host and is_of_play and not are_equal(given, variables.get(name)):
                    self._of_play[name] = _evaluate(given)
        return self._of_play[name]

    def _check(self, name: str, check: t.Callable[[t.Any], str]) -> list[str]:
        values = self._values(name, self._play_hosts) or {"": self._task_variables.get(name)}
        by_text: dict[str, list[str]] = {}
        for host, value in values.items():
            by_text.setdefault(check(value), []).append(host)
        return [
            text if len(hosts) == len(values) else f"{_join(hosts)}: {text}" for text, hosts in by_text.items() if text
        ]


def are_equal(one: object, other: object) -> bool:
    """Return whether two values are equal; they are not if a variable in them cannot be evaluated."""
    try:
        return one == other
    except (AnsibleError, jinja2.UndefinedError):
        return False


def _evaluation_error(variables: JsonMapping, name: str) -> str:
    """Return why a variable cannot be evaluated, or an empty string."""
    try:
        _evaluate(variables[name])
    except (AnsibleError, jinja2.UndefinedError) as exc:
        return f"it cannot be evaluated: {exc}"
    return ""


def _evaluate(value: t.Any) -> t.Any:
    """Return a value with all its templates evaluated.

    Raises:
        AnsibleError: It cannot be evaluated; Jinja may raise exceptions of its own.
    """
    if isinstance(value, jinja2.Undefined):
        raise AnsibleError("it is not defined")
    if isinstance(value, collections.abc.Mapping):
        return {str(key): _evaluate(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [_evaluate(entry) for entry in value]
    # Before ansible-core 2.19, a template that cannot be evaluated stays as it is written.
    if isinstance(value, str) and "{{" in value:
        raise AnsibleError(f"{value!r} cannot be evaluated")
    return plain(value)


def _check_concerns(value: t.Any) -> str:
    unknown = [str(concern) for concern in words(value) if concern not in _CONCERNS]
    return f"{CONCERNS}: unknown: {', '.join(unknown)}; expected: any of {', '.join(_CONCERNS)}" if unknown else ""


def _check_conflists(value: t.Any) -> str:
    if _objects(value) is not None:
        return ""
    kind = "networks, each an item of 'conflists' of cni.node.conflists"
    return f"{CONFLISTS}: expected: a list of {kind}, or YAML or JSON text of such a list"


def _check_attachments(value: t.Any) -> str:
    listed = _objects(value)
    if listed is not None and all("network" in item and "netns" in item for item in listed):
        return ""
    kind = "attachments, each an object with 'network' and 'netns'"
    return f"{ATTACHMENTS}: expected: a list of {kind}, or YAML or JSON text of such a list"


def _check_source(value: t.Any, where: str = SOURCE) -> str:
    if not isinstance(value, str):
        return ""
    try:
        require_no_misspelt_url(value, where)
    except CniError as exc:
        return str(exc)
    return ""


def _check_sets(value: t.Any) -> str:
    """Return the first misspelt URL; the module refuses what is not a list of sets."""
    found = (_check_source(item.get("source"), f"{SETS}: {item.get('name')}: source") for item in _objects(value) or ())
    return next(filter(None, found), "")


def _make_choice_check(name: str, choices: t.Sequence[str]) -> t.Callable[[t.Any], str]:
    def check(value: t.Any) -> str:
        if not value or value in choices:
            return ""
        return f"value of {name} must be one of: {', '.join(filter(None, choices))}, got: {value}"

    return check


def _make_flag_check(name: str) -> t.Callable[[t.Any], str]:
    def check(value: t.Any) -> str:
        try:
            flag(value)
        except AnsibleFilterError as exc:
            return f"{name}: {exc.message}"
        return ""

    return check


def _options() -> JsonObject:
    """Return the documented variables of the role cni_node, by their names."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    specs = yaml_load(durable.read(os.path.join(root, *_SPECS)) or b"")
    options: JsonObject = specs["argument_specs"]["main"]["options"]
    return options


def _objects(value: t.Any) -> list[JsonMapping] | None:
    """Return a list of objects, given as data or as YAML text, or None if it is something else."""
    try:
        listed = objects(value)
    except AnsibleFilterError:
        return None
    is_list = isinstance(listed, list) and all(isinstance(item, collections.abc.Mapping) for item in listed)
    return listed if is_list else None


def _networks(value: t.Any) -> list[t.Any]:
    """Return the network configurations of present items that have ``config``."""
    items = _objects(value) or ()
    return [item["config"] for item in items if item.get("config") and item.get("state") != "absent"]


def _join(hosts: t.Sequence[str]) -> str:
    more = [f"and {len(hosts) - _HOSTS_SHOWN} more"] if len(hosts) > _HOSTS_SHOWN else []
    return ", ".join([*hosts[:_HOSTS_SHOWN], *more])
