# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: conflist_findings

short_description: Find what is wrong with CNI network configurations

version_added: 1.0.0

description:
  - Validates network configurations on the controller, before a node depends on them, and returns all findings at once.
  - Needs no node.

positional: _input

options:
  _input:
    description:
      - The network configuration, as data or as JSON text, or a list of those.
      - With O(files=true), the path of its file on the controller, or a list of those.
    type: raw
    required: true
  levels:
    description:
      - What is looked at.
      - V(schema) compares each key and value with the schemas of the network, of the reference plugins and of well-known
        other ones.
      - V(specification) holds names, versions and reserved keys against the CNI specification.
      - V(consistency) looks for what is well formed and cannot work, such as a gateway outside its subnet, ranges and networks that
        overlap, or plugins in a wrong order.
      - Text that is no JSON is found at any level.
    type: list
    elements: str
    choices:
      - schema
      - specification
      - consistency
    default:
      - schema
      - specification
      - consistency
  files:
    description:
      - Whether the input is paths of files. Files of one directory are taken for those of one node.
    type: bool
    default: false
  attachments:
    description:
      - Attachments as O(cni.node.attachments#module:attachments) has them, to check their capability arguments and
        arguments for C(args.cni) as well; a list, or with O(by_host=true) a dictionary of lists.
    type: raw

  by_host:
    description:
      - Whether the input is a dictionary with the networks of each host by its name, and O(attachments) likewise the attachments. What
        is found on several hosts is returned once, with C(hosts), the names of the hosts.
    type: bool
    default: false

requirements:
  - jsonschema >= 4.17 on the controller, for the level V(schema)

seealso:
  - plugin: cni.node.host_findings
    plugin_type: filter
  - plugin: cni.node.valid_conflist
    plugin_type: test
  - module: cni.node.conflists

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Show what is wrong with the networks in the variables of hosts, without asking any
  ansible.builtin.debug:
    msg: "{{ dict(groups['nodes'] | zip(groups['nodes'] | map('extract', hostvars, 'networks'))) | cni.node.conflist_findings(by_host=true) }}"

- name: Show what is wrong with the files of a repository
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.fileglob', 'net.d/*.conflist') | cni.node.conflist_findings(files=true) }}"

- name: Stop before a node is asked for anything
  ansible.builtin.assert:
    that: (networks | cni.node.conflist_findings | selectattr('severity', 'eq', 'error')) == []
"""

RETURN = r"""
_value:
  description:
    - The findings; an empty list where nothing is wrong.
  type: list
  elements: dict
  contains:
    level:
      description: Which level has found it.
      type: str
      choices:
        - schema
        - specification
        - consistency
    severity:
      description: V(error) stops, V(warning) is to be seen.
      type: str
      choices:
        - error
        - warning
    code:
      description: What kind of finding it is. Codes do not change.
      type: str
      sample: misspelled-key
    file:
      description: The file, or V(conflists[0]) and so on for what is not one.
      type: str
      sample: net.d/10-dbnet.conflist
    line:
      description: The line of the text, V(none) where there is none.
      type: int
      sample: 7
    plugin:
      description: C(index) and C(type) of the plugin that it is about, V(none) where it is about the network.
      type: dict
      sample:
        index: 0
        type: bridge
    path:
      description: JSON pointer of the place.
      type: str
      sample: /plugins/0/isGatway
    value:
      description: What is there; long values are cut.
      type: raw
      sample: true
    message:
      description: What is wrong.
      type: str
      sample: the key 'isGatway' is unknown to bridge of release 1.9.1
    hint:
      description: What was expected, or what to do.
      type: str
      sample: did you mean isGateway?
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet.hosts import merge_by_host
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import findings, findings_by_host


def conflist_findings(
    conflists: object,
    levels: object = None,
    files: bool = False,
    attachments: object = None,
    by_host: bool = False,
) -> list[dict[str, t.Any]]:
    try:
        if by_host:
            return merge_by_host(findings_by_host(conflists, levels, files=files, attachments=attachments))
        found = findings(conflists, levels, files=files, attachments=attachments)
    except CniError as exc:
        raise AnsibleFilterError(f"conflist_findings: {exc}") from exc
    return [finding.as_dict() for finding in found]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"conflist_findings": conflist_findings}
