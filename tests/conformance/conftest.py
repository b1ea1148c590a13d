# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support import build


@pytest.fixture
def node(tmp_path: pathlib.Path) -> ConformanceNode:
    return ConformanceNode(tmp_path)


@pytest.fixture(scope="session")
def noop() -> pathlib.Path:
    """Return the path of the reference implementation's plugin noop; skip the test if it is unavailable."""
    try:
        return build.noop_plugin()
    except build.Unavailable as exc:
        pytest.skip(str(exc))
