# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The report of a fleet as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import os
import typing as t

import jinja2
from markupsafe import Markup

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.plugin_utils._report import drawing, topology

# A fleet with at most this many nodes is shown with all details.
_MOST_OPEN: t.Final = 5
# How many node names and collisions are listed; the data beside the page has all.
_MOST_NAMES: t.Final = 8
_MOST_COLLISIONS: t.Final = 50
# A longer table is closed at first.
_MOST_ROWS: t.Final = 20


def render(report: JsonMapping) -> str:
    """Return the page.

    Every value is escaped. Should one ever not be, the page's security policy allows no script and no style but its own.

    Args:
        report: The result of `document.build`.

    Raises:
        AttributeError, KeyError, TypeError: It is something else.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    style, script = _read("page.css"), _read("page.js")
    read = [node for node in report["nodes"] if node["read"]]
    drawings = {node["name"]: Markup(drawing.draw(topology.read(node), node["name"])) for node in read}
    try:
        return environment.from_string(_read("page.html.j2")).render(
            report=report,
            summary=report["summary"],
            drawings=drawings,
            names=_names,
            open_points_of=_list_open_points,
            plugin_groups=_group_plugins,
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


def _list_open_points(node: JsonMapping) -> list[str]:
    """Return what is wrong with a node, or unknown, in a few words each."""
    summary = node["summary"]
    counted = [(summary["leaks"], "leak"), (summary["errors"], "error"), (summary["flaws"], "known flaw")]
    return [
        *node["problems"],
        *(quantity(number, noun) for number, noun in counted if number),
        *([f"drift of {summary['drift_unknown']} unknown"] if summary["drift_unknown"] else []),
        *(["leaks unknown"] if node["leaks_error"] else []),
    ]


def _names(nodes: t.Sequence[str]) -> str:
    more = [f"and {len(nodes) - _MOST_NAMES} more"] if len(nodes) > _MOST_NAMES else []
    return ", ".join([*nodes[:_MOST_NAMES], *more])


def _group_plugins(plugins: t.Iterable[JsonMapping]) -> list[JsonObject]:
    """Return plugins that differ only in their type as one group."""
    groups: dict[str, JsonObject] = {}
    for plugin in plugins:
        common = {name: plugin[name] for name in ("release", "shadowed", "flaws", "error")}
        directory = os.path.dirname(plugin["path"])
        group = groups.setdefault(repr([directory, common]), {"directory": directory, **common, "types": []})
        group["types"].append(plugin["type"])
    return [group for dummy, group in sorted(groups.items())]


__all__ = ("render",)
