# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import venv

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter
from ansible_collections.cni.node.plugins.module_utils._linux.interpreter import find_interpreter
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.fixture
def python(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a program in a directory of its own."""
    path = tmp_path / "bin" / "python3"
    path.parent.mkdir()
    path.symlink_to("/bin/sh")
    return path


@pytest.mark.parametrize("allow_venv", [True, False])
def test_a_virtual_environment_is_used_only_by_programs_that_need_its_libraries(
    tmp_path: pathlib.Path, *, allow_venv: bool
) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    code = f"from {interpreter.__name__} import find_interpreter; print(find_interpreter('units', allow_venv={allow_venv}))"
    search_path = os.pathsep.join(filter(None, sys.path))
    argv = [f"{tmp_path}/venv/bin/python", "-c", code]
    done = subprocess.run(argv, env={"PYTHONPATH": search_path}, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path)) == allow_venv
    assert os.path.realpath(done.stdout.strip()) == os.path.realpath(sys.executable)


def test_a_python_that_others_can_replace_is_not_used(python: pathlib.Path) -> None:
    python.parent.chmod(0o777)
    assert find_interpreter("units", candidates=[str(python), "/nothing", "/bin/sh"]) == "/bin/sh"
    error = error_of(find_interpreter, "units", candidates=[str(python), "/nothing"])
    assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, "no Python can run units")
    assert f"{python.parent}: every user can write it" in error.details
    assert "set ansible_python_interpreter" in error.details
    python.parent.chmod(0o755)
    assert find_interpreter("units", candidates=[str(python)]) == str(python)
