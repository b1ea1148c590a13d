# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns, process_table
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture

MakeNode = t.Callable[..., FakeNode]


@pytest.fixture
def make_node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> MakeNode:
    """Return a factory of fake nodes. A file stands for a network namespace, because creating one requires root.

    What is written to the kernel fails, as it does without root. No process runs on it: other tests of the machine may run
    plugins for containers of the same names.
    """

    def refuse(*dummy: object) -> t.NoReturn:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    find, mark = process_table.find_by_environment, {"FAKE_NODE": str(tmp_path)}
    monkeypatch.setattr(process_table, "find_by_environment", lambda variables: find({**variables, **mark}))
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    monkeypatch.setattr(netlink.Connection, "change", refuse)
    return lambda **plugins: FakeNode(tmp_path, **plugins)


@pytest.fixture
def node(make_node: MakeNode) -> FakeNode:
    return make_node()


@pytest.fixture
def gc(node: FakeNode, program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> GcFixture:
    monkeypatch.setattr(live_namespaces, "reachable_paths", dict)
    return GcFixture(node, pathlib.Path(node.paths.lease_dir))
