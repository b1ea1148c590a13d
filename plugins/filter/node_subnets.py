# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_subnets

short_description: Cut a subnet for each node out of one range

version_added: 1.0.0

description:
  - Gives each host a part of a range of its own, the same one whatever other hosts come and go. A part is a subnet, or with
    O(shared) a range of addresses of one subnet that all hosts are on.
  - A host that has one keeps it. Any other gets the one that its name leads to, or the next that is free.
  - Where two names lead to one part, which host gets it depends on the other hosts. Keep what was given out, in O(file) or by
    handing it in again as O(assigned), and no host ever moves.

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
      - Length of the prefix of each host's part. With O(shared), V(28) is 16 addresses of IPv4 for each host.
    type: int
    required: true
  assigned:
    description:
      - What hosts have from before, by their names, as this filter returned it. It comes before what O(file) has.
      - What is assigned to a host that is not in O(hosts) is given to no other.
    type: dict
    default: {}
  shared:
    description:
      - Whether all hosts are on one link and have the whole range for their subnet, as with C(macvlan) or C(ipvlan) on a LAN. Each
        host gets addresses of its own to give out, for C(host-local) on each host knows of no other host's leases.
    type: bool
    default: false
  reserved:
    description:
      - Addresses, networks, and spans such as V(192.168.1.1-192.168.1.49) that are used otherwise, as by routers, by the hosts
        themselves or by a DHCP server. A part that has one of them is given to no host.
    type: list
    elements: str
    default: []
  file:
    description:
      - An absolute path on the controller. What hosts get is kept there and read again, so that no host moves when others are added or
        removed, and a host that comes back has what it had. Beside the inventory is a good place, and under version control.
      - It is JSON, and one file does for any number of ranges. An entry stays until it is deleted by hand, for which the host has to
        be without attachments.
      - It is written only when a host gets something new, all at once, and by one run at a time. Hosts never see it.
    type: path
  save:
    description:
      - Whether O(file) is written. C(not ansible_check_mode) leaves it alone in check mode, and what is returned is the same.
    type: bool
    default: true

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Give each node a subnet, and leave to each what it has
  ansible.builtin.set_fact:
    subnets: "{{ '10.244.0.0/16' | cni.node.node_subnets(groups['nodes'], 24, file=inventory_dir ~ '/cni_node_subnets.json') }}"
  run_once: true

- name: Write each node's network
  cni.node.conflists:
    conflists:
      - template: pods.conflist.j2
        vars:
          subnet: "{{ subnets[inventory_hostname] }}"

- name: Give each node on a LAN addresses of its own
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
    - The subnet of each host, by its name. With O(shared), an object with C(subnet), C(rangeStart) and C(rangeEnd), which
      C(ranges) of C(host-local) takes as it is.
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
from ansible_collections.cni.node.plugins.plugin_utils._assignments_file import AssignmentsFile
from ansible_collections.cni.node.plugins.plugin_utils._node_subnets import cut_of
from ansible_collections.cni.node.plugins.plugin_utils._node_subnets import node_subnets as parts_of


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
    names = _names(hosts, "hosts")
    known = {} if assigned is None else assigned
    if not isinstance(known, collections.abc.Mapping):
        raise AnsibleFilterError(f"node_subnets: assigned: {assigned!r}; expected: subnets by the names of hosts")
    try:
        length = int(str(prefix))
    except ValueError:
        raise AnsibleFilterError(f"node_subnets: prefix: {prefix!r}; expected: a number") from None
    own = {str(host): part for host, part in known.items()}
    try:
        cut = cut_of(str(cluster), length, shared=_flag(shared, "shared"), reserved=_names(reserved or [], "reserved"))
        if file:
            parts = AssignmentsFile(str(file)).update(
                str(cut.whole), lambda kept: parts_of(cut, names, {**kept, **own}), save=_flag(save, "save")
            )
        else:
            parts = parts_of(cut, names, own)
        return {host: cut.range_of(part) if cut.shared else part for host, part in parts.items()}
    except CniError as exc:
        raise AnsibleFilterError(f"node_subnets: {exc}") from None


def _names(value: object, what: str) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise AnsibleFilterError(f"node_subnets: {what}: {value!r}; expected: a list of names")
    return [str(one) for one in value]


def _flag(value: object, what: str) -> bool:
    try:
        return bool(boolean(value))
    except TypeError:
        raise AnsibleFilterError(f"node_subnets: {what}: {value!r}; expected: true or false") from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_subnets": node_subnets}
