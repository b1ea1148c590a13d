# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_diagnosis

author:
  - cni.node contributors (@cni-node)

short_description: Join the diagnoses of several nodes into one way

version_added: 1.0.0

description:
  - Joins results of M(cni.node.diagnose) of several nodes into the way of one packet, and says which node to ask next. The first
    result of each node is one with O(cni.node.diagnose#module:elsewhere).
  - The node that has the source comes first. If the packet leaves it, the node that has the destination follows.

positional: _input, hosts, results, source, destination

options:
  _input:
    description:
      - A dictionary of host names to variables, such as C(hostvars).
    type: dict
    required: true
  hosts:
    description:
      - The names of the nodes, such as C(ansible_play_hosts).
    type: list
    elements: str
    required: true
  results:
    description:
      - The names of the variables with the results, in the order of the tasks. All nodes have the first, and the node that was asked
        next has the second, and so on.
    type: list
    elements: str
    required: true
  source:
    description:
      - The option O(cni.node.diagnose#module:from) of the first result.
    type: str
    required: true
  destination:
    description:
      - The option O(cni.node.diagnose#module:to) of the first result.
    type: str
    required: true

seealso:
  - module: cni.node.diagnose
"""

EXAMPLES = r"""
- name: Follow the packet on the node that has red
  cni.node.diagnose:
    from: red
    to: 192.0.2.2:8080
    elsewhere: true
  register: first

- name: Follow it on the node that has the destination
  cni.node.diagnose:
    from: "{{ way.next.source }}"
    to: "{{ way.next.destination }}"
    sent: "{{ way.next.sent | default(omit, true) }}"
  register: second
  when: way.next.node == inventory_hostname
  vars:
    way: "{{ hostvars | cni.node.fleet_diagnosis(ansible_play_hosts, ['first'], 'red', '192.0.2.2:8080') }}"

- name: Show both halves
  cni.node.show:
    msg: "{{ (hostvars | cni.node.fleet_diagnosis(ansible_play_hosts, ['first', 'second'], 'red', '192.0.2.2:8080')).lines }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The way of the packet.
  type: dict
  contains:
    refusal:
      description: Why there is no way to follow, because no node or more than one has an end; empty otherwise.
      type: str
    next:
      description:
        - The node to ask next as C(node), with the options C(source), C(destination) and C(sent) of M(cni.node.diagnose); C(node) is
          empty if none is left. C(sent) is empty if no packet was sent.
      type: dict
    steps:
      description: The steps as in RV(cni.node.diagnose#module:steps[]), each with its C(node).
      type: list
      elements: dict
    broken:
      description: The first step that is broken, or an empty dictionary.
      type: dict
    lines:
      description: The steps for readers.
      type: list
      elements: str
"""

import itertools
import re
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import parse_address
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import State, format_steps
from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_hosts

_TARGET = re.compile(r"(?:[\d.]+|\[[\da-f:.]+\])(?::\d+)?/[a-z]+")
_STEP = ("check", "state", "place", "way", "found", "needed", "command")
_NOBODY: t.Final[JsonObject] = {"node": "", "source": "", "destination": "", "sent": {}}


def fleet_diagnosis(
    hostvars: object, hosts: object, results: t.Sequence[str], source: str, destination: str
) -> JsonObject:
    variables, names = require_hosts("fleet_diagnosis", hostvars, hosts)
    try:
        first, *later = ({host: _read(variables, host, result) for host in names} for result in results)
        return _Way(
            {host: answer for host, answer in first.items() if answer},
            {host: answer for answers in later for host, answer in answers.items() if answer},
            str(source),
            str(destination),
        ).as_dict()
    except (AttributeError, LookupError, TypeError, ValueError) as exc:
        expected = "expected results of cni.node.diagnose"
        raise AnsibleFilterError(f"fleet_diagnosis: a result has an unexpected form; {expected}") from exc


class _Refused(Exception):
    """No node or more than one has an end."""


class _Way:
    """The way of a packet through nodes.

    Args:
        first: The result of each node that has one.
        later: That of the nodes that were asked once more.
    """

    def __init__(
        self, first: t.Mapping[str, JsonMapping], later: t.Mapping[str, JsonMapping], source: str, destination: str
    ) -> None:
        self._first, self._later = first, later
        self._source, self._destination = source, destination

    def as_dict(self) -> JsonObject:
        try:
            return {"refusal": "", **self._follow()}
        except _Refused as refused:
            return {"refusal": str(refused), **_describe(_NOBODY, [], [str(refused)])}

    def _follow(self) -> JsonObject:
        node = self._find_first()
        half = self._later.get(node, self._first[node])
        if not half["steps"]:
            question = {**_NOBODY, "node": node, "source": self._source, "destination": self._choose_target(node)}
            return _describe(question, [], [])
        steps, notes = _read_steps(node, half), []
        others = [
            other
            for other in self._list_others(node)
            if half.get("leaves", {}).get("to") in _targets(self._first[other])
        ]
        if len(others) > 1:
            notes = [f"{half['leaves']['to']} is on {_join(others)}, so that the packet is followed on none of them"]
        elif others and others[0] not in self._later:
            return _describe(_ask(others[0], half), [], [])
        elif others:
            steps = _join_halves(steps, _read_steps(others[0], self._later[others[0]]))
        if len(self._first) == 1:
            return _describe(_NOBODY, steps, [printable.line(line) for line in half["lines"]])
        return _describe(_NOBODY, steps, [*_format(steps), *notes, self._sum_up(steps, half)])

    def _find_first(self) -> str:
        """Return the node that the packet comes from, or the one at which it arrives from outside."""
        sources = [node for node, answer in self._first.items() if answer["ends"]["from"]]
        if sources:
            return self._require_one(sources, "from", self._source)
        following = [node for node, answer in self._first.items() if answer["steps"]]
        if not following:
            raise _Refused(self._explain(next(iter(self._first), "")))
        if len(self._first) == 1:
            return following[0]
        targets = [node for node in following if _targets(self._first[node])]
        if not targets:
            raise _Refused(f"no node has {printable.line(self._source)} or {printable.line(self._destination)}")
        return self._require_one(targets, "to", self._destination)

    def _choose_target(self, node: str) -> str:
        """Return the address of an attachment on another node, of the family that the first node has, if possible."""
        others = [other for other in self._list_others(node) if _targets(self._first[other])]
        if not others:
            raise _Refused(self._explain(node))
        targets = _targets(self._first[self._require_one(others, "to", self._destination)])
        versions = {address.version for address in map(parse_address, self._first[node]["ends"]["from"]) if address}
        return next((each for each in targets if (6 if each.startswith("[") else 4) in versions), targets[0])

    def _list_others(self, node: str) -> list[str]:
        return [other for other in self._first if other != node]

    def _require_one(self, nodes: t.Sequence[str], option: str, end: str) -> str:
        if len(nodes) > 1:
            advice = "expected: an end that one node has, or a play that is limited to fewer nodes"
            raise _Refused(f"{option}: {printable.line(end)!r} is on {_join(nodes)}; {advice}")
        return nodes[0]

    def _explain(self, node: str) -> str:
        """Return why no node has an end, as one of them says it."""
        reason = printable.line(str(self._first.get(node, {}).get("msg", "no node has answered")))
        return reason if len(self._first) < 2 else f"no node has it; {printable.line(node)}: {reason}"

    def _sum_up(self, steps: t.Sequence[JsonMapping], half: JsonMapping) -> str:
        way = f"{printable.line(self._source)} -> {printable.line(self._destination)}"
        broken = _find_broken(steps)
        if broken:
            direction = ", on the way back" if broken["way"] == "back" else ""
            return f"{way}: broken on {broken['node']} in {broken['place']}{direction}: {broken['found']}"
        return f"{way}: {'reached' if half.get('reached') else 'nothing is broken, as far as the nodes show'}"


def _read(hostvars: t.Mapping[t.Any, t.Any], host: object, name: str) -> JsonMapping | None:
    """Return the result of a host, or None if the task was skipped or has failed."""
    try:
        result = hostvars[host].get(name)
    except KeyError:
        return None
    return result if result and "steps" in result else None


def _targets(answer: JsonMapping) -> list[str]:
    return [text for text in map(str, answer["ends"]["to"]) if _TARGET.fullmatch(text)]


def _ask(node: str, half: JsonMapping) -> JsonObject:
    """Return the question to the node at which a packet arrives."""
    leaves, answer = half["leaves"], str(half["answer"])
    sent = {"source_port": int(leaves["source_port"]), "answer": answer} if answer.isalpha() else {}
    return {"node": node, "source": str(parse_address(leaves["from"])), "destination": leaves["to"], "sent": sent}


def _read_steps(node: str, answer: JsonMapping) -> list[JsonObject]:
    name = printable.line(node)
    return [{"node": name, **{key: printable.line(str(step[key])) for key in _STEP}} for step in answer["steps"]]


def _join_halves(first: list[JsonObject], second: list[JsonObject]) -> list[JsonObject]:
    """Return the steps of two nodes as one way: what the first says of the answer comes last."""
    *there, last = first
    if last["check"] != "answer" and last["state"] != State.BROKEN.value:
        return [*first, *second]
    return [*there, *second, *([] if _find_broken(second) else [last])]


def _find_broken(steps: t.Iterable[JsonMapping]) -> JsonMapping:
    return next((step for step in steps if step["state"] == State.BROKEN.value), {})


def _format(steps: t.Sequence[JsonMapping]) -> list[str]:
    """Return the lines of steps below the names of their nodes."""
    lines: list[str] = []
    for node, group in itertools.groupby(steps, lambda step: str(step["node"])):
        lines += [f"{node}:", *format_steps(list(group))]
    return lines


def _describe(question: JsonMapping, steps: t.Sequence[JsonObject], lines: t.Sequence[str]) -> JsonObject:
    return {"next": question, "steps": steps, "broken": _find_broken(steps), "lines": lines}


def _join(nodes: t.Sequence[str]) -> str:
    *names, last = map(printable.line, nodes)
    return f"{', '.join(names)} and {last}" if names else last


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"fleet_diagnosis": fleet_diagnosis}
