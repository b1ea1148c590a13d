# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The details of nodes as data in the page, from which details.js makes the tables of a node when it is opened.

They are compressed, because a large fleet has tens of thousands of attachments. Rows are lists, in the order that details.js expects.
"""

from __future__ import annotations

import base64
import json
import os
import typing as t
import zlib

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject

_KEPT = "kept"


def pack(nodes: t.Iterable[tuple[str, JsonMapping]]) -> str:
    """Return the details of nodes as text for the page.

    Args:
        nodes: Nodes of the report by the id of their element.
    """
    packer = zlib.compressobj()
    packed = [packer.compress(b"{")]
    for place, (element, node) in enumerate(nodes):
        text = json.dumps(list_details(node), ensure_ascii=False, separators=(",", ":"))
        packed.append(packer.compress(f'{"," if place else ""}"{element}":{text}'.encode()))
    packed += [packer.compress(b"}"), packer.flush()]
    return base64.b64encode(b"".join(packed)).decode()


def unpack(text: str) -> JsonObject:
    """Return what `pack` has packed."""
    details: JsonObject = json.loads(zlib.decompress(base64.b64decode(text)))
    return details


def list_details(node: JsonMapping) -> JsonObject:
    """Return the details of a node of the report, as details.js reads them.

    Raises:
        KeyError: The node has an entry without a key that is shown.
    """
    return {
        "topology": node["topology"],
        "pools": [
            [pool["network"], pool["range"], pool["percent"], pool["taken"], pool["free"]] for pool in node["pools"]
        ],
        "attachments": [_attachment_row(attachment) for attachment in node["attachments"]],
        "broken": [[record["path"], record["error"]] for record in node["broken_records"]],
        "leaks_error": node["leaks_error"],
        "leaks": [_leak_row(leak) for leak in node["leaks"]],
        "diagnoses": [_diagnosis_row(diagnosis) for diagnosis in node["diagnoses"]],
        "repairs": [_repair_row(repair) for repair in reversed(node["repairs"])],
        "findings": [_finding_row(finding) for finding in node["findings"]],
        "networks": [_network_row(network) for network in node["networks"]],
        "runtimes": [
            [runtime["name"], runtime["version"], runtime["active"], runtime["conf_dir"], runtime["plugin_dirs"]]
            for runtime in node["runtimes"]
        ],
        "plugins": [*map(_release_row, node["releases"]), *_plugin_rows(node["plugins"])],
    }


def _attachment_row(attachment: JsonMapping) -> list[t.Any]:
    return [
        attachment["network"],
        attachment["container_id"],
        attachment["netns"],
        attachment["ifname"],
        attachment["addresses"],
        attachment["ports"],
        attachment["drift"],
        attachment["problems"],
        attachment["own"],
    ]


def _leak_row(leak: JsonMapping) -> list[t.Any]:
    is_kept = leak["action"] == _KEPT
    return [leak["kind"], leak["network"], leak["subject"], leak["evidence"], is_kept, leak["error"]]


def _diagnosis_row(diagnosis: JsonMapping) -> list[t.Any]:
    steps = [[step[key] for key in ("way", "place", "check", "state", "found")] for step in diagnosis["steps"]]
    last = diagnosis["steps"][-1]
    return [
        *(diagnosis[key] for key in ("network", "container_id", "ifname", "from", "to")),
        steps,
        last["needed"],
        last["command"],
    ]


def _repair_row(repair: JsonMapping) -> list[t.Any]:
    return [repair[key] for key in ("time", "network", "container_id", "ifname", "lost", "by")]


def _finding_row(finding: JsonMapping) -> list[t.Any]:
    return [finding[key] for key in ("severity", "file", "line", "path", "message", "code", "hint")]


def _network_row(network: JsonMapping) -> list[t.Any]:
    return [
        network.get("name", "-"),
        network["path"],
        network.get("versions", []),
        network.get("plugins", []),
        network["error"],
        network.get("shadowed", False),
        network.get("missing_plugins", []),
        network.get("builtin_plugins", []),
    ]


def _release_row(release: JsonMapping) -> list[t.Any]:
    is_current = release["current"]
    remark = "" if is_current else "kept for a rollback"
    missing, flaws = (release["missing"], release["flaws"]) if is_current else ([], [])
    return [f"set {release['set']}", release["bin_dir"], release["version"], remark, missing, flaws, None]


def _plugin_rows(plugins: t.Iterable[JsonMapping]) -> t.Iterator[list[t.Any]]:
    """Yield a row for each group of plugins that differ only in their type."""
    groups: dict[str, list[JsonMapping]] = {}
    for plugin in plugins:
        common = [plugin[name] for name in ("release", "shadowed", "flaws", "error")]
        groups.setdefault(repr([os.path.dirname(plugin["path"]), common]), []).append(plugin)
    for dummy, members in sorted(groups.items()):
        first = members[0]
        names = ", ".join(plugin["type"] for plugin in members)
        remark, flaws = ("an earlier directory has them", []) if first["shadowed"] else ("", first["flaws"])
        yield [names, os.path.dirname(first["path"]), first["release"] or "-", remark, [], flaws, first["error"]]
