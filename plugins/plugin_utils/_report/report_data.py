# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The report of a fleet as data, which the page shows and which is written beside it.

Only fields that are named here get into it: results of plugins and arguments of attachments may hold secrets.
"""

from __future__ import annotations

import collections
import datetime
import shlex
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import DELETED, REMOVED
from ansible_collections.cni.node.plugins.module_utils._node.info.problems import (
    NodeProblem,
    count_drift,
    list_attachment_problems,
    list_missing_plugins,
    list_problems,
    list_readable_attachments,
)
from ansible_collections.cni.node.plugins.plugin_utils._report import details, fleet, topology

# Changes when a key changes its meaning or goes; a new key does not change it.
FORMAT = 1

_Types = t.Mapping[str, t.Union[type, tuple[type, ...]]]
_NONE = type(None)
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
_REPAIR: t.Final[_Types] = {
    "time": int,
    "network": str,
    "container_id": str,
    "ifname": str,
    "lost": list,
    "by": list,
}
_DIAGNOSIS: t.Final[_Types] = {"network": str, "container_id": str, "ifname": str, "from": str, "to": str}
_STEP: t.Final[_Types] = dict.fromkeys(("check", "state", "place", "way", "found", "needed", "command"), str)
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
_COLLECTED = (DELETED, REMOVED)


class NodeResults(t.NamedTuple):
    """The results of the modules for one node.

    Attributes:
        info: The result of the module `node_info`, or None.
        leaks: The result of the module `gc` in check mode, or None.
    """

    name: str
    info: JsonMapping | None
    leaks: JsonMapping | None = None


def build(
    nodes: t.Iterable[NodeResults], generated: datetime.datetime, known: t.Mapping[tuple[str, str], str] | None = None
) -> JsonObject:
    """Return the report.

    Args:
        known: Since when problems are known, as `read_known` returns it of an earlier report.
    """
    now = _format_time(generated)
    described: list[JsonObject] = []
    parts: list[fleet.NodeParts] = []
    for node in nodes:
        entry, read = _describe_node(node)
        entry["problems"] = [
            {**problem, "since": (known or {}).get((entry["name"], problem["kind"]), now)}
            for problem in entry["problems"]
        ]
        described.append(entry)
        parts += [read] if read else []
    compared = fleet.compare(parts)
    differing = fleet.list_differing(compared["differences"])
    for entry in described:
        entry["differs"] = differing.get(entry["name"], [])
    return {
        "format": FORMAT,
        "generated": now,
        "summary": _sum_up(described),
        "fleet": compared,
        "nodes": described,
    }


def read_known(report: object) -> dict[tuple[str, str], str]:
    """Return the time since when an earlier report has each problem, by node and kind; empty if it is not a report."""
    try:
        if report["format"] != FORMAT:  # type: ignore[index]
            return {}
        return {
            (node["name"], problem["kind"]): str(problem["since"])
            for node in report["nodes"]  # type: ignore[index]
            for problem in node["problems"]
        }
    except (LookupError, TypeError):
        return {}


def _describe_node(node: NodeResults) -> tuple[JsonObject, fleet.NodeParts | None]:
    """Return what the report has of a node, and what is compared with other nodes.

    A node that answers nonsense does not keep the others from being shown.
    """
    # A node may have been taken over, and then answers anything.
    try:
        if not node.info or "attachments" not in node.info:
            return _unread(node, str((node.info or {}).get("msg") or "")), None
        described = _describe(node.name, node.info, node.leaks or {})
        described["topology"] = topology.read(described).as_dict()
        # What is made of all nodes has to work for this one.
        details.list_details(described)
        return described, fleet.read_parts(described)
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as exc:
        return _unread(node, f"its results have an unexpected form: {exc!r}"), None


def _unread(node: NodeResults, reason: str) -> JsonObject:
    name = printable.lines(node.name)
    command = f"ansible {shlex.quote(name)} -m ansible.builtin.ping"
    problem = {"kind": "not read", "problem": "not read", "error": True, "command": command}
    return {"name": name, "read": False, "error": printable.lines(reason) or None, "problems": [problem]}


def _describe(name: str, facts: JsonMapping, leaks: JsonMapping) -> JsonObject:
    node: JsonObject = {
        "name": name,
        "read": True,
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
        "diagnoses": [
            {**_pick(entry, _DIAGNOSIS), "steps": [_pick(step, _STEP) for step in entry["steps"]]}
            for entry in facts.get("diagnoses", ())
        ],
        "repairs": [_describe_repair(repair) for repair in facts.get("repairs", ())],
        "findings": [_pick(finding, _FINDING) for finding in facts.get("findings", ())],
    }
    summary = _count(node, facts)
    problems = [*list_problems(facts), *_list_other_problems(node, summary)]
    described = {**node, "summary": summary, "problems": [_describe_problem(name, problem) for problem in problems]}
    # A node has many attachments: they are escaped as they are read.
    attachments = described.pop("attachments")
    return {**printable.escape_all(described), "attachments": attachments}


def _describe_problem(node: str, problem: NodeProblem) -> JsonObject:
    name = shlex.quote(printable.lines(node))
    command = f"ansible-playbook cni.node.{problem.playbook} --limit {name}" if problem.playbook else ""
    return {"kind": problem.kind, "problem": problem.text, "error": problem.is_error, "command": command}


def _list_other_problems(node: JsonMapping, summary: JsonMapping) -> t.Iterator[NodeProblem]:
    """Yield the problems that are not in the results of the module `node_info` alone."""
    errors = [finding["severity"] for finding in node["findings"]].count("error")
    if summary["leaks"]:
        yield NodeProblem("leak", quantity(summary["leaks"], "leak"), "gc")
    if errors:
        yield NodeProblem("error", f"{quantity(errors, 'error')} found by validation")
    if summary["flaws"]:
        yield NodeProblem("known flaw", quantity(summary["flaws"], "known flaw"), "upgrade", is_error=False)
    if summary["drift_unknown"]:
        yield NodeProblem("drift unknown", f"drift of {summary['drift_unknown']} unknown", is_error=False)
    if node["leaks_error"]:
        yield NodeProblem("leaks unknown", "leaks unknown", "gc --check", is_error=False)


def _describe_repair(repair: JsonMapping) -> JsonObject:
    """Return a repair that the node has made by itself, with its time in the format of the report."""
    picked = _pick(repair, _REPAIR)
    return {**picked, "time": _format_time(datetime.datetime.fromtimestamp(picked["time"], datetime.timezone.utc))}


def _format_time(time: datetime.datetime) -> str:
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _describe_attachment(facts: JsonMapping) -> JsonObject:
    interfaces = (facts.get("result") or {}).get("interfaces") or ()
    on_node = [str(each["name"]) for each in interfaces if each.get("name") and not each.get("sandbox")]
    problems = list(list_attachment_problems(facts))
    picked = {**_pick(facts, _ATTACHMENT), "node_interfaces": on_node, "problems": problems}
    return {key: _escape(value) for key, value in picked.items()}


def _escape(value: t.Any) -> t.Any:
    """Return text, or a list of texts, escaped; any other value as it is."""
    if isinstance(value, str):
        return printable.lines(value)
    return [printable.lines(entry) for entry in value] if isinstance(value, list) else value


def _count(node: JsonMapping, facts: JsonMapping) -> JsonObject:
    dummy, drifted, unknown = count_drift(facts)
    fullest = max(node["pools"], key=lambda pool: (pool["percent"], pool["taken"]), default=None)
    return {
        "networks": len({network["name"] for network in node["networks"] if "name" in network}),
        "attachments": len(node["attachments"]),
        "drifted": drifted,
        "drift_unknown": unknown,
        "leaks": sum(leak["action"] in _COLLECTED for leak in node["leaks"]),
        "errors": _count_errors(node, facts),
        "warnings": sum(finding["severity"] == "warning" for finding in node["findings"]),
        "leases": sum(pool["taken"] for pool in node["pools"]),
        "fullest_pool": fullest,
        "flaws": len(
            {flaw for part in ("plugins", "releases") for entry in _current(node[part]) for flaw in entry["flaws"]}
        ),
    }


def _count_errors(node: JsonMapping, facts: JsonMapping) -> int:
    """Return the number of errors: what validation finds, missing plugins, and plugins, networks and records that are broken.

    What validation finds, too, counts once.
    """
    found = [finding for finding in node["findings"] if finding["severity"] == "error"]
    files = {finding["file"] for finding in found}
    codes = collections.Counter(finding["code"] for finding in found)
    broken = [network["path"] for network in node["networks"] if network["error"] and network["path"] not in files]
    broken_plugins = sum(bool(plugin["error"]) for plugin in node["plugins"])
    return (
        len(found)
        + len(broken)
        + len(node["broken_records"])
        + max(0, broken_plugins - codes["broken-plugin"])
        + max(0, len(list_missing_plugins(facts)) - codes["missing-plugin"])
    )


def _current(entries: t.Iterable[JsonMapping]) -> list[JsonMapping]:
    """Return the plugins and releases that are in use."""
    return [entry for entry in entries if entry.get("current", True) and not entry.get("shadowed")]


def _fill(pool: JsonMapping) -> int:
    """Return the share of addresses that are taken, in percent, rounded down so that 100 means full."""
    return int(100 * min(pool["taken"], pool["size"]) // pool["size"]) if pool["size"] else 100


def _sum_up(nodes: t.Sequence[JsonMapping]) -> JsonObject:
    read = [node["summary"] for node in nodes if node["read"]]
    networks = {network["name"] for node in nodes if node["read"] for network in node["networks"] if "name" in network}
    keys = ("attachments", "drifted", "drift_unknown", "leaks", "errors", "warnings", "leases", "flaws")
    totals = {key: sum(summary[key] for summary in read) for key in keys}
    return {"nodes": len(nodes), "unread": len(nodes) - len(read), "networks": len(networks), **totals}


def _pick(facts: JsonMapping, types: _Types) -> JsonObject:
    """Return the named fields that there are.

    Raises:
        TypeError: One has another type. Lists are lists of text.
    """
    picked = {name: facts[name] for name in types if name in facts}
    for name, value in picked.items():
        is_right = isinstance(value, types[name])
        if not is_right or (value and isinstance(value, list) and not all(isinstance(entry, str) for entry in value)):
            raise TypeError(f"{name}: {type(value).__name__}")
    return picked


def _with_error(facts: JsonMapping, types: _Types) -> JsonObject:
    error = facts.get("error")
    return {**_pick(facts, types), "error": str(error["msg"]) if error else None}
