# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: upgrade_outcome

short_description: Describe which plugins a node has after a failed upgrade

version_added: 1.0.0

description:
  - Returns which sets of plugins can be rolled back after a failed upgrade, and what the node then has.
  - The playbook C(cni.node.upgrade) uses this filter.

positional: _input, failure

options:
  _input:
    description:
      - The result of M(cni.node.plugins) that installed the new plugins. An empty dictionary means that it did not run.
    type: dict
    required: true
  failure:
    description:
      - Why the sets could not be rolled back.
    type: str
    default: ""

seealso:
  - module: cni.node.plugins

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Install a release, and return to the earlier one if it does not work
  block:
    - name: Install a release
      cni.node.plugins:
        version: 1.9.1
      register: upgraded

    - name: Try every network
      cni.node.verify:
  rescue:
    - name: Return to the earlier release
      cni.node.plugins:
        state: rolled_back
        sets: "{{ (upgraded | cni.node.upgrade_outcome).sets }}"
      when: (upgraded | cni.node.upgrade_outcome).sets != []
"""

RETURN = r"""
_value:
  description:
    - The outcome.
  type: dict
  contains:
    sets:
      description: The sets that were replaced and have an earlier release, as O(cni.node.plugins#module:sets) that rolls them back.
      type: list
      elements: dict
      sample:
        - name: reference
          state: rolled_back
    message:
      description: Which plugins the node has, with these sets rolled back unless O(failure) is given; and how to return to others.
      type: str
      sample: the node is back at the plugins of release 1.8.0
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject

_REFERENCE = "reference"


def upgrade_outcome(result: object, failure: str = "") -> JsonObject:
    if not isinstance(result, collections.abc.Mapping):
        raise AnsibleFilterError("upgrade_outcome: expected a result of cni.node.plugins")
    try:
        replaced = [item for item in _sets(result) if result.get("changed") and item["previous"] != item["version"]]
        returning = [item for item in replaced if item["earlier"]]
        return {
            "sets": [{"name": item["name"], "state": "rolled_back"} for item in returning],
            "message": _describe(result, replaced, is_back=bool(returning), failure=failure),
        }
    except (KeyError, TypeError) as exc:
        raise AnsibleFilterError(f"upgrade_outcome: expected a result of cni.node.plugins ({exc!r})") from exc


def _describe(result: JsonMapping, replaced: list[JsonMapping], *, is_back: bool, failure: str) -> str:
    # What the playbook rollback returns to, or without kept releases another upgrade.
    earlier = ", ".join(filter(None, map(_name_earlier, replaced or _sets(result))))
    if not result:
        return "nothing was replaced"
    if result.get("failed"):
        return "nothing was rolled back"
    if failure:
        return (
            f"the node could not return to the plugins of release {earlier} ({failure}); mend that and run"
            " cni.node.rollback, or run cni.node.upgrade with that release"
        )
    if is_back:
        return f"the node is back at the plugins of release {earlier}"
    if replaced:
        advice = f"; to return, run cni.node.upgrade with release {earlier}" if earlier else ""
        return f"the new plugins stay, because no earlier release was kept{advice}"
    advice = f"; to return to release {earlier}, run cni.node.rollback" if earlier else ""
    versions = ", ".join(str(item["version"]) for item in _sets(result))
    return f"the plugins stay, because release {versions} was already installed{advice}"


def _sets(result: JsonMapping) -> list[JsonMapping]:
    return list(result.get("sets") or ())


def _name_earlier(item: JsonMapping) -> str:
    """Return the release that a set could return to, with the name of a set of another project; empty if there is none."""
    release = item["earlier"] or item["previous"]
    if release in (None, item["version"]):
        return ""
    return str(release) if item["name"] == _REFERENCE else f"{release} of {item['name']}"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"upgrade_outcome": upgrade_outcome}
