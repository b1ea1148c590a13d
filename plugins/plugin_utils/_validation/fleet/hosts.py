# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Merge the findings of several hosts."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject


def merge_by_host(by_host: t.Mapping[str, t.Iterable[JsonObject]]) -> list[JsonObject]:
    """Return each finding of several hosts once, with the hosts that have it."""
    merged: dict[str, JsonObject] = {}
    for host, findings in by_host.items():
        for finding in findings:
            key = json.dumps(finding, sort_keys=True, default=str)
            merged.setdefault(key, {**finding, "hosts": []})["hosts"].append(host)
    return list(merged.values())
