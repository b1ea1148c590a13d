# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Format attachments and nodes as tables of text, from results of the modules attachments and node_info."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.table import Row, lines
from ansible_collections.cni.node.plugins.module_utils._node.info.problems import (
    count_drift,
    list_problems,
    list_readable_attachments,
    list_used_networks,
)

ALL = "all"
DRIFTED = "drifted"

_ATTACHMENT: t.Final[Row] = ("NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "MAC", "ACTION")
_NODE: t.Final[Row] = ("NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "DRIFT", "TROUBLE")
_ATTACHMENT_OF_A_NODE: t.Final[Row] = ("NODE", "NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "PORTS", "DRIFT")
_RUNTIME: t.Final[Row] = ("RUNTIME", "VERSION", "CONF DIR", "PLUGIN DIRS")
# How many drifted attachments are listed.
_LIMIT = 20

_T = t.TypeVar("_T")


def format_attachments(attachments: t.Sequence[JsonMapping]) -> list[str]:
    """Return a heading, and a line for each attachment, as the modules attachments and node_info return it.

    Raises:
        CniError: ``DECODE_FAILURE``: an attachment has another form.
    """
    rows = (_make(f"attachments[{index}]", _attachment, entry) for index, entry in enumerate(attachments))
    return lines(_ATTACHMENT, rows)


def format_nodes(
    nodes: t.Mapping[str, JsonMapping], which: str = DRIFTED, failures: t.Mapping[str, t.Sequence[str]] | None = None
) -> list[str]:
    """Return the lines of a table of nodes, and of a table of their attachments if there are any to list.

    Args:
        nodes: Results of the module node_info.
        which: The attachments to list, `ALL` or `DRIFTED`.
        failures: The nodes on which a task has failed, with the step in a few words; these may have no result.

    Raises:
        CniError: ``DECODE_FAILURE``: a result has another form.
    """
    failed = failures or {}
    read = {**nodes, **{name: {} for name in failed if name not in nodes}}
    table = lines(
        _NODE, [_make_of_node(name, _node, name, facts, failed.get(name, ())) for name, facts in read.items()]
    )
    rows = [row for name, facts in nodes.items() for row in _make_of_node(name, _list_attachments, name, facts, which)]
    limit = len(rows) if which == ALL else _LIMIT
    more = [f"and {len(rows) - limit} more"] if len(rows) > limit else []
    return [*table, "", *lines(_ATTACHMENT_OF_A_NODE, rows[:limit]), *more] if rows else table


def format_runtimes(runtimes: t.Sequence[JsonMapping]) -> list[str]:
    """Return a heading, and a line for each container runtime, as the module node_info returns it."""
    return lines(
        _RUNTIME,
        (
            (entry["name"], entry["version"] or "-", entry["conf_dir"] or "-", ":".join(entry["plugin_dirs"]) or "-")
            for entry in runtimes
        ),
    )


def has_failed(result: JsonMapping) -> bool:
    return bool(result.get("failed") or result.get("unreachable"))


def describe_unread(result: JsonMapping) -> str:
    """Return why a node could not be read, in a few words."""
    lines_of_reason = str(result.get("msg") or "").strip().splitlines()
    what = "not reached" if result.get("unreachable") else "not read"
    return ": ".join([what, *lines_of_reason[:1]])


def _make_of_node(name: str, make: t.Callable[..., _T], *arguments: t.Any) -> _T:
    return _make(f"the value of {printable.line(name)}", make, *arguments)


def _make(where: str, make: t.Callable[..., _T], *arguments: t.Any) -> _T:
    try:
        return make(*arguments)
    except (AttributeError, KeyError, TypeError) as exc:
        raise CniError(Code.DECODE_FAILURE, f"{where} has an unexpected form") from exc


def _attachment(attachment: JsonMapping) -> Row:
    result = attachment.get("result") or {}
    error = attachment.get("error") or {}
    return (
        str(attachment.get("network", "?")),
        str(attachment.get("container_id", attachment.get("path", "?"))),
        str(attachment.get("ifname", "?")),
        ",".join(_addresses(result)) or "-",
        _mac(result, attachment) or "-",
        str(attachment.get("action") or error.get("msg") or "-"),
    )


def _addresses(result: JsonMapping) -> list[str]:
    families = [result[family]["ip"] for family in ("ip4", "ip6") if result.get(family)]
    return [ip["address"] for ip in result.get("ips") or ()] + families


def _mac(result: JsonMapping, attachment: JsonMapping) -> str:
    inside = [interface for interface in result.get("interfaces") or () if interface.get("sandbox")]
    named = [interface.get("mac", "") for interface in inside if interface.get("name") == attachment.get("ifname")]
    return named[0] if named else ""


def _node(name: str, facts: JsonMapping, failure: t.Sequence[str]) -> Row:
    unread = [describe_unread(facts)] if has_failed(facts) and "attachments" not in facts else []
    return (
        name,
        _plugins(facts),
        ",".join(network["name"] for network in list_used_networks(facts)) or "-",
        str(len(facts["attachments"])) if "attachments" in facts else "-",
        _drift(facts),
        ", ".join([*(failure or unread), *(problem.text for problem in list_problems(facts))]) or "-",
    )


def _plugins(facts: JsonMapping) -> str:
    releases = [release["version"] for release in facts.get("releases", ()) if release["current"]]
    if releases:
        return ",".join(releases)
    return f"{len(facts['plugins'])} found" if facts.get("plugins") else "-"


def _drift(facts: JsonMapping) -> str:
    live, drifted, unknown = count_drift(facts)
    counted = [str(drifted or "none")] if live > unknown else []
    return ", ".join([*counted, *([f"{unknown} unknown"] if unknown else [])]) or "-"


def _list_attachments(name: str, facts: JsonMapping, which: str) -> list[Row]:
    return [
        (
            name,
            str(attachment["network"]),
            str(attachment["container_id"]),
            str(attachment["ifname"]),
            ",".join(attachment.get("addresses", ())) or "-",
            ",".join(attachment.get("ports", ())) or "-",
            "unknown" if attachment.get("drift") is None else "; ".join(attachment["drift"]) or "none",
        )
        for attachment in list_readable_attachments(facts)
        if which == ALL or attachment.get("drift")
    ]
