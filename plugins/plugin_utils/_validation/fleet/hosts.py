# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections.abc
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind


def merge_by_host(by_host: t.Any) -> list[JsonObject]:
    """Return what was found on several hosts, each finding once with the hosts that have it.

    Args:
        by_host: By the hosts' names, lists of findings, or what the module `conflists` has returned.

    Raises:
        CniError: ``INVALID_CONFIG``: it is not of its form.
    """
    if not isinstance(by_host, collections.abc.Mapping):
        raise CniError(
            Code.INVALID_CONFIG, f"found {kind(by_host)}", "expected: a dictionary of host names to findings"
        )
    found: dict[str, JsonObject] = {}
    for host, given in by_host.items():
        for finding in _findings(str(host), given):
            one = found.setdefault(json.dumps(finding, sort_keys=True, default=str), {**finding, "hosts": []})
            one["hosts"].append(str(host))
    return list(found.values())


def _findings(host: str, given: t.Any) -> list[JsonObject]:
    if isinstance(given, collections.abc.Mapping):
        given = _of_result(given)
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, collections.abc.Mapping) for one in given):
        what = f"{host}: found {kind(given)}"
        raise CniError(Code.INVALID_CONFIG, what, "expected: a list of findings, or a result of cni.node.conflists")
    return [dict(one) for one in given]


def _of_result(result: t.Mapping[str, t.Any]) -> t.Any:
    """Return the findings of a result; what was refused without any, as when a template cannot be rendered, is one."""
    found = result.get("findings") or []
    if found or result.get("skipped") or "conflists" in result:
        return found
    place, colon, message = str(result.get("msg", "")).partition(": ")
    if not (colon and place.startswith("conflists[")):
        place, message = "conflists", str(result.get("msg", ""))
    return [Finding("invalid-configuration", place, "", message).as_dict()]


__all__ = ("merge_by_host",)
