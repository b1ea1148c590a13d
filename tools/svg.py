# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Boxes and arrows as plain SVG, readable in light and dark."""

from __future__ import annotations

import dataclasses
from xml.sax.saxutils import escape

_STYLE = """\
text { font-family: system-ui, "DejaVu Sans", sans-serif; text-anchor: middle; fill: #1f2328; }
.name { font-size: 15px; font-weight: 600; }
.caption { font-size: 12px; fill: #59636e; }
.page { fill: #ffffff; }
.floor { fill: #f1f4f8; stroke: #8b98a9; }
.controller { fill: #fbf3e4; stroke: #b39a6b; }
.room { fill: #ffffff; stroke: #8b98a9; }
.arrow { stroke: #2f6fbb; stroke-width: 1.5; fill: none; }
.tip { fill: #2f6fbb; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .caption { fill: #9aa6b2; }
  .page { fill: #0d1117; }
  .floor { fill: #161d27; stroke: #55616f; }
  .controller { fill: #241d10; stroke: #7d6a42; }
  .room { fill: #0d1117; stroke: #55616f; }
  .arrow { stroke: #6aa5ee; }
  .tip { fill: #6aa5ee; }
}
"""
_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="tip" d="M0 0 8 4 0 8z"/></marker>'
)


@dataclasses.dataclass(frozen=True)
class Box:
    """A rectangle, in pixels from the top left corner of the drawing."""

    left: int
    top: int
    width: int
    height: int

    @property
    def centre(self) -> int:
        return self.left + self.width // 2

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def with_height(self, height: int) -> Box:
        """Return the box with another height and the same bottom."""
        return Box(self.left, self.bottom - height, self.width, height)

    def with_width(self, limit: int) -> Box:
        """Return the box with at most this width and the same centre."""
        width = min(limit, self.width)
        return Box(self.centre - width // 2, self.top, width, self.height)


class Drawing:
    """Collects shapes; arrows lie on top of boxes."""

    def __init__(self, width: int, title: str, description: str) -> None:
        self._width = width
        self._words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
        self._boxes: list[str] = []
        self._arrows: list[str] = []

    def add_box(self, box: Box, name: str, caption: str, kind: str, *, centred: bool = True) -> None:
        """Draw a box with a name and a caption: in its middle, or at its top to leave room for boxes inside."""
        line = box.top + (box.height // 2 - 3 if centred else 22)
        self._boxes += [
            f'<rect class="{kind}" x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="6"/>',
            f'<text class="name" x="{box.centre}" y="{line}">{escape(name)}</text>',
            f'<text class="caption" x="{box.centre}" y="{line + 17}">{escape(caption)}</text>',
        ]

    def add_arrow(self, upper: Box, lower: Box) -> None:
        path = f"M{upper.centre} {upper.bottom} {lower.centre} {lower.top}"
        self._arrows.append(f'<path class="arrow" d="{path}" marker-end="url(#tip)"/>')

    def render(self, height: int) -> str:
        """Return the file's text."""
        size = f'viewBox="0 0 {self._width} {height}" width="{self._width}" height="{height}"'
        shapes = [f'<rect class="page" width="{self._width}" height="{height}"/>', *self._boxes, *self._arrows]
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        return "\n".join(
            [head, self._words, f"<style>\n{_STYLE}</style>", f"<defs>{_TIP}</defs>", *shapes, "</svg>", ""]
        )
