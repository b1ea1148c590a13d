# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_report

author:
  - cni.node contributors (@cni-node)

short_description: Make a report of the container networks of a fleet

version_added: 1.0.0

description:
  - Combines results of M(cni.node.node_info) and M(cni.node.gc) of several nodes into one report, and compares the nodes.
  - The report has no results of plugins, no arguments of attachments except mapped ports, and of network configurations only keys
    that describe the network, because all others may hold secrets.

positional: _input, hosts, info, leaks, previous

options:
  _input:
    description:
      - A dictionary of host names to variables, such as C(hostvars).
    type: dict
    required: true
  hosts:
    description:
      - The names of the nodes, such as C(ansible_play_hosts_all).
    type: list
    elements: str
    required: true
  info:
    description:
      - The name of the variable with the result of M(cni.node.node_info). Parts that were not gathered are empty in the report. A
        node without this variable, or without attachments in it, is listed as one that could not be read, with the C(msg) of the
        result.
    type: str
    required: true
  leaks:
    description:
      - The name of the variable with the result of M(cni.node.gc) in check mode.
    type: str
    default: ""
  previous:
    description:
      - An earlier report, or its JSON text. A problem that it has, too, keeps its time C(since). Text that is not a report is ignored.
    type: raw

seealso:
  - plugin: cni.node.report_page
    plugin_type: filter
  - module: cni.node.node_info
  - module: cni.node.gc
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

- name: Write a report of all nodes as data
  ansible.builtin.copy:
    content: "{{ hostvars | cni.node.fleet_report(ansible_play_hosts_all, 'node') | to_nice_json }}"
    dest: "{{ playbook_dir }}/networks.json"
    mode: "0600"
  delegate_to: localhost
  become: false
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The report.
  type: dict
  contains:
    format:
      description: The version of this format, which changes when a key changes its meaning.
      type: int
      sample: 1
    generated:
      description: The time in UTC.
      type: str
      sample: "2026-11-26T10:30:00Z"
    summary:
      description:
        - The numbers of nodes, of nodes that could not be read, and of what was found on all nodes. C(networks) counts different
          names, C(errors) the errors that validation finds, missing plugins, and plugins, networks and records that are broken.
      type: dict
    fleet:
      description:
        - What is about several nodes. C(differences) has the releases, runtimes and networks that differ. C(collisions) are
          addresses of one network that two nodes may assign. C(subnets) are all subnets with the other networks that overlap with
          each.
      type: dict
    nodes:
      description:
        - The nodes by C(name). C(read) is false for nodes that could not be read, and C(error) then says why. All others have
          C(summary), C(topology), and the parts of M(cni.node.node_info) and M(cni.node.gc).
        - Each of their C(problems) has its C(kind), a C(problem) in a few words, the C(command) that mends it or an empty string, and
          the time C(since) that reports have had it. C(error) is false for what is unknown, and for known flaws.
        - C(diagnoses) says why packets of attachments that have drifted are lost, as RV(cni.node.node_info#module:diagnoses).
        - C(differs) lists what is not as on most nodes.
      type: list
      elements: dict
"""

import datetime
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_hosts


def fleet_report(hostvars: object, hosts: object, info: str, leaks: str = "", previous: object = None) -> JsonObject:
    # Ansible compiles what the filters import in each run; this is for reports only.
    from ansible_collections.cni.node.plugins.plugin_utils._report import report_data

    variables, names = require_hosts("fleet_report", hostvars, hosts)
    now = datetime.datetime.now(datetime.timezone.utc)
    results = [report_data.NodeResults(host, *_read(variables, host, info, leaks)) for host in names]
    return report_data.build(results, now, report_data.read_known(_decode(previous)))


def _decode(previous: object) -> object:
    if not isinstance(previous, str):
        return previous
    try:
        return json.loads(previous)
    except ValueError:
        return None


def _read(hostvars: t.Mapping[t.Any, t.Any], host: object, *names: str) -> list[t.Any]:
    """Return variables of a host, None for those that it does not have."""
    try:
        variables = hostvars[host]
    except KeyError:
        return [None for dummy in names]
    return [variables.get(name) for name in names]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"fleet_report": fleet_report}
