# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Translate regular expressions of Go, in which plugins read them, to those of Python."""

from __future__ import annotations

import re

# An escaped character, a class of POSIX, the beginning of a set with a bracket that belongs to it, or a single character.
_TOKEN = re.compile(r"\\.|\[:\^?\w+:\]|\[\^?\]?|.", re.DOTALL)
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def translate(pattern: str) -> str:
    """Return a pattern with the same meaning for `re` with ``re.ASCII``, as far as the two differ in what patterns use.

    Raises:
        ValueError: Python has nothing with that meaning.
    """
    translated, is_in_set = [], False
    for token in _TOKEN.findall(pattern):
        if is_in_set and token.startswith("[:"):
            if token[2:-2] not in _CLASSES:
                raise ValueError(f"{token} is not supported")
            token = _CLASSES[token[2:-2]]
        elif is_in_set:
            # Python would take a further bracket for a set in the set.
            token = f"\\{token}" if token.startswith("[") else token
            is_in_set = not token.endswith("]") or token.startswith("\\]")
        elif token == r"\z":
            token = r"\Z"
        else:
            is_in_set = token.startswith("[") and not token.startswith("[:")
        translated.append(token)
    return "".join(translated)
