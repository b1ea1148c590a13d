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

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.plugin_utils._table import Row, lines

_HEADINGS: t.Final[Row] = ("NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "MAC", "ACTION")


def attachment_table(attachments: object) -> list[str]:
    if not isinstance(attachments, (list, tuple)) or not all(
        isinstance(entry, collections.abc.Mapping) for entry in attachments
    ):
        raise AnsibleFilterError("attachment_table: expected a list of attachments, as cni.node.attachments returns it")
    return lines(_HEADINGS, (_make_row(entry, f"attachments[{index}]") for index, entry in enumerate(attachments)))


def _make_row(attachment: JsonMapping, where: str) -> Row:
    try:
        return _row(attachment)
    except (AttributeError, KeyError, TypeError) as exc:
        expected = "expected a list of attachments, as cni.node.attachments returns it"
        raise AnsibleFilterError(f"attachment_table: {where} has an unexpected form; {expected}") from exc


def _row(attachment: JsonMapping) -> Row:
    result = attachment.get("result") or {}
    error = attachment.get("error") or {}
    return (
        str(attachment.get("network", "?")),
        str(attachment.get("container_id", attachment.get("path", "?"))),
        str(attachment.get("ifname", "?")),
        ",".join(_addresses(result)) or "-",
        _mac(result, attachment) or "-",
        str(attachment.get("action") or error.get("msg") or "-"),
    )


def _addresses(result: JsonMapping) -> list[str]:
    families = [result[family]["ip"] for family in ("ip4", "ip6") if result.get(family)]
    return [ip["address"] for ip in result.get("ips") or ()] + families


def _mac(result: JsonMapping, attachment: JsonMapping) -> str:
    inside = [interface for interface in result.get("interfaces") or () if interface.get("sandbox")]
    named = [interface.get("mac", "") for interface in inside if interface.get("name") == attachment.get("ifname")]
    return named[0] if named else ""


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"attachment_table": attachment_table}
