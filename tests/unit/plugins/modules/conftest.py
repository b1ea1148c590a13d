# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleRunner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> ModuleRunner:
    """Return a runner: a file stands for a network namespace, and other runtimes have no records."""
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    return ModuleRunner(monkeypatch, capsys, tmp_path)
