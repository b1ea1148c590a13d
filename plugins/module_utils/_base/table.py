# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Tables of text with aligned columns."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable

Row = tuple[str, ...]
# Characters up to which a column is widened. A longer cell moves the rest of its own line only.
_WIDEST = 200


def lines(headings: Row, rows: t.Iterable[Row]) -> list[str]:
    """Return the lines of a table with aligned columns. Control characters in cells are escaped."""
    table = [headings, *(tuple(map(printable.line, row)) for row in rows)]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*table)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
