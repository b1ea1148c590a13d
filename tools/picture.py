# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draw the floors and rooms of plugins/ from their imports into docs/architecture.svg: python -m tools.picture."""

from __future__ import annotations

import functools
import typing as t

from tools import imports
from tools.paths import ROOT
from tools.svg import Box, Drawing

PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH = 1000
MARGIN = 20
GAP = 36
ROOM_HEIGHT = 44
ROOM_WIDTH = 220
FLOOR_HEIGHT = 50

# Floors that never travel to a node.
CONTROLLER = ("action", "become", "filter", "inventory", "test", "plugin_utils")
# Directories of the rooms, by floor.
DIRECTORIES = {
    "_node": ("plugins", "module_utils", "_node"),
    "plugin_utils": ("plugins", "plugin_utils", "_validation"),
}
CAPTIONS = {
    "action": "tasks that begin on the controller",
    "become": "tasks in a namespace",
    "filter": "findings, previews",
    "inventory": "attachments as hosts",
    "test": "checks in expressions",
    "plugin_utils": "the controller's validation, in rooms of _validation",
    "modules": "documentation and arguments of each module",
    "_command": "the command cni-node: options, tables, exit status",
    "_module": "Ansible's side: arguments, diffs, results, the single fail_json",
    "_node": "what a node does, one room for each capability",
    "_reference": "what the reference plugins make in the kernel and on disk",
    "_cni": "the CNI specification as code",
    "_linux": "the kernel: namespaces, links, rules",
    "_base": "errors, JSON, durable files, locks, processes",
    "attachments": "ADD, CHECK, DEL, drift",
    "runtimes": "what is known of each",
    "preflight": "what a runtime needs",
    "repair": "repair what was lost",
    "watch": "repair at once",
    "bundle": "an archive for helpers",
    "boot": "restore after a reboot",
    "library": "the code on the node",
    "conflists": "the conf dir",
    "files": "planned file changes",
    "gc": "leaks",
    "info": "node_info",
    "kernel": "modules, sysctls",
    "plugins": "the bin dir",
    "trial": "verify",
    "document": "keys and their positions",
    "fleet": "comparison of hosts",
    "manifests": "networks of Multus",
    "rules": "findings in a network",
    "schema": "JSON Schemas",
}

Graph = dict[str, set[str]]


def main() -> None:
    PICTURE.write_text(draw(read_files()), encoding="utf-8")


def read_files() -> Graph:
    """Return for each Python file below plugins/ those that it imports, by dotted names."""
    return imports.read_graph(ROOT, (file.relative_to(ROOT) for file in sorted((ROOT / "plugins").rglob("*.py"))))


def draw(files: t.Mapping[str, set[str]]) -> str:
    """Return the picture: each floor lies above those that it imports, and holds its rooms in the same order."""
    drawing = Drawing(
        WIDTH, "Floors and rooms of plugins/", "Arrows are imports. An import that others imply has none."
    )
    floors = reduce(collapse(files, floor_of))
    rooms = {floor: reduce(collapse(files, functools.partial(room_of, floor=floor))) for floor in DIRECTORIES}
    top, boxes = MARGIN, dict[str, Box]()
    for level in list_levels(floors):
        heights = [_height(rooms.get(floor, {})) for floor in level]
        for floor, box in zip(level, _row(level, top, WIDTH - MARGIN, max(heights))):
            boxes[floor] = box = box.with_height(_height(rooms.get(floor, {})))
            kind = "controller" if floor in CONTROLLER else "floor"
            drawing.add_box(box, floor, CAPTIONS[floor], kind, centred=floor not in rooms)
            _draw_rooms(drawing, box, rooms.get(floor, {}))
        top += max(heights) + GAP
    _draw_arrows(drawing, floors, boxes)
    return drawing.render(top - GAP + MARGIN)


def floor_of(name: str) -> str:
    parts = name.split(".")
    return parts[2] if parts[1] == "module_utils" else parts[1]


def room_of(name: str, floor: str) -> str:
    """Return the room of a file on a floor; an empty string for a file elsewhere."""
    path, parts = DIRECTORIES[floor], tuple(name.split("."))
    return parts[len(path)] if parts[: len(path)] == path and len(parts) > len(path) + 1 else ""


def collapse(files: t.Mapping[str, set[str]], group_of: t.Callable[[str], str]) -> Graph:
    """Return the imports between groups of files; files without a group and groups without imports are left out."""
    groups: Graph = {}
    for name, targets in files.items():
        for target in targets:
            source, destination = group_of(name), group_of(target)
            if source and destination and source != destination:
                groups.setdefault(source, set()).add(destination)
                groups.setdefault(destination, set())
    return groups


def reduce(graph: Graph) -> Graph:
    """Return the graph without the edges that follow from others."""
    return {
        node: {target for target in targets if not any(target in _reachable(graph, other) for other in targets)}
        for node, targets in sorted(graph.items())
    }


def _reachable(graph: Graph, start: str) -> set[str]:
    """Return the nodes below a node. The graph has no cycles: tests/unit/test_floors.py holds that."""
    return set().union(*({target} | _reachable(graph, target) for target in graph[start]))


def list_levels(graph: Graph) -> list[list[str]]:
    """Return the nodes from the top level down; each lies just above the highest that it imports."""
    depth = {node: _depth(graph, node) for node in graph}
    levels: list[list[str]] = []
    order: dict[str, float] = {}
    for number in range(max(depth.values(), default=-1) + 1):
        level = sorted(node for node in graph if depth[node] == number)
        # Nodes stand above what they import, so that few arrows cross.
        level.sort(key=lambda node: sum(order[target] for target in graph[node]) / (len(graph[node]) or 1))
        order.update((node, (position + 1) / (len(level) + 1)) for position, node in enumerate(level))
        levels.insert(0, level)
    return levels


def _depth(graph: Graph, node: str) -> int:
    return max((1 + _depth(graph, target) for target in graph[node]), default=0)


def _height(rooms: Graph) -> int:
    levels = len(list_levels(rooms))
    return FLOOR_HEIGHT + levels * (ROOM_HEIGHT + GAP) - (GAP - MARGIN // 2 if levels else 0)


def _row(names: t.Sequence[str], top: int, right: int, height: int, left: int = MARGIN) -> list[Box]:
    """Return boxes of equal width side by side."""
    width = (right - left - MARGIN * (len(names) - 1)) // len(names)
    return [Box(left + number * (width + MARGIN), top, width, height) for number in range(len(names))]


def _draw_rooms(drawing: Drawing, floor: Box, rooms: Graph) -> None:
    boxes: dict[str, Box] = {}
    top = floor.top + FLOOR_HEIGHT
    for level in list_levels(rooms):
        inside = floor.left + MARGIN // 2
        for room, box in zip(level, _row(level, top, floor.left + floor.width - MARGIN // 2, ROOM_HEIGHT, inside)):
            boxes[room] = box = box.with_width(ROOM_WIDTH)
            drawing.add_box(box, room, CAPTIONS[room], "room")
        top += ROOM_HEIGHT + GAP
    _draw_arrows(drawing, rooms, boxes)


def _draw_arrows(drawing: Drawing, graph: Graph, boxes: t.Mapping[str, Box]) -> None:
    for node, targets in graph.items():
        for target in sorted(targets):
            drawing.add_arrow(boxes[node], boxes[target])


if __name__ == "__main__":
    main()
