# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documentation blocks of the collection's modules as data."""

from __future__ import annotations

import ast
import functools
import pathlib
import typing as t

import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

MODULES = pathlib.Path(__file__).parents[3] / "plugins" / "modules"
NAMES = sorted(path.stem for path in MODULES.glob("[a-z]*.py"))


@functools.cache
def block(module: str, name: str) -> t.Any:
    """Return DOCUMENTATION, EXAMPLES or RETURN."""
    tree = ast.parse((MODULES / f"{module}.py").read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return yaml.safe_load(ast.literal_eval(statement.value))
    raise LookupError(f"the module {module} has no {name}")


def examples(module: str) -> list[JsonObject]:
    return t.cast("list[JsonObject]", block(module, "EXAMPLES"))
