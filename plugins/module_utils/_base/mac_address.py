# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read MACs as plugins do, which are written in Go: with colons, with hyphens, or with dots between pairs of bytes."""

from __future__ import annotations

import re

# What the kernel shows for a link without a MAC.
NO_MAC = "00:00:00:00:00:00"

_BYTE, _PAIR = "[0-9a-fA-F]{2}", "[0-9a-fA-F]{4}"
_MAC = re.compile(rf"{_BYTE}([:-]){_BYTE}(\1{_BYTE}){{4}}|({_PAIR}\.){{2}}{_PAIR}")
_SEPARATORS = re.compile("[:.-]")


def parse_mac(value: object) -> str:
    """Return a MAC of six bytes as the kernel shows it, or an empty string if plugins would reject the value."""
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        return ""
    return bytes.fromhex(_SEPARATORS.sub("", value)).hex(":")


def normalize_mac(value: object) -> str:
    """Return a MAC of a result or a configuration as the kernel shows it; other text, such as longer ones, in lower case."""
    return parse_mac(value) or str(value or "").lower()
