# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_table

author:
  - cni.node contributors (@cni-node)

short_description: Show what nodes have as a table

version_added: 1.0.0

description:
  - Turns what M(cni.node.node_info) returns for several nodes into the lines of a table.

positional: _input

options:
  _input:
    description:
      - Of each node, by its name, what M(cni.node.node_info) returned. Parts that were not gathered are shown as C(-).
    type: dict
    required: true

seealso:
  - module: cni.node.node_info
  - plugin: cni.node.attachment_table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at every node
  cni.node.node_info:
  register: node

- name: Show what each has
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'node'))) | cni.node.node_table }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A line of headings, then one line for each node.
  type: list
  elements: str
"""

import collections
import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils._table import Row, lines

_Facts = collections.abc.Mapping[str, t.Any]

_HEADINGS: t.Final[Row] = ("NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "TROUBLE")


def node_table(nodes: object) -> list[str]:
    if not isinstance(nodes, collections.abc.Mapping) or not all(
        isinstance(facts, collections.abc.Mapping) for facts in nodes.values()
    ):
        raise AnsibleFilterError("node_table: expected a dictionary of what cni.node.node_info returned, by node")
    return lines(_HEADINGS, (_row_of(str(name), facts) for name, facts in nodes.items()))


def _row_of(name: str, facts: _Facts) -> Row:
    try:
        return _row(name, facts)
    except (AttributeError, KeyError, TypeError) as exc:
        expected = "expected a dictionary of what cni.node.node_info returned, by node"
        raise AnsibleFilterError(f"node_table: what {name} has is of another form; {expected}") from exc


def _row(name: str, facts: _Facts) -> Row:
    networks = [one["name"] for one in facts.get("networks", ()) if not one.get("error") and not one["shadowed"]]
    return (
        name,
        _plugins(facts),
        ",".join(networks) or "-",
        str(len(facts["attachments"])) if "attachments" in facts else "-",
        ", ".join(_troubles(facts)) or "-",
    )


def _plugins(facts: _Facts) -> str:
    releases = [one["version"] for one in facts.get("releases", ()) if one["current"]]
    if releases:
        return ",".join(releases)
    return f"{len(facts['plugins'])} found" if facts.get("plugins") else "-"


def _troubles(facts: _Facts) -> t.Iterator[str]:
    for kind in ("plugins", "networks", "attachments"):
        broken = [one for one in facts.get(kind, ()) if one.get("error")]
        if broken:
            yield f"{len(broken)} {kind} broken"
    recorded = [one for one in facts.get("attachments", ()) if not one.get("error")]
    for what, count in collections.Counter(trouble for one in recorded for trouble in _of_attachment(one)).items():
        yield f"{count} {what}"


def _of_attachment(attachment: _Facts) -> t.Iterator[str]:
    if attachment["netns_state"] not in ("present", "unknown"):
        yield f"netns {attachment['netns_state']}"
    if attachment["network_state"] not in ("same", "unknown"):
        yield f"network {attachment['network_state']}"
    if attachment["interrupted"]:
        yield f"{attachment['interrupted']} interrupted"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_table": node_table}
