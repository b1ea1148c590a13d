# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Draw the topology of a node as SVG, from the node's links on the left to the containers on the right.

The colours are those of the page: the drawing has only classes.
"""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET

from ansible_collections.cni.node.plugins.plugin_utils._report.topology import Container, Path, Topology, Uplink

# Pixels. Text is in a font of one width.
_CHARACTER: t.Final = 7.3
_LINE: t.Final = 17
_PADDING: t.Final = 8
_GAP: t.Final = 12
_MARGIN: t.Final = 4
# The columns: links of the node, segments, containers.
_WIDTHS: t.Final = (190, 270, 350)
_BETWEEN: t.Final = 90
# With more, a drawing is too large to be read; the table below it has all containers.
_MOST_CONTAINERS: t.Final = 40

_Edge = tuple[str, str, str]


class _Box:
    """A box of text with its place; ``lines`` are cut to its width."""

    def __init__(self, css: str, lines: t.Sequence[str], column: int) -> None:
        self.css, self.lines, self.column = css, lines, column
        self.height = 2 * _PADDING + _LINE * len(lines)
        self.x = self.y = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        return self.x + _WIDTHS[self.column]


def draw(topology: Topology, name: str) -> str:
    """Return the drawing as an SVG element; an empty string if there is nothing to draw.

    Args:
        name: The node's name, for people who do not see the drawing.
    """
    boxes, edges = _make_boxes(topology)
    if not boxes:
        return ""
    width, height = _place(boxes)
    svg = ET.Element("svg", {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"})
    svg.set("class", "drawing")
    svg.set("role", "img")
    ET.SubElement(svg, "title").text = f"Networks of {name}"
    for start, end, css in edges:
        _draw_edge(svg, boxes[start], boxes[end], css)
    for box in boxes.values():
        _draw_box(svg, box)
    return ET.tostring(svg, encoding="unicode")


def _make_boxes(topology: Topology) -> tuple[dict[str, _Box], list[_Edge]]:
    boxes: dict[str, _Box] = {}
    edges: list[_Edge] = []
    for uplink in _with_children(topology.uplinks):
        boxes[f"uplink {uplink.name}"] = _uplink_box(uplink)
        if f"uplink {uplink.parent}" in boxes:
            edges.append((f"uplink {uplink.parent}", f"uplink {uplink.name}", "joined"))
    for segment in topology.segments:
        lines = [segment.title, *(f"network {network}" for network in segment.networks), *segment.addresses]
        css = "segment missing" if segment.is_missing else "segment"
        boxes[f"segment {segment.key}"] = _Box(css, [*lines, *(["missing"] if segment.is_missing else [])], 1)
        edges += [(f"uplink {path.uplink}", f"segment {segment.key}", path.how) for path in _distinct(segment.paths)]
    # Containers with problems come first, then those of one segment beside each other.
    order = {segment.key: place for place, segment in enumerate(topology.segments)}
    listed = sorted(topology.containers, key=lambda each: (not each.problems, order[each.interfaces[0].segment]))
    shown = sorted(listed[:_MOST_CONTAINERS], key=lambda each: order[each.interfaces[0].segment])
    for place, container in enumerate(shown):
        boxes[f"container {place}"] = _container_box(container)
        for interface in container.interfaces:
            css = "joined drifted" if interface.has_problem else "joined"
            edges.append((f"segment {interface.segment}", f"container {place}", css))
    if len(listed) > len(shown):
        boxes["more"] = _Box("more", [f"and {len(listed) - len(shown)} more containers"], 2)
    return boxes, edges


def _distinct(paths: t.Iterable[Path]) -> t.Iterable[Path]:
    """Return one path for each uplink: the first, as a port of a bridge says more than a route."""
    return {path.uplink: path for path in reversed(list(paths))}.values()


def _with_children(uplinks: t.Collection[Uplink]) -> t.Iterable[Uplink]:
    """Return links so that those on top of another one follow it. An answer of a node may have a circle of parents."""
    placed: dict[str, Uplink] = {}
    names = {uplink.name for uplink in uplinks}
    for start in [*(uplink for uplink in uplinks if uplink.parent not in names), *uplinks]:
        stack = [start]
        while stack:
            uplink = stack.pop()
            if uplink.name not in placed:
                placed[uplink.name] = uplink
                stack += [child for child in uplinks if child.parent == uplink.name]
    return placed.values()


def _uplink_box(uplink: Uplink) -> _Box:
    state = ["missing"] if uplink.is_missing else [] if uplink.is_up else ["down"]
    tag = [f"VLAN {uplink.vlan} on {uplink.parent}"] if uplink.vlan else []
    css = "uplink missing" if state else "uplink"
    return _Box(css, [uplink.name, *tag, *uplink.addresses, *state], 0)


def _container_box(container: Container) -> _Box:
    lines = [container.name]
    for interface in container.interfaces:
        lines.append(" ".join([interface.name, *interface.addresses]))
        lines += [f"port {port}" for port in interface.ports]
    css = "container" + (" drifted" if container.problems else "") + ("" if container.is_own else " foreign")
    return _Box(css, [*lines, *container.problems], 2)


def _place(boxes: t.Mapping[str, _Box]) -> tuple[float, float]:
    """Give each box its place, and return the size of the drawing."""
    columns = [[box for box in boxes.values() if box.column == column] for column in range(len(_WIDTHS))]
    x, height = float(_MARGIN), 0.0
    for members in filter(None, columns):
        y = float(_MARGIN)
        for box in members:
            box.x, box.y = x, y
            y += box.height + _GAP
        height = max(height, y - _GAP + _MARGIN)
        x += _WIDTHS[members[0].column] + _BETWEEN
    for members in filter(None, columns):
        free = height - _MARGIN - members[-1].y - members[-1].height
        for place, box in enumerate(members):
            # A column with fewer boxes is spread over the whole height.
            box.y += free * (2 * place + 1) / (2 * len(members))
    return x - _BETWEEN + _MARGIN, height


def _draw_edge(svg: ET.Element, start: _Box, end: _Box, css: str) -> None:
    if start.column == end.column:
        path = f"M{start.x + 2 * _PADDING:g} {start.middle:g}V{end.middle:g}"
    else:
        bend, fall = (end.x - start.right) / 2, end.middle - start.middle
        path = f"M{start.right:g} {start.middle:g}c{bend:g} 0 {bend:g} {fall:g} {2 * bend:g} {fall:g}"
    line = ET.SubElement(svg, "path", {"class": f"edge {css}", "d": path})
    ET.SubElement(line, "title").text = css.split(" ")[0]


def _draw_box(svg: ET.Element, box: _Box) -> None:
    group = ET.SubElement(svg, "g", {"class": box.css})
    ET.SubElement(group, "title").text = "\n".join(box.lines)
    size = {"width": f"{_WIDTHS[box.column]}", "height": f"{box.height:g}", "rx": "6"}
    ET.SubElement(group, "rect", {"x": f"{box.x:g}", "y": f"{box.y:g}", **size})
    most = int((_WIDTHS[box.column] - 2 * _PADDING) / _CHARACTER)
    for place, line in enumerate(box.lines):
        y = box.y + _PADDING + _LINE * place + 13
        text = ET.SubElement(group, "text", {"x": f"{box.x + _PADDING:g}", "y": f"{y:g}"})
        if place == 0:
            text.set("class", "name")
        text.text = line if len(line) <= most else f"{line[: most - 1]}…"


__all__ = ("draw",)
