# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: report_page

author:
  - cni.node contributors (@cni-node)

short_description: Format the report of a fleet as an HTML page

version_added: 1.0.0

description:
  - Formats the result of P(cni.node.fleet_report#filter) as one HTML page. It needs no other file and sends no request.
  - Nodes with problems come first. The page has a drawing of the networks of each node, and tables that can be filtered, searched
    and sorted. The details of a node are made from data in the page when the node is opened, which needs JavaScript.

options:
  _input:
    description:
      - The result of P(cni.node.fleet_report#filter).
    type: dict
    required: true

seealso:
  - plugin: cni.node.fleet_report
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read the state of every node
  cni.node.node_info:
    gather:
      - networks
      - attachments
      - leases
      - links
      - findings
  register: node

- name: Write a page about all nodes
  ansible.builtin.copy:
    content: "{{ hostvars | cni.node.fleet_report(ansible_play_hosts_all, 'node') | cni.node.report_page }}"
    dest: "{{ playbook_dir }}/networks.html"
    mode: "0600"
  delegate_to: localhost
  become: false
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The page.
  type: str
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError


def report_page(report: object) -> str:
    # Ansible compiles what the filters import in each run; this is for reports only.
    from ansible_collections.cni.node.plugins.plugin_utils._report import page

    expected = "report_page: expected a result of the filter cni.node.fleet_report"
    if not isinstance(report, collections.abc.Mapping):
        raise AnsibleFilterError(expected)
    try:
        return page.render(report)
    except (AttributeError, KeyError, TypeError) as exc:
        raise AnsibleFilterError(f"{expected} ({exc!r})") from exc


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"report_page": report_page}
