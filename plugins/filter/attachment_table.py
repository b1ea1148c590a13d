# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: attachment_table

short_description: Format attachments as a table

version_added: 1.0.0

description:
  - Returns the lines of a table of attachments, as M(cni.node.attachments) or M(cni.node.node_info) returns them.

positional: _input

options:
  _input:
    description:
      - The attachments.
    type: list
    elements: dict
    required: true

seealso:
  - module: cni.node.attachments
  - module: cni.node.node_info
  - plugin: cni.node.node_table
    plugin_type: filter

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

- name: Show each attachment's address, MAC and action
  ansible.builtin.debug:
    msg: "{{ attached.attachments | cni.node.attachment_table }}"
"""

RETURN = r"""
_value:
  description:
    - A heading, then one line for each attachment.
  type: list
  elements: str
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import format_attachments

_EXPECTED = "expected a list of attachments, as cni.node.attachments returns it"


def attachment_table(attachments: object) -> list[str]:
    if not isinstance(attachments, (list, tuple)) or not all(
        isinstance(entry, collections.abc.Mapping) for entry in attachments
    ):
        raise AnsibleFilterError(f"attachment_table: {_EXPECTED}")
    try:
        return format_attachments(attachments)
    except CniError as exc:
        raise AnsibleFilterError(f"attachment_table: {exc}; {_EXPECTED}") from exc


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"attachment_table": attachment_table}
