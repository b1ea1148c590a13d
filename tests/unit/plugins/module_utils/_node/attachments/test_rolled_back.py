# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments of a version that plugins do not support after a roll-back to an older release."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    ALL_VERSIONS,
    supports_only,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

CHOICE = ["1.0.0", "1.1.0"]


@pytest.fixture
def node(make_node: MakeNode) -> FakeNode:
    node = make_node(b=supports_only(*ALL_VERSIONS))
    node.make_namespace()
    return node


def _rolled_back(node: FakeNode, versions: list[str]) -> None:
    node.write(cniVersion="1.1.0", cniVersions=versions)
    assert node.ensure(node.attachment()).error is None
    record = node.record()
    assert record is not None
    assert record.version == "1.1.0"
    node.executor.plugins["b"] = supports_only("0.4.0", "1.0.0")


@pytest.mark.parametrize("dry_run", [True, False])
def test_check_uses_another_version_that_the_network_allows(node: FakeNode, dry_run: bool) -> None:
    _rolled_back(node, CHOICE)
    outcome = node.ensure(node.attachment(), dry_run=dry_run)
    assert (outcome.action, outcome.changed, outcome.error) == ("checked", False, None)


def test_del_uses_another_version_that_the_network_allows(node: FakeNode) -> None:
    _rolled_back(node, CHOICE)
    outcome = node.ensure(node.attachment(), present=False)
    assert (outcome.action, outcome.error, node.files()) == ("removed", None, {})


def test_an_attachment_is_recreated_in_a_version_that_the_plugins_support(node: FakeNode) -> None:
    _rolled_back(node, CHOICE)
    node.write(cniVersion="1.1.0", cniVersions=CHOICE, plugins=[{"type": "a", "new": 1}, {"type": "b"}])
    outcome = node.ensure(node.attachment())
    record = node.record()
    assert record is not None
    assert (outcome.action, outcome.error, record.version) == ("recreated", None, "1.0.0")


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_attachment_is_kept_when_its_network_allows_no_other_version(node: FakeNode, dry_run: bool) -> None:
    _rolled_back(node, ["1.1.0"])
    before = node.files()
    outcome = node.ensure(node.attachment(), dry_run=dry_run)
    assert (outcome.action, outcome.changed, node.files()) == ("failed", False, before)
    assert outcome.error is not None
    assert outcome.error.code == Code.INCOMPATIBLE_VERSION
