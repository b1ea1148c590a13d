# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node whose Python is too old causes an error in one sentence."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

TOO_OLD = ("3.6", "3.7", "3.8")
PYENV = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")


def interpreter(version: str) -> str:
    """Return the path of a Python of this version, or an empty string if the machine has none."""
    built = sorted(PYENV.glob(f"versions/{version}.*/bin/python3"))
    return str(built[0]) if built else shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin") or ""


@pytest.mark.parametrize("version", TOO_OLD)
def test_a_role_refuses_an_old_python_in_one_sentence(node: EngineNode, project: Project, version: str) -> None:
    path = interpreter(version)
    if not path:
        pytest.skip(f"there is no Python {version} here")
    variables = {"ansible_python_interpreter": path, "cni_node_concerns": "plugins\nnetworks"}
    played = project.run("cni.node.provision", **variables)
    (failed,) = [task for task in played.tasks if task.status == "failed"]
    message = failed.require_failure(
        f"{path} of node is Python {version}.", ", but modules of cni.node need Python 3.9 or newer; "
    )
    assert len(message.splitlines()) == 1
    assert "Traceback" not in played.output
