# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: objects

short_description: Read a list of objects that may be given as YAML text

version_added: 1.0.0

description:
  - Returns a list as it is, and reads text, such as the answer of a survey, as YAML or JSON.
  - The roles of this collection use it for networks and attachments.

positional: _input

options:
  _input:
    description:
      - A list, text, or null.
    type: raw
    required: true

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Write networks that a survey may have given as text
  cni.node.conflists:
    conflists: "{{ conflists | cni.node.objects }}"
"""

RETURN = r"""
_value:
  description:
    - The list, which is empty for null and empty text. What is neither a list nor text is returned unchanged.
  type: raw
"""

import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._given_values import objects


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"objects": objects}
