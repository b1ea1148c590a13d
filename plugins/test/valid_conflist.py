# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: valid_conflist

short_description: Test whether a CNI network configuration is valid

version_added: 1.0.0

description:
  - Validates a network configuration on the controller. To see the findings, use P(cni.node.conflist_findings#filter).

positional: _input

options:
  _input:
    description:
      - A network configuration, as data or as JSON text, or a list of the configurations of one node.
      - With O(files=true), the path of a file on the controller, or a list of paths.
    type: raw
    required: true
  levels:
    description:
      - The checks to make, as for O(cni.node.conflist_findings#filter:levels).
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
      - Read the input as paths of files, which may contain manifests of Multus.
    type: bool
    default: false
  strict:
    description:
      - Treat warnings as errors.
    type: bool
    default: false

requirements:
  - jsonschema >= 4.17 on the controller, for the level V(schema)

seealso:
  - plugin: cni.node.conflist_findings
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Fail if the network is invalid
  ansible.builtin.assert:
    that: network is cni.node.valid_conflist

- name: Select the networks without errors and warnings
  ansible.builtin.set_fact:
    valid_networks: "{{ networks | select('cni.node.valid_conflist', strict=true) }}"
"""

RETURN = r"""
_value:
  description:
    - Whether there is no error, and with O(strict=true) no warning either.
  type: bool
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import errors
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import findings


def valid_conflist(conflist: object, levels: object = None, files: bool = False, strict: bool = False) -> bool:
    try:
        return not errors(findings(conflist, levels, files=files), strict=strict)
    except CniError as exc:
        raise AnsibleFilterError(f"valid_conflist: {exc}") from exc


class TestModule:
    def tests(self) -> dict[str, t.Callable[..., bool]]:
        return {"valid_conflist": valid_conflist}
