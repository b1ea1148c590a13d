# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: result_findings

short_description: Validate the results of CNI plugins

version_added: 1.0.0

description:
  - Validates the results that plugins returned for attachments against section 5 of the CNI specification, in the version of
    the result, and returns all findings at once. Other runtimes may refuse or misread an invalid result.

positional: _input

options:
  _input:
    description:
      - The attachments, as M(cni.node.attachments) or M(cni.node.node_info) returns them, or one of them. Attachments without a
        result have no findings.
      - Alternatively a CNI result, or a list of results.
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
- name: Attach a network namespace
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
  register: attached

- name: Fail if a result violates the specification
  ansible.builtin.assert:
    that: (attached.attachments | cni.node.result_findings) == []
"""

RETURN = r"""
_value:
  description:
    - The findings in the form of P(cni.node.conflist_findings#filter), or an empty list. C(file) names the attachment, and C(path)
      is a JSON pointer into its result. C(line) and C(plugin) are V(none).
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
      hint: "expected: a value such as 10.1.0.0/16 or fd00::/64"
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
