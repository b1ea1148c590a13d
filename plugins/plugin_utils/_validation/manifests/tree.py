# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A document of YAML or JSON as plain data with its lines."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.plugin_utils._validation.document import positions
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import Positions
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.written_text import put_on_line


@dataclasses.dataclass(frozen=True)
class Opaque:
    """A value of YAML that is not a string, null, list or object.

    Attributes:
        kind: What it is, with its article.
    """

    kind: str


@dataclasses.dataclass(frozen=True)
class Tree:
    """One document of a file, as plain data with its lines.

    Attributes:
        written: A function of a JSON pointer and the string there. It returns the string with each of its words on the line that it
            has in the file.
    """

    value: t.Any
    positions: Positions
    written: t.Callable[[str, str], str]


def from_json(text: str) -> Tree | None:
    """Return the document of a JSON text, or None if the text is not JSON."""
    try:
        value = json_text.decode(text.encode("utf-8"), "")
    except CniError:
        return None
    places = positions.scan(text)
    return Tree(value, places, lambda path, string: put_on_line(string, places.line(path) or 1))


def describe(value: object) -> str:
    """Return the type of a value, with its article."""
    return value.kind if isinstance(value, Opaque) else json_text.kind(value)
