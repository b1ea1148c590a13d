# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return the directory that replaces / for the files of boot; systemd does not run there."""
    return tmp_path


@pytest.fixture
def paths(root: pathlib.Path) -> NodePaths:
    return NodePaths.below(str(root))


@pytest.fixture
def unit(paths: NodePaths) -> SystemdUnit:
    return SystemdUnit(paths)
