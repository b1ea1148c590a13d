# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 2, "STATUS"."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_status_runs_plugins_in_the_order_of_the_list(node: ConformanceNode) -> None:
    assert network_operations.status(node.runtime, node.network("a", "b"))
    assert node.ran() == [("STATUS", "a"), ("STATUS", "b")]


@pytest.mark.parametrize("code", [Code.NOT_AVAILABLE, Code.LIMITED_CONNECTIVITY, Code.TRY_AGAIN])
def test_an_unready_plugin_has_its_own_error_code(node: ConformanceNode, code: Code) -> None:
    node.write("b", STATUS=ScriptedAnswer(error={"code": code, "msg": "daemon is down"}))
    error = error_of(network_operations.status, node.runtime, node.network("a", "b", "c"))
    assert (error.code, error.msg) == (code, "plugin b failed (STATUS): daemon is down")
    assert node.ran() == [("STATUS", "a"), ("STATUS", "b")]


def test_add_runs_without_asking_for_status(node: ConformanceNode) -> None:
    node.write("a", STATUS=ScriptedAnswer(error={"code": 50, "msg": "no"}))
    network = node.network("a")
    error_of(network_operations.status, node.runtime, network)
    node.runtime.add(network, node.attachment())
    assert node.ran("ADD") == [("ADD", "a")]


def test_status_leaves_no_files(node: ConformanceNode) -> None:
    network_operations.status(node.runtime, node.network("a"))
    assert node.records_and_intents() == ([], [])
