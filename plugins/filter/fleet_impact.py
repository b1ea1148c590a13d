# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_impact

author:
  - cni.node contributors (@cni-node)

short_description: List the changes of attachments on all nodes, and what they interrupt

version_added: 1.0.0

description:
  - Combines results of M(cni.node.attachments) of several nodes. With results of check mode, it lists what a run would change.
  - Attachments that are unchanged or only checked are left out. So are nodes without a result.

positional: _input, hosts, result

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
  result:
    description:
      - The name of the variable with the result of M(cni.node.attachments).
    type: str
    required: true
  reasons:
    description:
      - Whether to return the reasons, which may contain messages of plugins.
    type: bool
    default: true

seealso:
  - module: cni.node.attachments
  - plugin: cni.node.node_table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Predict what would change
  cni.node.attachments:
    attachments: "{{ my_attachments }}"
  check_mode: true
  register: predicted

- name: Show what would change on all nodes
  cni.node.show:
    msg: "{{ (hostvars | cni.node.fleet_impact(ansible_play_hosts, 'predicted')).table }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The changes.
  type: dict
  contains:
    rows:
      description:
        - The attachments that change. C(node) is the host, and all other keys are those of RV(cni.node.attachments#module:attachments).
          C(reason) of an attachment that failed is its error, if there is no other. A space follows a brace with which a template
          would begin.
      type: list
      elements: dict
      sample:
        - node: one
          container_id: red
          ifname: eth0
          netns: /run/netns/red
          network: dbnet
          action: recreated
          reason: the network's configuration has changed
          interrupts:
            addresses:
              - 10.1.0.2
            ports:
              - 8080->80/tcp
    containers:
      description: The number of containers that are interrupted, each counted once.
      type: int
      sample: 1
    nodes:
      description: The nodes of these containers.
      type: list
      elements: str
      sample:
        - one
    summary:
      description: C(containers) and C(nodes) as text, with the first twenty nodes.
      type: str
      sample: "1 container on 1 node: one"
    table:
      description: The lines of a table of C(rows), followed by the summary.
      type: list
      elements: str
"""

import json
import re
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._base.table import Row, lines
from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_hosts

_HEADINGS: t.Final[Row] = ("NODE", "CONTAINER", "INTERFACE", "NETWORK", "ACTION", "INTERRUPTED", "PORTS", "WHY")
_KEYS = ("container_id", "ifname", "netns", "network", "action")
# A brace that begins a template. Outside of texts, JSON has no two such characters in a row.
_OPENING = re.compile(r"\{(?=[{%#])")
_NO_CHANGE = ("checked", "unchanged")
# How many nodes the summary names.
_LIMIT = 20


def fleet_impact(hostvars: object, hosts: object, result: str, *, reasons: bool = True) -> JsonObject:
    variables, names = require_hosts("fleet_impact", hostvars, hosts)
    rows = [row for host in names for row in _rows(host, variables.get(host), result, reasons=reasons)]
    interrupted = [row for row in rows if row["interrupts"] is not None]
    containers = len({(row["node"], row["container_id"]) for row in interrupted})
    nodes = list(dict.fromkeys(row["node"] for row in interrupted))
    summary = _summarize(containers, nodes)
    table = [*lines(_HEADINGS, map(_cells, rows)), ""] if rows else []
    return {
        "rows": rows,
        "containers": containers,
        "nodes": nodes,
        "summary": summary,
        "table": [*table, f"interrupted: {summary}"],
    }


def _rows(node: str, variables: t.Any, name: str, *, reasons: bool) -> list[JsonObject]:
    try:
        attachments = ((variables or {}).get(name) or {}).get("attachments") or ()
        return [_row(node, entry, reasons=reasons) for entry in attachments if entry["action"] not in _NO_CHANGE]
    except (AttributeError, KeyError, TypeError) as exc:
        expected = "expected a result of cni.node.attachments"
        where = f"{printable.line(str(name))} of {printable.line(node)}"
        raise AnsibleFilterError(f"fleet_impact: {where} has an unexpected form; {expected}") from exc


def _row(node: str, entry: JsonMapping, *, reasons: bool) -> JsonObject:
    reason = entry["reason"] or (entry["error"] or {}).get("msg", "")
    lost = entry["interrupts"]
    row = {
        "node": node,
        **{key: str(entry[key]) for key in _KEYS},
        "reason": str(reason) if reasons else "",
        "interrupts": lost if lost is None else {key: list(map(str, lost[key])) for key in ("addresses", "ports")},
    }
    # Before ansible-core 2.19, set_stats evaluates what looks like a template, such as the name of a container's interface.
    return t.cast("JsonObject", json.loads(_OPENING.sub("{ ", json.dumps(row))))


def _cells(row: JsonMapping) -> Row:
    lost = row["interrupts"]
    connections = f"connections of {', '.join(lost['addresses'] or [row['ifname']])}" if lost else "nothing"
    ports = ", ".join(lost["ports"]) if lost else ""
    names = (str(row[key]) for key in ("node", "container_id", "ifname", "network", "action"))
    return (*names, connections, ports or "-", row["reason"] or "-")


def _summarize(containers: int, nodes: t.Sequence[str]) -> str:
    if not nodes:
        return "no container"
    names = printable.shorten([printable.line(node) for node in nodes], _LIMIT)
    return f"{quantity(containers, 'container')} on {quantity(len(nodes), 'node')}: {names}"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"fleet_impact": fleet_impact}
