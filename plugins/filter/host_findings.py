# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: host_findings

short_description: Merge the findings of several hosts

version_added: 1.0.0

description:
  - Merges the findings about network configurations of several hosts. A finding that several hosts share is returned once, with
    the names of these hosts.

options:
  _input:
    description:
      - A dictionary of host names to lists of findings, as P(cni.node.conflist_findings#filter) and other filters return
        them, or to results of M(cni.node.conflists). The error of a failed result without findings becomes a finding.
    type: dict
    required: true

seealso:
  - plugin: cni.node.conflist_findings
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Validate the networks in the variables of each host
  ansible.builtin.set_fact:
    findings: "{{ networks | cni.node.conflist_findings }}"

- name: Show the findings of all hosts of the play
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'findings'))) | cni.node.host_findings }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The findings in the form of RV(cni.node.conflist_findings#filter:_value). Each has the names of its hosts as C(hosts).
  type: list
  elements: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet.hosts import merge_by_host


def host_findings(by_host: object) -> list[dict[str, t.Any]]:
    try:
        return merge_by_host(by_host)
    except CniError as exc:
        raise AnsibleFilterError(f"host_findings: {exc}") from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"host_findings": host_findings}
