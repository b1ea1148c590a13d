# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Merge the findings of several hosts."""

from __future__ import annotations

import collections.abc
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind


def merge_by_host(by_host: t.Any) -> list[JsonObject]:
    """Merge findings of several hosts: return each once, with the hosts that have it.

    Args:
        by_host: Lists of findings, or results of the module `conflists`, by host.

    Raises:
        CniError: ``INVALID_CONFIG``: a value has the wrong type.
    """
    if not isinstance(by_host, collections.abc.Mapping):
        raise CniError(
            Code.INVALID_CONFIG, f"found {kind(by_host)}", "expected: a dictionary of host names to findings"
        )
    merged: dict[str, JsonObject] = {}
    for host, host_findings in by_host.items():
        for finding in _findings(str(host), host_findings):
            key = json.dumps(finding, sort_keys=True, default=str)
            merged.setdefault(key, {**finding, "hosts": []})["hosts"].append(str(host))
    return list(merged.values())


def _findings(host: str, host_findings: t.Any) -> list[JsonObject]:
    if isinstance(host_findings, collections.abc.Mapping):
        host_findings = _read_result(host_findings)
    if not isinstance(host_findings, (list, tuple)) or not all(
        isinstance(finding, collections.abc.Mapping) for finding in host_findings
    ):
        what = f"{host}: found {kind(host_findings)}"
        raise CniError(Code.INVALID_CONFIG, what, "expected: a list of findings, or a result of cni.node.conflists")
    return [dict(finding) for finding in host_findings]


def _read_result(result: t.Mapping[str, t.Any]) -> t.Any:
    """Return the findings of a result. An error without findings, such as a broken template, becomes a finding."""
    findings = result.get("findings") or []
    if findings or result.get("skipped") or "conflists" in result:
        return findings
    place, colon, message = str(result.get("msg", "")).partition(": ")
    if not (colon and place.startswith("conflists[")):
        place, message = "conflists", str(result.get("msg", ""))
    return [Finding("invalid-configuration", place, "", message).as_dict()]
