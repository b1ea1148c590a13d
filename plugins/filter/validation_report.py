# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: validation_report

short_description: Combine the findings about files and about the variables of hosts

version_added: 1.0.0

description:
  - Validates files as P(cni.node.conflist_findings#filter) does, looks for misspelled variables of this collection and for wrong
    values of C(cni_node_*) on each host, compares the networks in C(cni_node_conflists) of the hosts as
    P(cni.node.fleet_findings#filter) does, and combines the findings with results of M(cni.node.conflists). No node is contacted.
  - A finding that several hosts share is reported once, with the names of these hosts.
  - The playbook C(cni.node.validate) uses this filter.

positional: _input, hosts, result

options:
  _input:
    description:
      - A dictionary of host names to variables, such as C(hostvars).
    type: dict
    required: true
  hosts:
    description:
      - The hosts whose variables are validated, such as C(ansible_play_hosts).
    type: list
    elements: str
    required: true
  result:
    description:
      - The name of the variable with the result of M(cni.node.conflists). The error of a failed result without findings becomes a
        finding.
    type: str
    default: ""
  files:
    description:
      - Paths of files on the controller, or text with one on each line.
    type: raw
    default: []
  attachments:
    description:
      - Attachments that are validated with the files, as O(cni.node.conflist_findings#filter:attachments).
    type: list
    elements: dict
  levels:
    description:
      - The checks of the files, as O(cni.node.conflist_findings#filter:levels).
    type: list
    elements: str
  strict:
    description:
      - Whether warnings are faults, too.
    type: bool
    default: false

seealso:
  - plugin: cni.node.conflist_findings
    plugin_type: filter
  - plugin: cni.node.fleet_findings
    plugin_type: filter
  - module: cni.node.conflists

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Fail if a variable is misspelled, or uses facts that were not gathered
  ansible.builtin.assert:
    that: report.findings == []
    fail_msg: "{{ report.lines }}"
  vars:
    report: "{{ hostvars | cni.node.validation_report(ansible_play_hosts_all) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The report.
  type: dict
  contains:
    findings:
      description:
        - The findings in the form of RV(cni.node.conflist_findings#filter:_value). Those about the variables of hosts have the names
          of these hosts as C(hosts).
      type: list
      elements: dict
    lines:
      description: A line for each finding, with its severity and the first five of its hosts.
      type: list
      elements: str
      sample:
        - "error: web1: cni_node_prge: the variable is unknown; did you mean cni_node_purge? (misspelled-key)"
    unevaluated:
      description:
        - The hosts whose C(cni_node_conflists) or C(cni_node_attachments) use what is not defined without the node, such as a fact that
          was not gathered. Each has a finding.
      type: list
      elements: str
    passed:
      description: Whether something was validated and has no fault.
      type: bool
    summary:
      description: The numbers of findings, files, and hosts that have networks or findings; or what to set if there are none.
      type: str
      sample: 1 error and 0 warnings in 2 files and the variables of 3 hosts
"""

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import ERROR, WARNING, Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity, shorten
from ansible_collections.cni.node.plugins.plugin_utils._host_results import require_hosts
from ansible_collections.cni.node.plugins.plugin_utils._play_variables import HOSTS_SHOWN, PlayVariables
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet.hosts import merge_by_host

_NOTHING = (
    "nothing to validate: set cni_node_conflist_files to paths of files on the controller, or set cni_node_conflists"
)


def validation_report(
    hostvars: object,
    hosts: object,
    result: str = "",
    *,
    files: object = (),
    attachments: object = None,
    levels: object = None,
    strict: bool = False,
) -> JsonObject:
    given, names = require_hosts("validation_report", hostvars, hosts)
    variables, paths = PlayVariables(given, names, {}), _read_paths(files)
    results = {host: variables.read_host(host).get(result) for host in names}
    misspelled, wrong, unevaluated = (
        variables.find_misspelled(),
        variables.find_wrong_values(),
        variables.find_unevaluated(),
    )
    by_host = {
        host: [*_as_dicts([*misspelled[host], *wrong[host], *unevaluated[host]]), *_read_result(host, results[host])]
        for host in names
    }
    try:
        of_files = inputs.findings(paths, levels, files=True, attachments=attachments)
    except CniError as exc:
        raise AnsibleFilterError(f"validation_report: {exc}") from exc
    of_fleet = variables.compare_nodes(names) if len(names) > 1 else []
    findings = [*_as_dicts(of_files), *merge_by_host(by_host), *_as_dicts(of_fleet)]
    errors, warnings = ([found["severity"] for found in findings].count(severity) for severity in (ERROR, WARNING))
    validated = [host for host in names if by_host[host] or _has_run(results[host])]
    places = f"{quantity(len(paths), 'file')} and the variables of {quantity(len(validated), 'host')}"
    summary = f"{quantity(errors, 'error')} and {quantity(warnings, 'warning')} in {places}"
    return {
        "findings": findings,
        "lines": list(map(_line, findings)),
        "unevaluated": [host for host in names if unevaluated[host]],
        "passed": bool(paths or validated) and errors == 0 and not (strict and warnings),
        "summary": summary if paths or validated else _NOTHING,
    }


def _as_dicts(findings: t.Iterable[Finding]) -> list[JsonObject]:
    return [finding.as_dict() for finding in findings]


def _read_paths(files: object) -> list[str]:
    if isinstance(files, str):
        return [path.strip() for path in files.splitlines() if path.strip()]
    return list(map(str, files)) if isinstance(files, (list, tuple)) else [str(files)]


def _has_run(result: object) -> bool:
    return isinstance(result, collections.abc.Mapping) and "skipped" not in result


def _read_result(host: str, result: t.Any) -> list[JsonObject]:
    """Return the findings of a result. An error without findings, such as a broken template, becomes a finding."""
    if result is None:
        return []
    if not isinstance(result, collections.abc.Mapping):
        raise AnsibleFilterError(f"validation_report: {host}: expected: a result of cni.node.conflists")
    findings = result.get("findings") or []
    if findings or "skipped" in result or "conflists" in result:
        return [dict(found) for found in findings]
    message = str(result.get("msg", ""))
    place, colon, rest = message.partition(": ")
    is_item = bool(colon) and place.startswith("conflists[")
    return [Finding("invalid-configuration", *((place, "", rest) if is_item else ("conflists", "", message))).as_dict()]


def _line(found: JsonMapping) -> str:
    hosts = f"{shorten(found['hosts'], HOSTS_SHOWN)}: " if "hosts" in found else ""
    keys = ("code", "file", "path", "message", "hint", "line", "manifest")
    return f"{found['severity']}: {hosts}{Finding(**{key: found[key] for key in keys if key in found})}"


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"validation_report": validation_report}
