# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Markdown tables that are readable as text."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.tests.bench.series import Series


@dataclasses.dataclass(frozen=True)
class Target:
    """The limit of a median."""

    limit: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"

    def judged(self, measured: Series) -> str:
        met = measured.median >= self.limit if self.at_least else measured.median <= self.limit
        return f"{measured} **{'met' if met else 'not met'}**"


def table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[object]]) -> str:
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def judged_row(name: str, measured: t.Iterable[Series], target: Target) -> list[str]:
    return [name, *(target.judged(series) for series in measured), str(target)]
