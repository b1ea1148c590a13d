# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Values of a template that are not filled in."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.placeholder import find_placeholder
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

CODE = "unrendered-value"

_HINT = "render the template, or write the value"


def findings(document: Document) -> t.Iterator[Finding]:
    """Find placeholders in every text and key of a document."""
    for path, text in _texts(document.network, ""):
        placeholder = find_placeholder(text)
        if placeholder:
            message = f"the placeholder {placeholder!r} is not filled in"
            yield document.finding(CODE, path, message, _HINT, text)


def _texts(value: object, path: str) -> t.Iterator[tuple[str, str]]:
    """Yield every text of a JSON value, and each key of its objects, with the JSON pointer."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            place = join(path, key)
            yield place, key
            yield from _texts(entry, place)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _texts(entry, join(path, index))
