# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import shutil

import pytest

from ansible_collections.cni.node.tests.support import installed


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return installed.install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def project(collections: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a copy of the project that the installed collection brings."""
    source = installed.root(collections) / "extensions" / "controller" / "project"
    return pathlib.Path(shutil.copytree(source, tmp_path / "project"))
