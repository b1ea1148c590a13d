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

positional: _input, networks

options:
  _input:
    description:
      - A dictionary of node names to results of M(cni.node.preflight_info).
    type: dict
    required: true
  networks:
    description:
      - A dictionary of node names to results of M(cni.node.conflists) in check mode. Its findings, or its error, become lines.
    type: dict
    default: {}

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
      C(warning). A node without a runtime, or one that could not be read, has a line that says so.
  type: list
  elements: str
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.table import Row, lines
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import describe_unread

_HEADINGS: t.Final[Row] = ("NODE", "RUNTIME", "STATE", "WHAT", "NEEDED", "FOUND")
_ORDER = ("missing", "warning", "ok")
_STATES = {"error": "missing", "warning": "warning"}


def preflight_table(
    results: t.Mapping[str, JsonMapping], networks: t.Mapping[str, JsonMapping] | None = None
) -> list[str]:
    """Return the lines of a table of what nodes need, and of what would stop their networks."""
    if not isinstance(results, collections.abc.Mapping):
        raise AnsibleFilterError(
            f"preflight_table: expected a dictionary of results by node, got {type(results).__name__}"
        )
    planned = networks or {}
    try:
        rows = [row for node, result in results.items() for row in _rows(node, result, planned.get(node, {}))]
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        expected = "expected results of cni.node.preflight_info, and of cni.node.conflists"
        raise AnsibleFilterError(f"preflight_table: a result has an unexpected form ({exc!r}); {expected}") from exc
    return lines(_HEADINGS, rows)


def _rows(node: str, result: JsonMapping, planned: JsonMapping) -> list[Row]:
    checks = [
        (node, *(str(check[key]) for key in ("runtime", "state", "subject", "needed", "found")))
        for check in result.get("checks") or ()
    ]
    if "checks" not in result:
        checks = [(node, "-", "missing", describe_unread(result), "-", "-")]
    shown = checks or [(node, "-", "ok", "no container runtime", "-", "-")]
    return sorted([*shown, *_network_rows(node, planned)], key=lambda row: _ORDER.index(row[2]))


def _network_rows(node: str, planned: JsonMapping) -> t.Iterator[Row]:
    """Yield a row for each finding about the networks of the variables, or for the error that is none."""
    findings = [finding for finding in planned.get("findings") or () if finding["severity"] in _STATES]
    for finding in findings:
        yield node, "-", _STATES[finding["severity"]], str(finding["file"]), "a network", str(finding["message"])
    if "msg" in planned and "conflists" not in planned and not findings:
        yield node, "-", "missing", "cni_node_conflists", "networks", str(planned["msg"])


class FilterModule:
    """Filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"preflight_table": preflight_table}
