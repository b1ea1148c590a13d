# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import hypothesis
import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.toy_kernel import ToyKernel

# The time of an example depends on the machine, so there is no deadline.
hypothesis.settings.register_profile(
    "unit", deadline=None, max_examples=60, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unit")


@pytest.fixture
def kernel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[ToyKernel]:
    yield ToyKernel(tmp_path / "kernel", monkeypatch)
    ToyKernel.forget()


@pytest.fixture
def program_dir(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return the only directory that is searched for iptables, nft and tc; it is empty unless a test adds programs."""
    monkeypatch.setattr(program, "_SYSTEM_PATH", str(tmp_path))
    return tmp_path
