# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: conflist_findings

short_description: Validate CNI network configurations

version_added: 1.0.0

description:
  - Validates network configurations on the controller and returns all findings at once. No node is contacted.

positional: _input

options:
  _input:
    description:
      - A network configuration, as data or as JSON text, or a list of network configurations.
      - With O(files=true), the path of a file on the controller, or a list of paths.
    type: raw
    required: true
  levels:
    description:
      - The checks to make.
      - V(schema) compares keys and values with the schemas of network configurations, the reference plugins and other
        well-known plugins.
      - V(specification) checks names, versions and reserved keys against the CNI specification.
      - V(consistency) finds values that contradict each other, such as a gateway outside its subnet, overlapping ranges and
        networks, or plugins in the wrong order.
      - Invalid JSON is found at every level.
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
      - Read the input as paths of files. Files in the same directory are validated together, as those of one node.
      - Files C(.yaml) and C(.yml), and JSON files with C(apiVersion) and C(kind), contain manifests. The network configurations
        in C(spec.config) of each C(NetworkAttachmentDefinition) are validated. Documents of other kinds are skipped.
    type: bool
    default: false
  attachments:
    description:
      - Attachments in the form of O(cni.node.attachments#module:attachments), whose capability arguments and arguments for
        C(args.cni) are checked as well. A list, or with O(by_host=true) a dictionary of lists.
    type: raw

  by_host:
    description:
      - Read the input and O(attachments) as dictionaries of host names to lists. A finding that several hosts share is returned
        once, with their names as C(hosts).
    type: bool
    default: false

requirements:
  - jsonschema >= 4.17 on the controller, for the level V(schema)

seealso:
  - plugin: cni.node.validation_report
    plugin_type: filter
  - plugin: cni.node.valid_conflist
    plugin_type: test
  - module: cni.node.conflists

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Validate the networks in the variables of hosts without contacting the hosts
  ansible.builtin.debug:
    msg: "{{ dict(groups['nodes'] | zip(groups['nodes'] | map('extract', hostvars, 'networks'))) | cni.node.conflist_findings(by_host=true) }}"

- name: Validate the files of a repository
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.fileglob', 'net.d/*.conflist') | cni.node.conflist_findings(files=true) }}"

- name: Validate the manifests of a repository, which contain networks of Multus
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.fileglob', 'manifests/*.yaml') | cni.node.conflist_findings(files=true) }}"

- name: Fail on errors before a node is contacted
  ansible.builtin.assert:
    that: (networks | cni.node.conflist_findings | selectattr('severity', 'eq', 'error')) == []
"""

RETURN = r"""
_value:
  description:
    - The findings, or an empty list.
  type: list
  elements: dict
  contains:
    level:
      description: The level of the check.
      type: str
      choices:
        - schema
        - specification
        - consistency
    severity:
      description: Whether the finding is an error or a warning. V(info) is neither, and is returned for manifests only.
      type: str
      choices:
        - error
        - warning
        - info
    code:
      description: The kind of finding. Codes do not change between releases.
      type: str
      sample: misspelled-key
    file:
      description: The file, or a name such as V(conflists[0]) for configurations that are not in a file.
      type: str
      sample: net.d/10-dbnet.conflist
    line:
      description: Line number in the text, or V(none).
      type: int
      sample: 7
    plugin:
      description: C(index) and C(type) of the plugin concerned, or V(none) for the network itself.
      type: dict
      sample:
        index: 0
        type: bridge
    path:
      description:
        - JSON pointer to the value. In a manifest, it begins at the network configuration; if the manifest itself is concerned, at
          the document.
      type: str
      sample: /plugins/0/isGatway
    value:
      description: The value. Long values are cut.
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
    manifest:
      description: Namespace and name of the manifest that contains the network configuration.
      returned: for findings in a manifest
      type: str
      sample: lab/macvlan-conf
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
        results = findings(conflists, levels, files=files, attachments=attachments)
    except CniError as exc:
        raise AnsibleFilterError(f"conflist_findings: {exc}") from exc
    return [finding.as_dict() for finding in results]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"conflist_findings": conflist_findings}
