# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ast
import importlib.util
import io
import re
import typing as t
import zipfile

from ansible_collections.cni.node.plugins.module_utils._node.boot import program

_PREFIX: t.Final = "ansible_collections.cni.node.plugins.module_utils."
# Only these statements are parsed, because it takes a tenth of a second to parse all sources.
_IMPORT: t.Final = re.compile(
    rf"^ *(from {re.escape(_PREFIX)}[\w.]+ import (?:\([^)]*\)|[^\n(]+)|import {re.escape(_PREFIX)}[^\n]+)$",
    re.MULTILINE,
)
_MAIN: t.Final = f"import sys\n\nfrom {program.__name__} import main\n\nsys.exit(main(sys.argv[1:]))\n"
# The earliest date of the format. With a fixed date, the same sources give the same bytes.
_DATE: t.Final = (1980, 1, 1, 0, 0, 0)


def build() -> bytes:
    """Build the program that restores and repairs attachments: one file for any Python, with the sources of this engine."""
    files = {"__main__.py": _MAIN}
    for name, source in _sources(program.__name__).items():
        parts = name.split(".")
        files.update({"/".join([*parts[:depth], "__init__.py"]): "" for depth in range(1, len(parts))})
        files["/".join(parts) + ".py"] = source
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, source in sorted(files.items()):
            entry = zipfile.ZipInfo(path, _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, source)
    return stream.getvalue()


def _sources(first: str) -> dict[str, str]:
    """Return the sources of a module and of all modules of the collection that it imports, by name."""
    sources: dict[str, str] = {}
    pending = [first]
    while pending:
        name = pending.pop()
        if name not in sources:
            sources[name] = _loader(name).get_source(name)
            for statement in _IMPORT.findall(sources[name]):
                pending += _modules(ast.parse(statement).body[0])
    return sources


def _modules(statement: ast.stmt) -> list[str]:
    """Return the names of the modules that an import statement loads."""
    names = [alias.name for alias in t.cast("ast.Import | ast.ImportFrom", statement).names]
    if isinstance(statement, ast.Import):
        return names
    origin = str(t.cast("ast.ImportFrom", statement).module)
    spec = importlib.util.find_spec(origin)
    is_package = spec is not None and spec.submodule_search_locations is not None
    return [f"{origin}.{name}" for name in names] if is_package else [origin]


def _loader(name: str) -> t.Any:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(name=name)
    return spec.loader


__all__ = ("build",)
