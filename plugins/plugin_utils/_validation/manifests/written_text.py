# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Keep the lines and columns of text inside a YAML document."""

from __future__ import annotations

import re
import typing as t

import yaml

# A tag or an anchor before a value: the marks of PyYAML include them.
_PROPERTIES = re.compile(r"(?:[!&]\S*\s+)*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n|.)", re.DOTALL)
# The other escapes of YAML are white space or characters that JSON has within strings only.
_ESCAPED = {'"': '"', "\\": "\\", "/": "/"}


def keep_positions(text: str, node: yaml.ScalarNode) -> str:
    """Return a value of a YAML text in which each word keeps its line and column.

    YAML replaces line breaks by blanks in most styles, but JSON does not distinguish the two outside strings. The position of a
    JSON value in the returned text is therefore its position in the YAML text.
    """
    raw = text[node.start_mark.index : node.end_mark.index]
    properties = t.cast("re.Match[str]", _PROPERTIES.match(raw)).end()
    start, raw = node.start_mark.index + properties, raw[properties:]
    margin = _margin(text[:start])
    if node.style in ("|", ">"):
        return f"{margin}\n{raw.partition(chr(10))[2]}".rstrip()
    if node.style == "'":
        # The blank replaces the quote, so that columns stay.
        return f"{margin} {raw[1:-1]}".replace("''", "'").rstrip()
    if node.style == '"':
        return f"{margin} {_ESCAPE.sub(_unescape, raw[1:-1])}".rstrip()
    return f"{margin}{raw}".rstrip()


def put_on_line(value: str, line: int) -> str:
    """Return a value with all its words on one line of the text, as in JSON."""
    blanks = "\n" * (line - 1)
    return blanks + value.replace("\n", " ")


def _margin(before: str) -> str:
    """Return line breaks and blanks up to the place where a text ends."""
    return "\n" * before.count("\n") + " " * (len(before) - before.rfind("\n") - 1)


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    if escape.endswith("\n"):
        return "\n"
    if escape[1:]:
        character = chr(int(escape[1:], 16))
        return " " if character.isspace() else character
    return _ESCAPED.get(escape, " ")
