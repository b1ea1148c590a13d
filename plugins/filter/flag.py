# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: flag

short_description: Read a boolean that may be given as text

version_added: 1.0.0

description:
  - Returns V(true) or V(false) for what an option of a module with the type C(bool) accepts, such as C(yes), C(y), C(on), C(off) and
    V(0). Any other value is an error. The filter P(ansible.builtin.bool#filter) takes most other values for V(false).
  - The roles of this collection use it for their variables.

positional: _input, value

options:
  _input:
    description:
      - A boolean, text, a number, or null.
    type: raw
    required: true
  value:
    description:
      - The default for null and empty text.
    type: bool
    default: false

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Show the answer of a survey, unless it is a secret
  ansible.builtin.debug:
    var: answer
  no_log: "{{ is_secret | cni.node.flag }}"
"""

RETURN = r"""
_value:
  description:
    - What the value means.
  type: bool
"""

import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._given_values import flag


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"flag": flag}
