# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.boot import paths as boot_paths
from ansible_collections.cni.node.plugins.module_utils._node.boot import systemd_unit


@pytest.fixture
def root(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return the directory that replaces / for the files of boot; systemd does not run there."""
    for name in ("PROGRAM", "UNIT", "LINK", "LOCK"):
        monkeypatch.setattr(boot_paths, name, f"{tmp_path}{getattr(boot_paths, name)}")
    monkeypatch.setattr(systemd_unit, "_RUNNING", str(tmp_path / "nowhere"))
    return tmp_path
