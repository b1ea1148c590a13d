# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Checking an attachment"."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_check_runs_plugins_in_the_order_of_the_list(node: ConformanceNode) -> None:
    node.runtime.check(node.add(node.network("a", "b", "c")))
    assert node.ran() == [("CHECK", "a"), ("CHECK", "b"), ("CHECK", "c")]


@pytest.mark.parametrize("stdout", ["", "hello", "{"])
def test_output_of_a_plugin_that_succeeds_is_ignored(node: ConformanceNode, stdout: str) -> None:
    node.write("a", CHECK=ScriptedAnswer(stdout=stdout))
    assert node.runtime.check(node.add(node.network("a", "b"))).was_run


def test_check_stops_at_the_first_failure_and_keeps_the_record(node: ConformanceNode) -> None:
    node.write("b", CHECK=ScriptedAnswer(error={"code": 104, "msg": "route is gone"}))
    record = node.add(node.network("a", "b", "c"))
    error = error_of(node.runtime.check, record)
    assert (error.code, error.msg) == (104, "plugin b failed (CHECK): route is gone")
    assert node.ran() == [("CHECK", "a"), ("CHECK", "b")]
    assert node.record() == record


def test_check_has_the_parameters_of_add(node: ConformanceNode) -> None:
    attachment = node.attachment(args={"K": "V"}, capability_args={"mac": "x"})
    node.runtime.add(node.network({"type": "a", "capabilities": {"mac": True}}), attachment)
    node.runtime.check(node.record())
    add, check = node.calls()
    assert {**add.env, "CNI_COMMAND": "CHECK"} == check.env
    assert {**add.request, "prevResult": {"cniVersion": "1.1.0"}} == check.request


def test_check_uses_the_recorded_configuration_differs_from_libcni(node: ConformanceNode) -> None:
    record = node.add(node.network({"type": "a", "mtu": 1400}))
    node.network({"type": "a", "mtu": 9000})
    node.runtime.check(record)
    assert node.requests("CHECK")[0]["mtu"] == 1400


def test_check_changes_nothing(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))
    node.runtime.check(record)
    assert node.records_and_intents() == ([record], [])


def test_an_attachment_without_a_result_is_not_checked_differs_from_libcni(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))._replace(result=None)
    assert error_of(node.runtime.check, record).code == Code.DECODE_FAILURE
    assert node.ran() == []


def test_a_missing_plugin_is_an_error(node: ConformanceNode) -> None:
    record = node.add(node.network("a", "b"))
    (node.plugins.path / "b").unlink()
    assert "'b' is not installed" in error_of(node.runtime.check, record).msg
