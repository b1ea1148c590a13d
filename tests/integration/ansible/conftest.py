# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import sys
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import (
    NODE_PYTHON,
    PROGRAM,
    Project,
    environment,
)
from ansible_collections.cni.node.tests.integration.engine.conftest import library, warm_python
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.warm_python import PLAYBOOK, WarmProgram


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that cannot run here; the reason names the remedy."""
    if os.geteuid() != 0 or "CNI_SANDBOX" not in os.environ:
        pytest.skip("it changes the node: run it as root, inside tests/support/sandbox")
    if not any(os.access(f"{path}/bridge", os.X_OK) for path in PLUGIN_DIRS):
        pytest.skip("the reference plugins are missing: install containernetworking-plugins")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is missing: install ansible-core where pytest is")


@pytest.fixture
def node(warm_python: WarmProgram) -> t.Iterator[EngineNode]:
    with empty_node():
        yield EngineNode(python=warm_python.path)


@pytest.fixture(scope="session")
def warm_playbook(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[WarmProgram]:
    directory = tmp_path_factory.mktemp("playbook")
    program = WarmProgram(directory, PLAYBOOK, environment(directory, is_warm=True))
    program.wait()
    yield program
    program.close()


@pytest.fixture(scope="session")
def python(warm_python: WarmProgram) -> str:
    """Return the interpreter of modules: a warm one, unless the node has another Python than this process."""
    return str(warm_python.path) if sys.executable == NODE_PYTHON else NODE_PYTHON


@pytest.fixture
def project(request: pytest.FixtureRequest, node: EngineNode, python: str, tmp_path: pathlib.Path) -> Project:
    """Return a project with warm programs, whose node has the library; `real_programs` gets the real ones, and has none."""
    if request.node.get_closest_marker("real_programs"):
        return Project(tmp_path)
    libraries.provide()
    warm_playbook = request.getfixturevalue("warm_playbook")
    return Project(tmp_path, warm_playbook.path, python)


__all__ = ("library", "node", "project", "pytest_runtest_setup", "python", "warm_playbook", "warm_python")
