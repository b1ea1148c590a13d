# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Imports between the Python files of the collection."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

from tools.paths import COLLECTION

PACKAGE = ".".join(COLLECTION.parts)


def read_imports(name: str, source: str) -> frozenset[str]:
    """Return every dotted name that a file imports, on any level of it.

    `name` is the file's own, below the collection. `from x import y` gives both x and x.y.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(name, node)
            names |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
    return frozenset(names - {""})


def _origin(name: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = f"{PACKAGE}.{name}".split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def select_own(names: t.Iterable[str], known: t.Collection[str]) -> set[str]:
    """Return those names that are known files of the collection, as dotted names below it."""
    below = {name[len(PACKAGE) + 1 :] if name.startswith(f"{PACKAGE}.") else name for name in names}
    return {name for name in below if name in known}


def read_graph(root: Path, files: t.Iterable[Path]) -> dict[str, set[str]]:
    """Return for each file, relative to the root, the files of the collection that it imports, by dotted names."""
    sources = {module_name(file): (root / file).read_text(encoding="utf-8") for file in files}
    return {name: select_own(read_imports(name, source), sources) for name, source in sources.items()}


def module_name(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)
