# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unevaluated_variables

short_description: Find hosts whose networks cannot be evaluated without the node

version_added: 1.0.0

description:
  - Evaluates C(cni_node_conflists) and C(cni_node_attachments) of each host. A variable that uses what is not defined, such as a fact
    that was not gathered, is a finding of that host and hides no finding of others. No node is contacted.

positional: _input, hosts

options:
  _input:
    description:
      - A dictionary of host names to variables, such as C(hostvars).
    type: dict
    required: true
  hosts:
    description:
      - The hosts whose variables are evaluated.
    type: list
    elements: str
    required: true

seealso:
  - plugin: cni.node.host_findings
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Fail if a variable uses facts that were not gathered
  ansible.builtin.assert:
    that: hostvars | cni.node.unevaluated_variables(ansible_play_hosts_all) == {}
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The hosts that have such a variable, each with a list of one finding in the form of
      RV(cni.node.conflist_findings#filter:_value).
  type: dict
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils._play_variables import PlayVariables


def unevaluated_variables(hostvars: object, hosts: object) -> dict[str, list[dict[str, t.Any]]]:
    if not isinstance(hostvars, collections.abc.Mapping) or not isinstance(hosts, (list, tuple)):
        raise AnsibleFilterError(
            "unevaluated_variables: expected a dictionary of host names to variables, and a list of hosts"
        )
    findings = PlayVariables(hostvars, [str(host) for host in hosts], {}).find_unevaluated()
    return {host: [finding.as_dict()] for host, finding in findings.items()}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"unevaluated_variables": unevaluated_variables}
