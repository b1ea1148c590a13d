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

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import (
    ALL,
    DRIFTED,
    describe_unread,
    format_nodes,
    has_failed,
)

_EXPECTED = "expected a dictionary of node names to results of cni.node.node_info"


def node_table(
    nodes: object,
    attachments: str = DRIFTED,
    *,
    failed: t.Sequence[str] = (),
    hostvars: t.Mapping[t.Any, t.Any] | None = None,
    steps: t.Mapping[str, str] | None = None,
) -> list[str]:
    if not isinstance(nodes, collections.abc.Mapping) or not all(
        isinstance(facts, collections.abc.Mapping) for facts in nodes.values()
    ):
        raise AnsibleFilterError(f"node_table: {_EXPECTED}")
    if attachments not in (ALL, DRIFTED):
        raise AnsibleFilterError(f"node_table: attachments: {attachments!r}; expected: {ALL} or {DRIFTED}")
    named = {str(name): facts for name, facts in nodes.items()}
    failures = {str(name): _find_failure(hostvars or {}, name, steps or {}) for name in failed}
    try:
        return format_nodes(named, attachments, failures)
    except CniError as exc:
        raise AnsibleFilterError(f"node_table: {exc}; {_EXPECTED}") from exc


def _find_failure(hostvars: t.Mapping[t.Any, t.Any], name: str, steps: t.Mapping[str, str]) -> list[str]:
    """Return the step that failed on a node, in a few words; empty if it is none of the steps."""
    variables = hostvars.get(name, {})
    for variable, step in steps.items():
        result = variables.get(variable)
        if isinstance(result, collections.abc.Mapping) and has_failed(result):
            return [describe_unread(result)] if result.get("unreachable") else [f"failed at: {step}"]
    return []


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_table": node_table}
