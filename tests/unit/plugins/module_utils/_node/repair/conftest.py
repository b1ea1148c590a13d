# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.repair.recorded_node import RecordedNode

MakeRecordedNode = t.Callable[[str], RecordedNode]


@pytest.fixture
def make_recorded_node(
    tmp_path: pathlib.Path, program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> MakeRecordedNode:
    """Return a factory of nodes after recorded cases. They have no programs of nftables or firewalld."""
    return lambda case: RecordedNode(tmp_path, monkeypatch, case)


@pytest.fixture
def recorded_node(make_recorded_node: MakeRecordedNode) -> RecordedNode:
    """Return a node with one attachment to a bridge, with two addresses and masquerading by iptables."""
    return make_recorded_node("bridge/ipmasq-iptables")
