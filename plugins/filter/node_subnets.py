# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_subnets

short_description: Divide an address range into subnets for nodes

version_added: 1.0.0

description:
  - Assigns each host its own part of an address range. A part is a subnet, or with O(shared) a range of addresses in a subnet
    that all hosts share.
  - A host with a part keeps it. For a new host, a hash of its name selects the part. If that is taken, the next free part is used.
  - When the hashes of two names select the same part, the assignment depends on the other hosts. Store assignments in O(file), or
    pass them as O(assigned), so that they never change.

positional: _input, hosts, prefix

options:
  _input:
    description:
      - The IPv4 or IPv6 network to divide.
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
      - Prefix length of each host's part. With O(shared), V(28) means 16 IPv4 addresses for each host.
    type: int
    required: true
  assigned:
    description:
      - Existing assignments, in the form that this filter returns. They override those in O(file).
      - Parts that are assigned to hosts missing in O(hosts) are not reused.
    type: dict
    default: {}
  shared:
    description:
      - Whether all hosts are on one link and share the range as their subnet, as with C(macvlan) or C(ipvlan) on a LAN. Each
        host gets its own addresses, because C(host-local) does not know the leases of other hosts.
    type: bool
    default: false
  reserved:
    description:
      - Addresses, networks, and ranges such as V(192.168.1.1-192.168.1.49) that are in use, for example by routers, the hosts
        themselves or a DHCP server. Parts that contain one of them are not assigned.
    type: list
    elements: str
    default: []
  file:
    description:
      - Absolute path of a JSON file on the controller that stores the assignments. Hosts then keep their parts when others are added
        or removed, and a host that returns gets its former part. Keep the file beside the inventory, under version control.
      - One file can store any number of ranges. To free a part, remove the host's attachments and delete its entry by hand.
      - The file is replaced atomically, under a lock, and only when there is a new assignment. It is not copied to hosts.
    type: path
  save:
    description:
      - Whether to write O(file). Set it to C(not ansible_check_mode) to leave the file unchanged in check mode. The returned value is
        the same.
    type: bool
    default: true

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Assign a subnet to each node, and keep existing assignments
  ansible.builtin.set_fact:
    subnets: "{{ '10.244.0.0/16' | cni.node.node_subnets(groups['nodes'], 24, file=inventory_dir ~ '/cni_node_subnets.json') }}"
  run_once: true

- name: Write each node's network
  cni.node.conflists:
    conflists:
      - template: pods.conflist.j2
        vars:
          subnet: "{{ subnets[inventory_hostname] }}"

- name: Assign separate addresses to each node on a LAN
  cni.node.conflists:
    conflists:
      - config:
          cniVersion: 1.0.0
          name: lan
          plugins:
            - type: macvlan
              master: eth0
              ipam:
                type: host-local
                ranges:
                  - - "{{ ranges[inventory_hostname] }}"
  vars:
    ranges: >-
      {{ '192.168.1.0/24' | cni.node.node_subnets(groups['nodes'], 28, shared=true, reserved=['192.168.1.1-192.168.1.99'],
         file=inventory_dir ~ '/cni_node_subnets.json', save=not ansible_check_mode) }}
"""

RETURN = r"""
_value:
  description:
    - The subnet of each host, by host name. With O(shared), an object with C(subnet), C(rangeStart) and C(rangeEnd), which
      can be used in C(ranges) of C(host-local).
  type: dict
  sample:
    node-1: 10.244.87.0/24
    node-2: 10.244.3.0/24
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_names


def node_subnets(
    cluster: object,
    hosts: object,
    prefix: object,
    assigned: object = None,
    *,
    shared: object = False,
    reserved: object = None,
    file: object = None,
    save: object = True,
) -> dict[str, t.Any]:
    # Ansible compiles what the filters import in each run; this is for this filter only.
    from ansible_collections.cni.node.plugins.plugin_utils._assignments_file import AssignmentsFile
    from ansible_collections.cni.node.plugins.plugin_utils._node_subnets import make_partition
    from ansible_collections.cni.node.plugins.plugin_utils._node_subnets import node_subnets as parts_of

    names = require_names("node_subnets", "hosts", hosts)
    taken = require_names("node_subnets", "reserved", reserved or [])
    known = {} if assigned is None else assigned
    if not isinstance(known, collections.abc.Mapping):
        raise AnsibleFilterError(
            f"node_subnets: assigned: {assigned!r}; expected: a dictionary of host names to subnets"
        )
    try:
        length = int(str(prefix))
    except ValueError:
        raise AnsibleFilterError(f"node_subnets: prefix: {prefix!r}; expected: a number") from None
    own = {str(host): part for host, part in known.items()}
    try:
        partition = make_partition(str(cluster), length, shared=_flag(shared, "shared"), reserved=taken)
        if file:
            parts = AssignmentsFile(str(file)).update(
                str(partition.full_range),
                lambda stored: parts_of(partition, names, {**stored, **own}),
                save=_flag(save, "save"),
            )
        else:
            parts = parts_of(partition, names, own)
        return {host: partition.make_range(part) if partition.shared else part for host, part in parts.items()}
    except CniError as exc:
        raise AnsibleFilterError(f"node_subnets: {exc}") from None


def _flag(value: object, what: str) -> bool:
    try:
        return bool(boolean(value))
    except TypeError:
        raise AnsibleFilterError(f"node_subnets: {what}: {value!r}; expected: true or false") from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_subnets": node_subnets}
