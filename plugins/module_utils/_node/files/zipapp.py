# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ast
import importlib.util
import io
import marshal
import re
import struct
import typing as t
import zipfile

_PREFIX: t.Final = "ansible_collections.cni.node.plugins.module_utils."
# Only these statements are parsed, because it takes a tenth of a second to parse all sources.
_IMPORT: t.Final = re.compile(
    rf"^ *(from {re.escape(_PREFIX)}[\w.]+ import (?:\([^)]*\)|[^\n(]+)|import {re.escape(_PREFIX)}[^\n]+)$",
    re.MULTILINE,
)
# The earliest date of the format. With a fixed date, the same sources give the same bytes.
_DATE: t.Final = (1980, 1, 1, 0, 0, 0)
_UNCHECKED: t.Final = struct.pack("<I", 0b01)


def build(module: str, arguments: str, *, interpreter: str = "") -> bytes:
    """Build a program: one file for any Python, with the sources of a module and of all that it imports.

    Args:
        module: The name of a module whose function ``main`` is the program.
        arguments: The expression that `main` is called with.
        interpreter: Path of the Python that runs the file when it is executed. The file then has compiled modules for it,
            which is this process's; another Python uses the sources. By default, neither.
    """
    main = f"import sys\n\nfrom {module} import main\n\nsys.exit(main({arguments}))\n"
    sources = {"__main__.py": main}
    for name, source in _sources(module).items():
        parts = name.split(".")
        sources.update({"/".join([*parts[:depth], "__init__.py"]): "" for depth in range(1, len(parts))})
        sources["/".join(parts) + ".py"] = source
    files = {path: source.encode() for path, source in sources.items()}
    if interpreter:
        files.update({f"{path}c": _compile(path, source) for path, source in sources.items()})
    stream = io.BytesIO()
    stream.write(f"#!{interpreter} -I\n".encode() if interpreter else b"")
    compression = zipfile.ZIP_DEFLATED if interpreter else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "a", compression) as archive:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(path, _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, compression)
    return stream.getvalue()


def _compile(path: str, source: str) -> bytes:
    """Return the content of a compiled module that is not compared with its source (PEP 552)."""
    code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source.encode()) + code


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
