# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The report of a fleet as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import collections
import hashlib
import os
import re
import typing as t

import jinja2
from markupsafe import Markup

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._report import details

# A fleet with at most this many nodes is shown with all details.
_MOST_OPEN = 5
# How many texts of a list are shown, such as names of nodes; the data beside the page has all.
_MOST_NAMES = 8
_MOST_COLLISIONS = 50
# A longer table is closed at first.
_MOST_ROWS = 20
_SCRIPTS = ("drawing.js", "details.js", "page.js")
# What the numbers at the top count: the key in a summary, the label, the class of a number above 0, and what it is.
_CARDS = (
    ("unread", "Not read", "bad", "nodes that could not be read"),
    (
        "errors",
        "Errors",
        "bad",
        "errors that validation finds, missing plugins, and plugins, networks and records that are broken",
    ),
    ("drifted", "Drifted", "bad", "attachments that differ from the kernel"),
    ("leaks", "Leaks", "bad", "resources without an owner, which the playbook gc would remove"),
    ("warnings", "Warnings", "warn", "warnings of validation"),
    ("flaws", "Known flaws", "warn", "known flaws of the plugins of each node"),
)
# Columns that are left out where every node has 0.
_COLUMNS = (
    ("Errors", "errors", "bad"),
    ("Drifted", "drifted", "bad"),
    ("Leaks", "leaks", "bad"),
    ("Warnings", "warnings", "warn"),
)
_WORD = re.compile(r"[^ ,]+")


def render(report: JsonMapping) -> str:
    """Return the page.

    Every value is escaped. Should one ever not be, the page's security policy allows no script and no style but its own.

    Args:
        report: The result of `document.build`.

    Raises:
        AttributeError, KeyError, TypeError: It is something else.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    style, script = _read("page.css"), "".join(map(_read, _SCRIPTS))
    nodes = [{**node, "id": f"n{place}"} for place, node in enumerate(report["nodes"], 1)]
    read = [node for node in nodes if node["read"]]
    try:
        return environment.from_string(_read("page.html.j2")).render(
            report=report,
            nodes=sorted(nodes, key=_rank),
            summary=report["summary"],
            cards=_CARDS,
            columns=[column for column in _COLUMNS if any(_has_number(node, column[1]) for node in read)],
            has_runtimes=any(node["runtimes"] for node in read),
            troubled=sum(bool(node["problems"]) for node in nodes),
            kinds=_list_kinds,
            time=_format_time,
            names=lambda names: printable.shorten(names, _MOST_NAMES),
            mark=_mark_differences,
            data=Markup(details.pack((node["id"], node) for node in read)),
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(script),
            script_hash=_hash(script),
            most_open=_MOST_OPEN,
            most_collisions=_MOST_COLLISIONS,
            most_rows=_MOST_ROWS,
        )
    except jinja2.UndefinedError as exc:
        raise KeyError(str(exc)) from exc


def _read(name: str) -> str:
    return (durable.read(os.path.join(os.path.dirname(__file__), name)) or b"").decode()


def _hash(text: str) -> str:
    """Return the hash of a style or a script as the security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _rank(node: JsonMapping) -> tuple[int, ...]:
    """Return the place of a node in the order of the page: the worst first, equal ones in the order of the report."""
    if not node["read"]:
        return (0,)
    summary = node["summary"]
    errors = [problem for problem in node["problems"] if problem["error"]]
    worst = len(errors) + summary["errors"] + summary["drifted"] + summary["leaks"]
    return 1, -worst, -len(node["problems"]), -summary["warnings"], -len(node["differs"])


def _has_number(node: JsonMapping, key: str) -> bool:
    """Return whether a node has more than 0 of what a column counts, or an unknown number."""
    return bool(node["summary"][key] or (key == "leaks" and node["leaks_error"]))


def _list_kinds(node: JsonMapping) -> str:
    """Return what the page can filter nodes by: the cards that count something of it, and whether it has problems."""
    counted = [key for key, *dummy in _CARDS if node["read"] and node["summary"].get(key)]
    unread = [] if node["read"] else ["unread"]
    return " ".join([*unread, *counted, *(["problems"] if node["problems"] else [])])


def _format_time(written: str) -> str:
    return written.replace("T", " ").replace("Z", " UTC")


def _mark_differences(values: t.Sequence[JsonMapping]) -> list[JsonObject]:
    """Return values that differ, each with its parts, of which those that not all values have are marked."""
    counted = [collections.Counter(_WORD.findall(group["value"])) for group in values]
    marked = []
    for group, words in zip(values, counted):
        parts, end = [], 0
        for match in _WORD.finditer(group["value"]):
            word = match[0]
            is_common = all(other[word] == words[word] for other in counted)
            parts += [(group["value"][end : match.start()], False), (word, not is_common)]
            end = match.end()
        marked.append({"parts": [*parts, (group["value"][end:], False)], "nodes": group["nodes"]})
    return marked
