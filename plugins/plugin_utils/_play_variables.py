# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Evaluate and validate the variables of all hosts of a play."""

from __future__ import annotations

import collections.abc
import contextlib
import itertools
import typing as t

import jinja2
from ansible.errors import AnsibleError

from ansible_collections.cni.node.plugins.module_utils._base.finding import ERROR, FLEET, WARNING, Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import shorten
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import (
    all_prefixes,
    explain_prefix,
    refusal,
    unknown_variables,
)
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs
from ansible_collections.cni.node.plugins.plugin_utils._variable_checks import (
    ATTACHMENTS,
    CONCERNS,
    CONFLISTS,
    PREFIX,
    as_objects,
    find_fault,
    read_options,
)

_EMPTY_BY_DEFAULT = (CONCERNS, CONFLISTS, ATTACHMENTS)
_FACTS_HINT = "facts of the node are not gathered here: use fact caching, or set the value"
# How many hosts a message names.
HOSTS_SHOWN = 5


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
        given = {str(name) for host in self._play_hosts for name in self.read_host(host)}
        unknown = unknown_variables({*self._task_variables, *given}, [PREFIX])
        refusals = [refusal(unknown)] if unknown else []
        given |= {name for name, value in self._task_variables.items() if value is not None}
        checked = [(name, option) for name, option in read_options().items() if name in given]
        return refusals + [text for name, option in checked for text in self._check(name, option)]

    def find_misspelled(self) -> dict[str, list[Finding]]:
        """Return a finding for each variable of a host that has a name like those of this collection, but is unknown."""
        beginnings = all_prefixes()
        return {
            host: [_describe_unknown(*names) for names in unknown_variables(self.read_host(host), beginnings).items()]
            for host in self._play_hosts
        }

    def find_wrong_values(self) -> dict[str, list[Finding]]:
        """Return a finding for each variable of the role cni_node whose value no module would accept, by host.

        The networks are not included: their module finds more, in each of them.
        """
        options = {name: option for name, option in read_options().items() if name != CONFLISTS}
        return {host: list(self._list_wrong_values(host, options)) for host in self._play_hosts}

    def _list_wrong_values(self, host: str, options: JsonMapping) -> t.Iterator[Finding]:
        given = self.read_host(host)
        for name, option in ((name, option) for name, option in options.items() if name in given):
            for value in self._values(name, [host]).values():
                fault = find_fault(name, option, value)
                if fault:
                    yield Finding("invalid-configuration", name, "", fault.removeprefix(f"{name}: "))

    def find_unevaluated(self) -> dict[str, list[Finding]]:
        """Return a finding about the networks or attachments of each host that cannot be evaluated without the node."""
        return {host: list(itertools.islice(self._list_unevaluated(host), 1)) for host in self._play_hosts}

    def _list_unevaluated(self, host: str) -> t.Iterator[Finding]:
        variables = self.read_host(host)
        for name in (CONFLISTS, ATTACHMENTS):
            reason = _evaluation_error(variables, name) if name in variables else ""
            if reason:
                yield Finding("invalid-configuration", name, "", reason, _FACTS_HINT)

    def read_host(self, host: str) -> JsonMapping:
        """Return the variables of a host, with their templates; none for an unknown host."""
        if host not in self._read:
            try:
                self._read[host] = t.cast(JsonMapping, self._hostvars[host])
            except KeyError:
                self._read[host] = {}
        return self._read[host]

    def collisions(self, hosts: t.Sequence[str]) -> tuple[list[str], list[str]]:
        """Return errors and warnings about networks that collide with those of other hosts.

        Args:
            hosts: All nodes, including those outside the play.
        """
        concerns = self._task_variables.get(CONCERNS)
        if concerns and "networks" not in concerns:
            return [], []
        by_severity: dict[str, list[str]] = {ERROR: [], WARNING: []}
        for finding in self.compare_nodes(hosts):
            by_severity[finding.severity].append(f"{finding.message}; {finding.hint} ({finding.code})")
        unknown = [
            f"{host}: its networks were not compared with those of other hosts: {reason}"
            for host, reason in self.unknown.items()
        ]
        return by_severity[ERROR], by_severity[WARNING] + unknown

    def compare_nodes(self, hosts: t.Iterable[str]) -> list[Finding]:
        """Return findings about networks of hosts that do not fit those of the other hosts."""
        networks = {host: _networks(value) for host, value in self._values(CONFLISTS, hosts).items()}
        return [finding for finding in inputs.fleet_findings(networks) if finding.level == FLEET]

    def _values(self, name: str, hosts: t.Iterable[str]) -> JsonObject:
        """Return the values of a variable by host. Omit hosts that do not define it, or whose value cannot be evaluated."""
        values: JsonObject = {}
        of_play = self._find_of_play(name)
        for host in hosts:
            variables = self.read_host(host)
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
            given, variables = self._task_variables.get(name), self.read_host(self._task_host)
            # Otherwise, it may be the default of the role.
            is_of_play = given is not None and (name in variables or (name in _EMPTY_BY_DEFAULT and bool(given)))
            with contextlib.suppress(AnsibleError, jinja2.UndefinedError):
                if self._task_host and is_of_play and not are_equal(given, variables.get(name)):
                    self._of_play[name] = _evaluate(given)
        return self._of_play[name]

    def _check(self, name: str, option: JsonMapping) -> list[str]:
        values = self._values(name, self._play_hosts) or {"": self._task_variables.get(name)}
        by_text: dict[str, list[str]] = {}
        for host, value in values.items():
            by_text.setdefault(find_fault(name, option, value), []).append(host)
        return [
            text if len(hosts) == len(values) else f"{shorten(hosts, HOSTS_SHOWN)}: {text}"
            for text, hosts in by_text.items()
            if text
        ]


def are_equal(one: object, other: object) -> bool:
    """Return whether two values are equal; they are not if a variable in them cannot be evaluated."""
    try:
        return one == other
    except (AnsibleError, jinja2.UndefinedError):
        return False


def _describe_unknown(name: str, meant: str) -> Finding:
    code, hint = (
        ("misspelled-key", f"did you mean {meant}?") if meant else ("invalid-configuration", explain_prefix([name]))
    )
    return Finding(code, name, "", "the variable is unknown", hint)


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


def _networks(value: t.Any) -> list[t.Any]:
    """Return the network configurations of present items that have ``config``."""
    items = as_objects(value) or ()
    return [item["config"] for item in items if item.get("config") and item.get("state") != "absent"]
