# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Phrases that the project does not use, and the places in a text where they stand."""

from __future__ import annotations

import re
import typing as t

# Each phrase with what to write in its place. Words of one phrase may be separated by a line break.
PHRASES = {
    "nobody": "name the missing owner, caller or user",
    "somebody": "name the person or program",
    "whoever": "name the person or program",
    "everybody": "name the readers",
    "none of ours": "name what is not managed by this collection",
    "is to be": "write `must be`, `will be` or the plain verb",
    ", for it": "write `because it`",
    ", or nothing": "write `or None` or `or an empty string`",
    "put back": "write `repair`",
    "puts back": "write `repairs`",
    "take back": "write `undo`",
    "takes back": "write `undoes`",
}
# A line break of a comment or a quotation has a mark of its own.
_BREAK = r"(?:\s|\n\s*[#>])+"


class Place(t.NamedTuple):
    """A phrase in a text, by the line it begins in, counted from 0."""

    line: int
    phrase: str


def find_phrases(text: str) -> t.Iterator[Place]:
    for phrase, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            yield Place(text.count("\n", 0, match.start()), phrase)


def without_code(text: str) -> str:
    """Blank out the code in a page, where `nobody` is a user; line breaks stay."""
    return re.sub(r"```.*?```|`[^`\n]*`", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)


def _pattern(phrase: str) -> re.Pattern[str]:
    first = "" if phrase.startswith(",") else r"\b"
    return re.compile(first + _BREAK.join(map(re.escape, phrase.split())) + r"\b", re.IGNORECASE)


_PATTERNS = {phrase: _pattern(phrase) for phrase in PHRASES}
