# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: or_default

short_description: Replace a variable without a value by its default

version_added: 1.0.0

description:
  - Returns the default for null and for text without characters other than white space, such as an empty answer of a survey. Returns
    every other value unchanged, also V(false), V(0) and empty lists, which P(ansible.builtin.default#filter) can replace as well.
  - The roles of this collection use it for their variables.

positional: _input, value

options:
  _input:
    description:
      - The value of a variable.
    type: raw
    required: true
  value:
    description:
      - The default, which can be C(omit).
    type: raw
    required: true

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Wait, unless the variable is null or empty text
  ansible.builtin.pause:
    seconds: "{{ delay | cni.node.or_default(omit) }}"
"""

RETURN = r"""
_value:
  description:
    - The value, or the default.
  type: raw
"""

import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._given_values import or_default


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"or_default": or_default}
