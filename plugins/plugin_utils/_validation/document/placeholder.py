# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Placeholders of templates."""

from __future__ import annotations

import re

# Of Jinja, Helm and Go; of shells and envsubst; of Calico's installer; of Autoconf; and of people, as a whole value.
_PLACEHOLDER = re.compile(
    r"\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z)|\{#.*?#\}"
    r"|\$\{[^{}]+\}|\$\([^()]+\)|(?<![\w$])\$[A-Z][A-Z0-9_]+(?!\w)"
    r"|(?<![A-Za-z0-9_])__[A-Z](?:[A-Z0-9]|_(?!_))*__(?![A-Za-z0-9_])"
    r"|\A@[A-Za-z][\w.-]*@\Z|\A<[A-Za-z][\w .:-]*>\Z",
    re.ASCII | re.DOTALL,
)

# Of sed and of people, as a value without quotes, which is not JSON.
_BARE_PLACEHOLDER = re.compile(r"[:\[,]\s*(@[A-Za-z]\w*|<[A-Za-z][\w.-]*>)\s*[,}\]]", re.ASCII)


def find_placeholder(text: str) -> str:
    """Return the first placeholder in a text, or an empty string."""
    match = _PLACEHOLDER.search(text)
    return match[0] if match else ""


def find_placeholder_in_broken_json(text: str) -> str:
    """Return the first placeholder in a text that is not JSON, with or without quotes, or an empty string."""
    bare = _BARE_PLACEHOLDER.search(text)
    return find_placeholder(text) or (bare[1] if bare else "")
