# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bytecode that a run keeps in an installed collection."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import error

COLLECTION = pathlib.Path(error.__file__).parents[3]


@pytest.fixture
def installed(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a copy of the collection without bytecode."""
    copy = tmp_path / "ansible_collections/cni/node"
    for directory in ("plugins", "meta"):
        shutil.copytree(COLLECTION / directory, copy / directory, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def evaluate(installed: pathlib.Path, expression: str) -> str:
    """Return the output of a task that uses a filter of the collection."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["ANSIBLE_COLLECTIONS_PATH"] = str(installed.parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", "debug", "-a", f"msg={{{{ {expression} }}}}"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def list_compiled(directory: pathlib.Path) -> set[str]:
    return {path.name.partition(".")[0] for path in (directory / "__pycache__").glob("*.pyc")}


def test_the_files_that_a_plugin_imports_are_compiled_once(installed: pathlib.Path) -> None:
    assert "a default" in evaluate(installed, "'' | cni.node.or_default('a default')")
    assert "_given_values" in list_compiled(installed / "plugins/plugin_utils")


def test_a_changed_file_is_compiled_again(installed: pathlib.Path) -> None:
    evaluate(installed, "'' | cni.node.or_default('a default')")
    file = installed / "plugins/plugin_utils/_given_values.py"
    file.write_text(f"{file.read_text(encoding='utf-8')}\nor_default = lambda *dummy: 'changed'\n", encoding="utf-8")
    assert "changed" in evaluate(installed, "'' | cni.node.or_default('a default')")
