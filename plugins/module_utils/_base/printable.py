# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Text from outside (names of links and files, output of plugins and programs, answers of servers) made safe to show.

Shown as it is, such text could drive the reader's terminal, and bytes that are no UTF-8 cannot be sent to the controller.
"""

from __future__ import annotations

import re
import typing as t

# Control characters with ESC and the 8-bit ones, line and paragraph separators, what turns the direction of writing
# around, and the halves of characters that stand for bytes that are no UTF-8.
_UNSAFE: t.Final = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT: t.Final = f"[{_UNSAFE}]"
_IN_LINE: t.Final = f"[\\t\\n{_UNSAFE}]"


def lines(text: str) -> str:
    r"""Return text with ``\x1b`` and the like for what is not safe to show; ends of lines and tabs stay."""
    return text if text.isprintable() else re.sub(_IN_TEXT, _escaped, text)


def line(text: str) -> str:
    r"""Return text as one line, with ``\n`` and ``\t`` as well for what is not safe to show: for a name in a sentence."""
    return text if text.isprintable() else re.sub(_IN_LINE, _escaped, text)


def everything(value: t.Any) -> t.Any:
    """Return a value of JSON with all its texts and keys as `lines` returns them."""
    if isinstance(value, str):
        return lines(value)
    if isinstance(value, dict):
        return {everything(key): everything(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [everything(one) for one in value]
    return value


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


__all__ = ("everything", "line", "lines")
