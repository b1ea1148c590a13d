# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: batches

short_description: Read how many hosts of a play work at a time

version_added: 1.0.0

description:
  - Returns a value for the keyword C(serial) of a play, or the default. Ansible ends with a traceback for a value that is neither a
    number nor a percentage.
  - The playbooks of this collection use it for C(cni_node_serial).

positional: _input, value

options:
  _input:
    description:
      - A number of hosts, a percentage such as V(25%), or a list of these, which may be text with one on each line; or null.
    type: raw
    required: true
  value:
    description:
      - The default for null, empty text and an empty list.
    type: raw
    default: 100%

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Upgrade the plugins of one node, then of a quarter of the nodes at a time
  hosts: all
  serial: "{{ batches | cni.node.batches('25%') }}"
  roles:
    - cni.node.cni_plugins
  vars:
    batches:
      - 1
      - 25%
"""

RETURN = r"""
_value:
  description:
    - The batches.
  type: list
  elements: raw
"""

import re
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils._given_values import words

_BATCH = re.compile(r"-?\d+|\d+%", re.ASCII)


def batches(given: t.Any, value: t.Any = "100%") -> list[t.Any]:
    """Return the batches of a play."""
    read = words(given, value)
    listed = read if isinstance(read, (list, tuple)) else [read]
    if not all(_BATCH.fullmatch(str(batch).strip()) for batch in listed):
        expected = "expected: a number of hosts, a percentage such as 25%, or a list of these"
        raise AnsibleFilterError(f"serial (cni_node_serial of a playbook): {given!r}; {expected}")
    return list(listed)


class FilterModule:
    """Filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"batches": batches}
