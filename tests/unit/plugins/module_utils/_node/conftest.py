# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.laboratory import Laboratory

Make = t.Callable[..., Laboratory]


@pytest.fixture
def make(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A laboratory with other plugins than usual. A real namespace cannot be had without root."""
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    return lambda **plugins: Laboratory(tmp_path, **plugins)


@pytest.fixture
def lab(make: Make) -> Laboratory:
    return make()
