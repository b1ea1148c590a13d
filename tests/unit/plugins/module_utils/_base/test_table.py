# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables keep their columns aligned, and one cell does not make all lines long."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table.lines(("A", "B"), [("long", "x"), ("y", "\x1b")]) == ["A     B", "long  x", "y     \\x1b"]


def test_a_cell_of_a_hostile_record_makes_only_its_own_line_long() -> None:
    heading, hostile, other = table.lines(("A", "B"), [("x" * 100_000, "y"), ("a", "b")])
    assert len(heading) == len(other) < 300
    assert hostile == "x" * 100_000 + "  y"
