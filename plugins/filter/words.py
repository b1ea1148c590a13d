# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: words

short_description: Read a list of names that may be given as text

version_added: 1.0.0

description:
  - Returns a list of names as it is, and makes one from text, such as the answer of a survey, with a name on each line.
    Text that begins with C([) is YAML.
  - The roles of this collection use it for their variables.

positional: _input, value

options:
  _input:
    description:
      - A list, text, or null.
    type: raw
    required: true
  value:
    description:
      - What to return for null, empty text and an empty list; it can be C(omit).
    type: raw
    default: []

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Look for plugins in directories that a survey may have given, one on each line
  cni.node.node_info:
    plugin_dirs: "{{ plugin_dirs | cni.node.words(omit) }}"
"""

RETURN = r"""
_value:
  description:
    - The list, or the default. What is neither a list nor text is returned unchanged.
  type: raw
"""

import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._given_values import words


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"words": words}
