# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_table

author:
  - cni.node contributors (@cni-node)

short_description: Format the state of nodes as a table

version_added: 1.0.0

description:
  - Formats results of M(cni.node.node_info) as a table of nodes, followed by a table of their attachments. Returns the lines.

positional: _input

options:
  _input:
    description:
      - A dictionary of node names to results of M(cni.node.node_info). Parts that were not gathered are shown as C(-).
    type: dict
    required: true
  attachments:
    description:
      - The attachments to list with their addresses, their mapped host ports, and their drift.
      - V(drifted) lists the first twenty attachments that have drifted.
    type: str
    choices: [all, drifted]
    default: drifted
  failed:
    description:
      - The names of nodes on which a task has failed. Each has a row, also without a result.
    type: list
    elements: str
    default: []
  hostvars:
    description:
      - A dictionary of host names to variables, where the results of tasks on the nodes in O(failed) are looked up.
    type: dict
    default: {}
  steps:
    description:
      - A dictionary of names of variables with the results of tasks, in the order of the tasks, to the names of these steps. The first
        one that failed is shown.
    type: dict
    default: {}

seealso:
  - module: cni.node.node_info
  - plugin: cni.node.attachment_table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read the state of every node
  cni.node.node_info:
  register: node

- name: Show the state of all nodes
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'node'))) | cni.node.node_table }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A heading, then one line for each node. C(DRIFT) is the number of attachments that have drifted, and of those whose drift is
      unknown. C(TROUBLE) lists the problems in the gathered parts; for a node in O(failed) it begins with the step that failed, and for
      a node that could not be read it has the reason.
    - If there are attachments to list, an empty line, a heading, and one line for each attachment.
  type: list
  elements: str
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.plugin_utils._report.problems import (
    count_drift,
    list_problems,
    list_readable_attachments,
    list_used_networks,
)
from ansible_collections.cni.node.plugins.plugin_utils._table import Row, lines

_HEADINGS: t.Final[Row] = ("NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "DRIFT", "TROUBLE")
_ATTACHMENT_HEADINGS: t.Final[Row] = ("NODE", "NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "PORTS", "DRIFT")
_ALL = "all"
_DRIFTED = "drifted"
# How many drifted attachments are listed.
_LIMIT = 20

_T = t.TypeVar("_T")


def node_table(
    nodes: object,
    attachments: str = _DRIFTED,
    *,
    failed: t.Sequence[str] = (),
    hostvars: t.Mapping[t.Any, t.Any] | None = None,
    steps: t.Mapping[str, str] | None = None,
) -> list[str]:
    if not isinstance(nodes, collections.abc.Mapping) or not all(
        isinstance(facts, collections.abc.Mapping) for facts in nodes.values()
    ):
        raise AnsibleFilterError("node_table: expected a dictionary of node names to results of cni.node.node_info")
    if attachments not in (_ALL, _DRIFTED):
        raise AnsibleFilterError(f"node_table: attachments: {attachments!r}; expected: {_ALL} or {_DRIFTED}")
    named = {str(name): facts for name, facts in nodes.items()}
    failures = {str(name): _find_failure(hostvars or {}, name, steps or {}) for name in failed}
    read = {**named, **{name: {} for name in failures if name not in named}}
    table = lines(_HEADINGS, [_make_row(name, _row, facts, failures.get(name, [])) for name, facts in read.items()])
    rows = [row for name, facts in named.items() for row in _make_row(name, _attachment_rows, facts, attachments)]
    limit = len(rows) if attachments == _ALL else _LIMIT
    more = [f"and {len(rows) - limit} more"] if len(rows) > limit else []
    return [*table, "", *lines(_ATTACHMENT_HEADINGS, rows[:limit]), *more] if rows else table


def _make_row(name: str, make: t.Callable[..., _T], *arguments: t.Any) -> _T:
    try:
        return make(name, *arguments)
    except (AttributeError, KeyError, TypeError) as exc:
        expected = "expected a dictionary of node names to results of cni.node.node_info"
        escaped_name = printable.line(name)
        raise AnsibleFilterError(f"node_table: the value of {escaped_name} has an unexpected form; {expected}") from exc


def _find_failure(hostvars: t.Mapping[t.Any, t.Any], name: str, steps: t.Mapping[str, str]) -> list[str]:
    """Return the step that failed on a node, in a few words; empty if it is none of the steps."""
    variables = hostvars.get(name, {})
    for variable, step in steps.items():
        result = variables.get(variable)
        if isinstance(result, collections.abc.Mapping) and _has_failed(result):
            return [_describe_unread(result)] if result.get("unreachable") else [f"failed at: {step}"]
    return []


def _has_failed(result: JsonMapping) -> bool:
    return bool(result.get("failed") or result.get("unreachable"))


def _describe_unread(result: JsonMapping) -> str:
    lines_of_reason = str(result.get("msg") or "").strip().splitlines()
    what = "not reached" if result.get("unreachable") else "not read"
    return ": ".join([what, *lines_of_reason[:1]])


def _row(name: str, facts: JsonMapping, failure: t.Sequence[str]) -> Row:
    unread = [_describe_unread(facts)] if _has_failed(facts) and "attachments" not in facts else []
    return (
        name,
        _plugins(facts),
        ",".join(network["name"] for network in list_used_networks(facts)) or "-",
        str(len(facts["attachments"])) if "attachments" in facts else "-",
        _drift(facts),
        ", ".join([*(failure or unread), *(problem.text for problem in list_problems(facts))]) or "-",
    )


def _plugins(facts: JsonMapping) -> str:
    releases = [release["version"] for release in facts.get("releases", ()) if release["current"]]
    if releases:
        return ",".join(releases)
    return f"{len(facts['plugins'])} found" if facts.get("plugins") else "-"


def _drift(facts: JsonMapping) -> str:
    live, drifted, unknown = count_drift(facts)
    counted = [str(drifted or "none")] if live > unknown else []
    return ", ".join([*counted, *([f"{unknown} unknown"] if unknown else [])]) or "-"


def _attachment_rows(name: str, facts: JsonMapping, which: str) -> list[Row]:
    return [
        (
            name,
            str(attachment["network"]),
            str(attachment["container_id"]),
            str(attachment["ifname"]),
            ",".join(attachment.get("addresses", ())) or "-",
            ",".join(attachment.get("ports", ())) or "-",
            "unknown" if attachment.get("drift") is None else "; ".join(attachment["drift"]) or "none",
        )
        for attachment in list_readable_attachments(facts)
        if which == _ALL or attachment.get("drift")
    ]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_table": node_table}
