# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables

short_description: Find misspelled variables of this collection's roles and playbooks

version_added: 1.0.0

description:
  - Compares variable names with those of the roles and playbooks of this collection. A name is reported if it begins with
    C(cni_node_) or the name of another role, but is not a variable of this collection.
  - The roles refuse such variables before they contact the node. The playbook C(cni.node.validate) uses this filter.

options:
  _input:
    description:
      - Names of variables.
    type: list
    elements: str
    required: true

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Fail if a variable is misspelled
  ansible.builtin.assert:
    that: query('ansible.builtin.varnames', '^cni_') | cni.node.unknown_variables == {}
"""

RETURN = r"""
_value:
  description:
    - The unknown names, each with the most similar known name or an empty string.
  type: dict
  sample:
    cni_node_prge: cni_node_purge
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils import _known_variables


def unknown_variables(names: object) -> dict[str, str]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise AnsibleFilterError(f"unknown_variables: {names!r}; expected: a list of names")
    return _known_variables.unknown_variables(map(str, names), _known_variables.all_prefixes())


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"unknown_variables": unknown_variables}
