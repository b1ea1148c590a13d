# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PROGRAM, Project
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that cannot run here; the reason names the remedy."""
    if os.geteuid() != 0 or "CNI_SANDBOX" not in os.environ:
        pytest.skip("it changes the node: run it as root, inside tests/support/sandbox")
    if not any(os.access(f"{path}/bridge", os.X_OK) for path in PLUGIN_DIRS):
        pytest.skip("the reference plugins are missing: install containernetworking-plugins")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is missing: install ansible-core where pytest is")


@pytest.fixture
def node() -> t.Iterator[EngineNode]:
    with empty_node():
        yield EngineNode()


@pytest.fixture
def project(node: EngineNode, tmp_path: pathlib.Path) -> Project:
    return Project(tmp_path)
