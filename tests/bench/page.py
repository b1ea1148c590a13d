# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replace the tables between two markers in a page of prose."""

from __future__ import annotations

import pathlib
import re
import typing as t


def replace(page: pathlib.Path, chapters: t.Mapping[str, str]) -> None:
    """Put each chapter's tables between `<!-- bench NAME -->` and `<!-- bench end -->`."""
    text = page.read_text(encoding="utf-8")
    for name, tables in chapters.items():
        begin, end = re.escape(f"<!-- bench {name} -->"), re.escape("<!-- bench end -->")
        parts = re.split(f"({begin}\n).*?({end})", text, flags=re.DOTALL)
        if len(parts) != 4:
            raise SystemExit(f"bench: {page} has no one place for {name}: <!-- bench {name} --> to <!-- bench end -->")
        before, opening, closing, after = parts
        text = f"{before}{opening}\n{tables}\n\n{closing}{after}"
    page.write_text(text, encoding="utf-8")
