# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_table

author:
  - cni.node contributors (@cni-node)

short_description: Format what container runtimes need as a table

version_added: 1.0.0

description:
  - Formats results of M(cni.node.preflight_info) as one table. Returns the lines.

positional: _input

options:
  _input:
    description:
      - A dictionary of node names to results of M(cni.node.preflight_info).
    type: dict
    required: true

seealso:
  - module: cni.node.preflight_info
"""

EXAMPLES = r"""
- name: Compare each node with what its runtime needs
  cni.node.preflight_info:
  register: preflight

- name: Show all nodes
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'preflight'))) | cni.node.preflight_table }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A heading, then one line for each need of each runtime, those that are not met first. C(STATE) is C(ok), C(missing) or
      C(warning). A node without a runtime has a line that says so.
  type: list
  elements: str
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.plugin_utils._table import Row, lines

_HEADINGS: t.Final[Row] = ("NODE", "RUNTIME", "STATE", "WHAT", "NEEDED", "FOUND")
_ORDER: t.Final = ("missing", "warning", "ok")


def preflight_table(results: t.Mapping[str, JsonMapping]) -> list[str]:
    """Return the lines of a table of what nodes need."""
    if not isinstance(results, collections.abc.Mapping):
        raise AnsibleFilterError(
            f"preflight_table: expected a dictionary of results by node, got {type(results).__name__}"
        )
    return lines(_HEADINGS, (row for node, result in results.items() for row in _rows(node, result)))


def _rows(node: str, result: JsonMapping) -> t.Iterator[Row]:
    checks = sorted(result.get("checks") or (), key=lambda check: _ORDER.index(check["state"]))
    for check in checks:
        yield (node, *(str(check[key]) for key in ("runtime", "state", "subject", "needed", "found")))
    if not checks:
        yield (node, "-", "ok", "no container runtime", "-", "-")


class FilterModule:
    """Filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"preflight_table": preflight_table}
