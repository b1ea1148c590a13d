# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_findings

short_description: Find conflicts between the CNI networks and plugins of several nodes

version_added: 1.0.0

description:
  - Compares the network configurations and the plugins of nodes with each other. To validate a single configuration, use
    P(cni.node.conflist_findings#filter).
  - A network with the same addresses on all nodes is considered local to each node. Any other network is considered divided
    among the nodes, so that two nodes must not assign the same address.

positional: _input

options:
  _input:
    description:
      - A dictionary of node names to network configurations, as data or as JSON text.
    type: dict
    required: true
  node_info:
    description:
      - A dictionary of node names to results of M(cni.node.node_info).
      - Releases in the same directory are compared, and the versions of the specification that plugins of the same name support.
    type: dict

seealso:
  - module: cni.node.node_info
  - plugin: cni.node.conflist_findings
    plugin_type: filter
  - plugin: cni.node.node_subnets
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Read a network's file on every node
  ansible.builtin.slurp:
    src: /etc/cni/net.d/10-pods.conflist
  register: pods

- name: Fail if two nodes assign the same address
  ansible.builtin.assert:
    that: (networks | cni.node.fleet_findings | selectattr('severity', 'eq', 'error')) == []
  vars:
    networks: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, ['pods', 'content']) | map('b64decode'))) }}"
  run_once: true

- name: Read the plugins of every node
  cni.node.node_info:
    gather:
      - plugins
      - releases
  register: facts

- name: Fail if the plugins of nodes differ
  ansible.builtin.assert:
    that: ({} | cni.node.fleet_findings(node_info=nodes)) == []
  vars:
    nodes: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'facts'))) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The findings in the form of P(cni.node.conflist_findings#filter). C(level) is V(fleet), or V(schema) for configurations that
      cannot be read. C(file) begins with the node's name.
    - Ranges of one network that overlap are one finding, whose place is the second of their nodes, and which has all their names as
      C(nodes). The message has the first eight.
  type: list
  elements: dict
  sample:
    - level: fleet
      severity: error
      code: node-subnets-collide
      file: "node-2: conflists[0]"
      line:
      plugin:
        index: 0
        type: ptp
      path: /plugins/0/ipam
      value:
      message: >-
        10.1.0.1 to 10.1.0.254 of the network 'pods' is on 2 nodes: node-1 and node-2 (conflists[0])
      hint: each node assigns addresses independently; divide the range with the filter cni.node.node_subnets
      nodes: [node-1, node-2]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs


def fleet_findings(nodes: object, node_info: object = None) -> list[dict[str, t.Any]]:
    try:
        return [finding.as_dict() for finding in inputs.fleet_findings(nodes, node_info)]
    except CniError as exc:
        raise AnsibleFilterError(f"fleet_findings: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"fleet_findings": fleet_findings}
