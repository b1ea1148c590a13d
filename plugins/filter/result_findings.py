# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: result_findings

short_description: Find what is wrong with the results of CNI plugins

version_added: 1.0.0

description:
  - Compares the results that plugins have given for attachments with the CNI specification, section 5, of their version, and
    returns all findings at once. What a plugin has said wrongly, other runtimes may refuse or misunderstand.

positional: _input

options:
  _input:
    description:
      - The attachments, as M(cni.node.attachments) or M(cni.node.node_info) returns them, or one of them. Those without a
        result have nothing to be wrong.
      - A CNI result by itself does as well, or a list of those.
    type: raw
    required: true

requirements:
  - jsonschema >= 4.17 on the controller

seealso:
  - module: cni.node.attachments
  - module: cni.node.node_info
  - plugin: cni.node.conflist_findings
    plugin_type: filter
  - name: CNI specification, section 5
    description: The format of results.
    link: https://www.cni.dev/docs/spec/#section-5-result-types

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Attach a namespace
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
  register: attached

- name: The plugins have said what the specification wants them to say
  ansible.builtin.assert:
    that: (attached.attachments | cni.node.result_findings) == []
"""

RETURN = r"""
_value:
  description:
    - The findings, as P(cni.node.conflist_findings#filter) returns them; an empty list where nothing is wrong. C(file) says
      which attachment it is, C(path) is the place in its result, C(line) and C(plugin) are V(none).
  type: list
  elements: dict
  sample:
    - level: schema
      severity: error
      code: malformed-value
      file: attachment of red (eth0) to network dbnet
      line:
      plugin:
      path: /ips/0/address
      value: 10.1.0.5
      message: "'10.1.0.5' is not an address with its prefix length"
      hint: "expected: such as 10.1.0.0/16 or fd00::/64"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import results


def result_findings(attachments: object) -> list[dict[str, t.Any]]:
    try:
        return [finding.as_dict() for finding in results.findings(attachments)]
    except CniError as exc:
        raise AnsibleFilterError(f"result_findings: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"result_findings": result_findings}
