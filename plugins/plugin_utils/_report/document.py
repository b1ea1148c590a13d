# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The report of a fleet as data, which the page shows and which is written beside it.

Only fields that are named here get into it: results of plugins and arguments of attachments may hold secrets.
"""

from __future__ import annotations

import datetime
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, REMOVED
from ansible_collections.cni.node.plugins.plugin_utils._report import fleet, topology
from ansible_collections.cni.node.plugins.plugin_utils._report.problems import (
    count_drift,
    list_attachment_problems,
    list_problems,
    list_readable_attachments,
)

# Changes when a key changes its meaning or goes; a new key does not change it.
FORMAT: t.Final = 1

_Types = t.Mapping[str, t.Union[type, tuple[type, ...]]]
_NONE: t.Final = type(None)
_RUNTIME: t.Final[_Types] = {"name": str, "version": str, "conf_dir": str, "plugin_dirs": list}
_PLUGIN: t.Final[_Types] = {
    "type": str,
    "path": str,
    "release": str,
    "versions": list,
    "shadowed": bool,
    "flaws": list,
}
_RELEASE: t.Final[_Types] = {
    "set": str,
    "version": str,
    "bin_dir": str,
    "current": bool,
    "missing": list,
    "flaws": list,
}
_NETWORK: t.Final[_Types] = {
    "name": str,
    "path": str,
    "versions": list,
    "plugins": list,
    "config": dict,
    "missing_plugins": list,
    "builtin_plugins": list,
    "shadowed": bool,
}
_POOL: t.Final[_Types] = {"network": str, "range": str, "size": int, "taken": int, "free": int}
_ATTACHMENT: t.Final[_Types] = {
    "network": str,
    "container_id": str,
    "ifname": str,
    "netns": str,
    "netns_state": str,
    "network_state": str,
    "own": bool,
    "persist": bool,
    "interrupted": (str, _NONE),
    "addresses": list,
    "ports": list,
    "drift": (list, _NONE),
    "builtin_plugins": list,
}
_LINK: t.Final[_Types] = {
    "name": str,
    "kind": str,
    "mac": str,
    "mtu": int,
    "up": bool,
    "carrier": bool,
    "addresses": list,
    "master": str,
    "parent": str,
    "vlan": int,
    "uplink": bool,
}
_LEAK: t.Final[_Types] = {
    "kind": str,
    "network": str,
    "subject": str,
    "evidence": str,
    "proofs": list,
    "action": str,
}
_FINDING: t.Final[_Types] = {
    "level": str,
    "severity": str,
    "code": str,
    "file": str,
    "line": (int, _NONE),
    "path": str,
    "message": str,
    "hint": str,
}
_RECORD: t.Final[_Types] = {"path": str}
# What the module gc would do with a leak. It keeps others, and what failed is a check.
_COLLECTED: t.Final = (DELETED, REMOVED)


class NodeResults(t.NamedTuple):
    """The results of the modules for one node.

    Attributes:
        info: The result of the module `node_info`, or None.
        leaks: The result of the module `gc` in check mode, or None.
    """

    name: str
    info: JsonMapping | None
    leaks: JsonMapping | None = None


def build(nodes: t.Iterable[NodeResults], generated: datetime.datetime) -> JsonObject:
    """Return the report."""
    described = [_describe_node(node) for node in nodes]
    return {
        "format": FORMAT,
        "generated": generated.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "summary": _sum_up(described),
        "fleet": fleet.compare(described),
        "nodes": described,
    }


def _describe_node(node: NodeResults) -> JsonObject:
    """Return what the report has of a node. A node that answers nonsense does not keep the others from being shown."""
    unread: JsonObject = {"name": printable.lines(node.name), "read": False, "error": None}
    if not node.info:
        return unread
    # A node may have been taken over, and then answers anything.
    try:
        if "attachments" not in node.info:
            return unread
        described: JsonObject = printable.escape_all(_describe(node.name, node.info, node.leaks or {}))
        # What is made of all nodes has to work for this one.
        topology.read(described)
        fleet.compare([described])
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as exc:
        return {**unread, "error": printable.lines(f"its results have an unexpected form: {exc!r}")}
    return described


def _describe(name: str, facts: JsonMapping, leaks: JsonMapping) -> JsonObject:
    node: JsonObject = {
        "name": name,
        "read": True,
        "problems": list(list_problems(facts)),
        "runtimes": [
            {**_pick(runtime, _RUNTIME), "active": any(unit["active"] for unit in runtime["units"])}
            for runtime in facts.get("runtimes", ())
        ],
        "plugins": [_with_error(plugin, _PLUGIN) for plugin in facts.get("plugins", ())],
        "releases": [_pick(release, _RELEASE) for release in facts.get("releases", ())],
        "networks": [_with_error(network, _NETWORK) for network in facts.get("networks", ())],
        "pools": [{**_pick(pool, _POOL), "percent": _fill(pool)} for pool in facts.get("leases", ())],
        "attachments": [_describe_attachment(entry) for entry in list_readable_attachments(facts)],
        "broken_records": [_with_error(entry, _RECORD) for entry in facts.get("attachments", ()) if entry.get("error")],
        "netns": [entry["name"] for entry in facts.get("netns", ())],
        "links": [_pick(link, _LINK) for link in facts.get("links", ())],
        "leaks": [_with_error(leak, _LEAK) for leak in leaks.get("findings", ())],
        "leaks_error": None if "findings" in leaks or leaks.get("skipped") else str(leaks.get("msg", "")) or None,
        "findings": [_pick(finding, _FINDING) for finding in facts.get("findings", ())],
    }
    return {**node, "summary": _count(node, facts)}


def _describe_attachment(facts: JsonMapping) -> JsonObject:
    interfaces = (facts.get("result") or {}).get("interfaces") or ()
    on_node = [str(each["name"]) for each in interfaces if each.get("name") and not each.get("sandbox")]
    problems = list(list_attachment_problems(facts))
    return {**_pick(facts, _ATTACHMENT), "node_interfaces": on_node, "problems": problems}


def _count(node: JsonMapping, facts: JsonMapping) -> JsonObject:
    dummy, drifted, unknown = count_drift(facts)
    severities = [finding["severity"] for finding in node["findings"]]
    return {
        "networks": len({network["name"] for network in node["networks"] if "name" in network}),
        "attachments": len(node["attachments"]),
        "drifted": drifted,
        "drift_unknown": unknown,
        "leaks": sum(leak["action"] in _COLLECTED for leak in node["leaks"]),
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "leases": sum(pool["taken"] for pool in node["pools"]),
        "fullest_pool": max((pool["percent"] for pool in node["pools"]), default=0),
        "flaws": len(
            {flaw for part in ("plugins", "releases") for entry in _current(node[part]) for flaw in entry["flaws"]}
        ),
    }


def _current(entries: t.Iterable[JsonMapping]) -> list[JsonMapping]:
    """Return the plugins and releases that are in use."""
    return [entry for entry in entries if entry.get("current", True) and not entry.get("shadowed")]


def _fill(pool: JsonMapping) -> int:
    """Return the share of addresses that are taken, in percent; only a full pool has 100."""
    return int(100 * min(pool["taken"], pool["size"]) // pool["size"]) if pool["size"] else 100


def _sum_up(nodes: t.Sequence[JsonMapping]) -> JsonObject:
    read = [node["summary"] for node in nodes if node["read"]]
    keys = ("networks", "attachments", "drifted", "drift_unknown", "leaks", "errors", "warnings", "leases", "flaws")
    totals = {key: sum(summary[key] for summary in read) for key in keys}
    return {"nodes": len(nodes), "unread": len(nodes) - len(read), **totals}


def _pick(facts: JsonMapping, types: _Types) -> JsonObject:
    """Return the named fields that there are.

    Raises:
        TypeError: One has another type. Lists are lists of text.
    """
    picked = {name: facts[name] for name in types if name in facts}
    for name, value in picked.items():
        is_right = isinstance(value, types[name])
        if not is_right or (isinstance(value, list) and not all(isinstance(entry, str) for entry in value)):
            raise TypeError(f"{name}: {type(value).__name__}")
    return picked


def _with_error(facts: JsonMapping, types: _Types) -> JsonObject:
    error = facts.get("error")
    return {**_pick(facts, types), "error": str(error["msg"]) if error else None}


__all__ = ("FORMAT", "NodeResults", "build")
