# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_subnets

short_description: Cut a subnet for each node out of one range

version_added: 1.0.0

description:
  - Gives each host a subnet of its own, the same one whatever other hosts come and go.
  - A host that has one keeps it. Any other gets the one that its name leads to, or the next that is free.
  - Where two names lead to one subnet, which host gets it depends on the other hosts. Keep what was given out, and hand it in
    again as O(assigned), and no host ever moves.

positional: _input, hosts, prefix

options:
  _input:
    description:
      - The range, of IPv4 or of IPv6.
    type: str
    required: true
  hosts:
    description:
      - Names of the hosts. Their order does not matter.
    type: list
    elements: str
    required: true
  prefix:
    description:
      - Length of the prefix of each host's subnet.
    type: int
    required: true
  assigned:
    description:
      - Subnets that hosts have from before, by their names.
      - What is assigned to a host that is not in O(hosts) is given to no other.
    type: dict
    default: {}

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Give each node a subnet, and leave to each what it has
  ansible.builtin.set_fact:
    subnets: "{{ '10.244.0.0/16' | cni.node.node_subnets(groups['nodes'], 24, assigned=known_subnets | default({})) }}"

- name: Write each node's network
  cni.node.conflists:
    conflists:
      - template: pods.conflist.j2
        vars:
          subnet: "{{ subnets[inventory_hostname] }}"
"""

RETURN = r"""
_value:
  description:
    - The subnet of each host, by its name.
  type: dict
  sample:
    node-1: 10.244.87.0/24
    node-2: 10.244.3.0/24
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._node_subnets import node_subnets as cut


def node_subnets(cluster: object, hosts: object, prefix: object, assigned: object = None) -> dict[str, str]:
    if not isinstance(hosts, (list, tuple)) or not all(isinstance(host, str) for host in hosts):
        raise AnsibleFilterError(f"node_subnets: hosts: {hosts!r}; expected: a list of names")
    known = {} if assigned is None else assigned
    if not isinstance(known, collections.abc.Mapping):
        raise AnsibleFilterError(f"node_subnets: assigned: {assigned!r}; expected: subnets by the names of hosts")
    try:
        length = int(str(prefix))
    except ValueError:
        raise AnsibleFilterError(f"node_subnets: prefix: {prefix!r}; expected: a number") from None
    try:
        return cut(str(cluster), hosts, length, {str(host): str(subnet) for host, subnet in known.items()})
    except CniError as exc:
        raise AnsibleFilterError(f"node_subnets: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_subnets": node_subnets}
