# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: play_findings

short_description: Validate the variables of the role cni_node

version_added: 1.0.0

description:
  - Validates the variables C(cni_node_*) of all hosts of a play, and compares the networks in C(cni_node_conflists) with those of
    the other nodes as P(cni.node.fleet_findings#filter) does. No node is contacted.
  - A finding that several hosts share is returned once. It begins with their names, unless all hosts share it.
  - Networks are compared if they are given as C(config) in variables of the inventory or of the command line.

positional: _input, hosts

options:
  _input:
    description:
      - A dictionary of host names to variables, such as C(hostvars).
    type: dict
    required: true
  hosts:
    description:
      - The hosts whose variables are validated.
    type: list
    elements: str
    required: true
  nodes:
    description:
      - Other hosts whose networks are compared, such as those that C(--limit) excludes.
    type: list
    elements: str
    default: []
  compared:
    description:
      - Whether to compare the networks of the nodes. This is not necessary before networks are removed.
    type: bool
    default: true
  given:
    description:
      - Variables of the task, such as those of the play. They are used where a host does not define its own.
    type: dict
    default: {}
  given_on:
    description:
      - The host whose task it is, V(inventory_hostname). What O(given) has instead of a variable of this host is a variable of the play,
        so that the variables of all other hosts of the play do not count.
    type: str
  names:
    description:
      - Names of variables of the task. Unknown names that begin with C(cni_node_) are errors.
    type: list
    elements: str
    default: []

seealso:
  - plugin: cni.node.fleet_findings
    plugin_type: filter
  - plugin: cni.node.validation_report
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Fail if two nodes assign the same addresses
  ansible.builtin.assert:
    that: (hostvars | cni.node.play_findings(ansible_play_hosts_all, nodes=groups['nodes'])).errors == []
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - Lists of messages, as C(errors) and C(warnings).
  type: dict
  sample:
    errors:
      - >-
        10.1.0.1 to 10.1.0.254 of the network 'lan' is on 2 nodes: one and two (conflists[0]); each node assigns addresses
        independently; divide the range with the filter cni.node.node_subnets (node-subnets-collide)
    warnings: []
"""

import collections.abc
import multiprocessing
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_hosts, require_names
from ansible_collections.cni.node.plugins.plugin_utils._play_variables import PlayVariables, are_equal

Findings = dict[str, list[str]]


class _Kept(t.NamedTuple):
    """The findings for some arguments."""

    hostvars: object
    others: tuple[object, ...]
    findings: Findings

    def is_for(self, hostvars: object, others: tuple[object, ...]) -> bool:
        return self.hostvars is hostvars and are_equal(self.others, others)


# Ansible runs a task in a process of its own, and evaluates its arguments there one by one. The nodes are looked at for the first.
_kept: list[_Kept] = []


def play_findings(
    hostvars: object,
    hosts: object,
    nodes: object = None,
    given: object = None,
    names: object = None,
    *,
    given_on: str = "",
    compared: bool = True,
) -> Findings:
    variables_of, play_hosts = require_hosts("play_findings", hostvars, hosts)
    other_nodes = require_names("play_findings", "nodes", nodes or [])
    if given is not None and not isinstance(given, collections.abc.Mapping):
        raise AnsibleFilterError("play_findings: given: expected a dictionary of variables")
    others = (play_hosts, other_nodes, given, given_on, names, compared)
    for kept in _kept:
        if kept.is_for(hostvars, others):
            return kept.findings
    task_names = dict.fromkeys(require_names("play_findings", "names", names or []))
    variables = PlayVariables(variables_of, play_hosts, {**task_names, **(given or {})}, str(given_on))
    errors = variables.errors()
    colliding, warnings = variables.collisions(sorted({*play_hosts, *other_nodes})) if compared else ([], [])
    findings = {"errors": errors or colliding, "warnings": warnings}
    if multiprocessing.parent_process() is not None:
        _kept[:] = [_Kept(hostvars, others, findings)]
    return findings


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"play_findings": play_findings}
