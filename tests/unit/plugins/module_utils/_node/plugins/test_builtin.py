# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python of executables of built-in plugins, which runtimes run as root."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import venv

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins import builtin
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.fixture
def python(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a program in a directory of its own."""
    path = tmp_path / "bin" / "python3"
    path.parent.mkdir()
    path.symlink_to("/bin/sh")
    return path


def test_executables_do_not_need_the_virtual_environment_that_made_them(tmp_path: pathlib.Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    code = f"from {builtin.__name__} import find_interpreter; print(find_interpreter())"
    search_path = os.pathsep.join(filter(None, sys.path))
    argv = [f"{tmp_path}/venv/bin/python", "-c", code]
    done = subprocess.run(argv, env={"PYTHONPATH": search_path}, check=True, capture_output=True, text=True)
    assert not done.stdout.startswith(str(tmp_path))
    assert os.path.realpath(done.stdout.strip()) == os.path.realpath(sys.executable)


def test_a_python_that_others_can_replace_is_not_used(python: pathlib.Path) -> None:
    python.parent.chmod(0o777)
    assert builtin.find_interpreter([str(python), "/nothing", "/bin/sh"]) == "/bin/sh"
    error = error_of(builtin.find_interpreter, [str(python), "/nothing"])
    assert error.code == Code.INVALID_ENVIRONMENT
    assert f"{python.parent}: every user can write it" in error.details
    assert "set ansible_python_interpreter" in error.details
    python.parent.chmod(0o755)
    assert builtin.find_interpreter([str(python)]) == str(python)
