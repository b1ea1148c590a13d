# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Escape text from outside, such as names of links and files, output of plugins, and answers of servers.

Unescaped, such text could control the reader's terminal, and invalid UTF-8 cannot be sent to the controller.
"""

from __future__ import annotations

import re
import typing as t

# Control characters including ESC and the 8-bit ones, line and paragraph separators, marks that change the direction
# of writing, and surrogates, which stand for bytes that are not UTF-8.
_UNSAFE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
# In place of secrets.
HIDDEN = "***"
_IN_TEXT = f"[{_UNSAFE}]"
_IN_LINE = f"[\\t\\n{_UNSAFE}]"


def lines(text: str) -> str:
    r"""Return text with unsafe characters escaped as ``\x1b`` and the like; line breaks and tabs stay."""
    return text if text.isprintable() else re.sub(_IN_TEXT, _escape, text)


def line(text: str) -> str:
    r"""Return text as one line for use in a sentence: as `lines`, with line breaks and tabs escaped too."""
    return text if text.isprintable() else re.sub(_IN_LINE, _escape, text)


def escape_all(value: t.Any) -> t.Any:
    """Return a JSON value with all its strings and keys escaped as by `lines`."""
    if isinstance(value, str):
        return lines(value)
    if isinstance(value, dict):
        return {escape_all(key): escape_all(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [escape_all(entry) for entry in value]
    return value


def plural(noun: str, number: int) -> str:
    """Return a noun in the singular for one, else in the plural; a noun that ends with s, such as netns, stays."""
    if number == 1 or noun.endswith("s"):
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def quantity(number: int, noun: str) -> str:
    """Return a number and its noun: ``1 file``, ``2 files``, ``1 netns``."""
    return f"{number} {plural(noun, number)}"


def shorten(names: t.Sequence[str], most: int) -> str:
    """Return the first names as part of a sentence, with the number of the others: ``a, b and 3 more``."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
