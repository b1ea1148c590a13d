# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests replace no private name: they arrange a real situation, pass an argument, or replace something public."""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

import pytest

TESTS = pathlib.Path(__file__).parents[1]
PATCHES = {"setattr", "delattr", "object", "patch"}
PRIVATE = re.compile(r"([\w.]*\.)?(_[A-Za-z]\w*(?<!_))")

_ANSIBLE = "Ansible's own name, which its plugins and their tests use"
_DIRECTORY = "a directory of the machine; as an argument it would go through every caller, for tests only"
EXCEPTIONS = {
    ("unit/plugins/conftest.py", "_SYSTEM_PATH"): _DIRECTORY,
    ("unit/plugins/module_utils/_linux/toy_kernel.py", "_ROOT"): _DIRECTORY,
    ("unit/plugins/module_utils/_linux/toy_kernel.py", "_SYSTEM_PATH"): _DIRECTORY,
    ("unit/plugins/modules/module_runner.py", "_ANSIBLE_ARGS"): _ANSIBLE,
    ("unit/plugins/modules/module_runner.py", "_ANSIBLE_PROFILE"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_library_action.py", "_execute_module"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_library_action.py", "_fixup_perms2"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_library_action.py", "_remove_tmp_path"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_library_action.py", "_transfer_file"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_python_version.py", "_execute_module"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_python_version.py", "_low_level_execute_command"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_python_version.py", "_remove_tmp_path"): _ANSIBLE,
    ("unit/plugins/plugin_utils/test_python_version.py", "_used_interpreter"): _ANSIBLE,
}


def find_private_patches(source: str) -> set[str]:
    """Return the private names that a file replaces.

    If it computes the name of a replacement, each private name that is a string in the file counts.
    """
    nodes = list(ast.walk(ast.parse(source)))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node.func) in PATCHES]
    targets = [argument for call in calls for argument in call.args[:2]]
    is_computed = any(len(call.args) > 2 and not isinstance(call.args[1], ast.Constant) for call in calls)
    # With a string as its first argument, the name of a replacement is in that one.
    named = [node for node in (nodes if is_computed else targets) if isinstance(node, ast.Constant)]
    private = (PRIVATE.fullmatch(node.value) for node in named if isinstance(node.value, str))
    assigned = (target for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    return {match[2] for match in private if match} | {
        target.attr for target in assigned if isinstance(target, ast.Attribute) and _is_private_of_another(target)
    }


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_private_of_another(target: ast.Attribute) -> bool:
    return bool(PRIVATE.fullmatch(target.attr)) and _name(target.value) not in ("self", "cls")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('monkeypatch.setattr(module, "_name", 1)', {"_name"}),
        ('monkeypatch.setattr(module.Class, "_LIMIT", 1)', {"_LIMIT"}),
        ('monkeypatch.setattr("package._room.module._name", None)', {"_name"}),
        ('monkeypatch.delattr(module, "_name")', {"_name"}),
        ('mock.patch.object(module, "_name")', {"_name"}),
        ('mock.patch("module._name")', {"_name"}),
        ('for name in ("_a", "b"):\n    monkeypatch.setattr(module, name, 1)', {"_a"}),
        ("module._name = 1", {"_name"}),
        ("self._name = 1", set()),
        ('monkeypatch.setattr("package._room.module.name", None)', set()),
        ('monkeypatch.setattr(module, "name", "_value")', set()),
    ],
)
def test_every_form_of_a_private_patch_is_found(source: str, names: t.Collection[str]) -> None:
    assert find_private_patches(source) == names


def test_only_listed_files_patch_private_names() -> None:
    patches = {
        (str(path.relative_to(TESTS)), name)
        for path in sorted(TESTS.rglob("*.py"))
        for name in find_private_patches(path.read_text(encoding="utf-8"))
    }
    assert sorted(patches - set(EXCEPTIONS)) == [], (
        "arrange the situation, or add an argument that the product needs anyway"
    )
    assert sorted(set(EXCEPTIONS) - patches) == [], "no longer needed"
