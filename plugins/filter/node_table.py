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
  - Returns the lines of a table of nodes, from what M(cni.node.node_info) returns, followed by a table of their attachments.

positional: _input

options:
  _input:
    description:
      - A dictionary of node names to results of M(cni.node.node_info). Parts that were not gathered are shown as C(-).
    type: dict
    required: true
  attachments:
    description:
      - The attachments to list with their addresses, their mapped ports of the node, and their drift.
      - V(drifted) lists the first twenty attachments that have drifted.
    type: str
    choices: [all, drifted]
    default: drifted

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
      unknown. C(TROUBLE) lists the problems in the gathered parts.
    - If there are attachments to list, an empty line, a heading, and one line for each attachment.
  type: list
  elements: str
"""

import collections
import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.printable import plural, quantity
from ansible_collections.cni.node.plugins.plugin_utils._table import Row, lines

_Facts = collections.abc.Mapping[str, t.Any]

_HEADINGS: t.Final[Row] = ("NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "DRIFT", "TROUBLE")
_OF_ATTACHMENTS: t.Final[Row] = ("NODE", "NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "PORTS", "DRIFT")
_ALL: t.Final = "all"
_DRIFTED: t.Final = "drifted"
# Lines of a table that people still read.
_MOST: t.Final = 20

_T = t.TypeVar("_T")


def node_table(nodes: object, attachments: str = _DRIFTED) -> list[str]:
    if not isinstance(nodes, collections.abc.Mapping) or not all(
        isinstance(facts, collections.abc.Mapping) for facts in nodes.values()
    ):
        raise AnsibleFilterError("node_table: expected a dictionary of what cni.node.node_info returned, by node")
    if attachments not in (_ALL, _DRIFTED):
        raise AnsibleFilterError(f"node_table: attachments: {attachments!r}; expected: {_ALL} or {_DRIFTED}")
    named = {str(name): facts for name, facts in nodes.items()}
    table = lines(_HEADINGS, [_make_row(name, _row, facts) for name, facts in named.items()])
    rows = [row for name, facts in named.items() for row in _make_row(name, _attachment_rows, facts, attachments)]
    most = len(rows) if attachments == _ALL else _MOST
    more = [f"and {len(rows) - most} more"] if len(rows) > most else []
    return [*table, "", *lines(_OF_ATTACHMENTS, rows[:most]), *more] if rows else table


def _make_row(name: str, make: t.Callable[..., _T], *arguments: t.Any) -> _T:
    try:
        return make(name, *arguments)
    except (AttributeError, KeyError, TypeError) as exc:
        expected = "expected a dictionary of what cni.node.node_info returned, by node"
        shown = printable.line(name)
        raise AnsibleFilterError(f"node_table: the value of {shown} has an unexpected form; {expected}") from exc


def _row(name: str, facts: _Facts) -> Row:
    networks = [one["name"] for one in facts.get("networks", ()) if not one.get("error") and not one["shadowed"]]
    return (
        name,
        _plugins(facts),
        ",".join(networks) or "-",
        str(len(facts["attachments"])) if "attachments" in facts else "-",
        _drift(facts),
        ", ".join(_troubles(facts)) or "-",
    )


def _plugins(facts: _Facts) -> str:
    releases = [one["version"] for one in facts.get("releases", ()) if one["current"]]
    if releases:
        return ",".join(releases)
    return f"{len(facts['plugins'])} found" if facts.get("plugins") else "-"


def _drift(facts: _Facts) -> str:
    there = [
        one
        for one in _readable_attachments(facts)
        if one["netns_state"] in ("present", "unknown") and not one["interrupted"]
    ]
    unknown = sum(one.get("drift") is None for one in there)
    drifted = sum(bool(one.get("drift")) for one in there)
    counted = [str(drifted or "none")] if len(there) > unknown else []
    return ", ".join([*counted, *([f"{unknown} unknown"] if unknown else [])]) or "-"


def _attachment_rows(name: str, facts: _Facts, which: str) -> list[Row]:
    shown = [one for one in _readable_attachments(facts) if which == _ALL or one.get("drift")]
    return [
        (
            name,
            str(one["network"]),
            str(one["container_id"]),
            str(one["ifname"]),
            ",".join(one.get("addresses", ())) or "-",
            ",".join(one.get("ports", ())) or "-",
            "unknown" if one.get("drift") is None else "; ".join(one["drift"]) or "none",
        )
        for one in shown
    ]


def _readable_attachments(facts: _Facts) -> list[_Facts]:
    return [one for one in facts.get("attachments", ()) if not one.get("error")]


def _troubles(facts: _Facts) -> t.Iterator[str]:
    missing = _missing_plugins(facts)
    if missing:
        yield f"{plural('plugin', len(missing))} missing: {' '.join(missing)}"
    not_ready = _not_ready(facts)
    if not_ready:
        yield f"{plural('network', len(not_ready))} not ready: {' '.join(not_ready)}"
    for kind in ("plugin", "network", "attachment"):
        broken = [one for one in facts.get(f"{kind}s", ()) if one.get("error")]
        if broken:
            yield f"{quantity(len(broken), kind)} broken"
    for what, count in collections.Counter(
        trouble for one in _readable_attachments(facts) for trouble in _of_attachment(one)
    ).items():
        yield f"{count} {what.replace('attachment', plural('attachment', count))}"


def _not_ready(facts: _Facts) -> list[str]:
    return sorted(one["network"] for one in facts.get("status", ()) if one.get("error"))


def _missing_plugins(facts: _Facts) -> list[str]:
    of_releases = {name for one in facts.get("releases", ()) for name in one.get("missing", ())}
    return sorted(of_releases.union(*(one.get("missing_plugins", ()) for one in facts.get("networks", ()))))


def _of_attachment(attachment: _Facts) -> t.Iterator[str]:
    if attachment.get("drift"):
        yield "attachment drifted"
    if attachment["netns_state"] not in ("present", "unknown"):
        yield f"netns {attachment['netns_state']}"
    if attachment["network_state"] not in ("same", "unknown"):
        yield f"attachment of a {'removed' if attachment['network_state'] == 'gone' else 'changed'} network"
    if attachment["interrupted"]:
        yield f"{attachment['interrupted']} interrupted"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_table": node_table}
