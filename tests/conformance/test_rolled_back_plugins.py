# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 1, "Version considerations", with plugins replaced by older ones after ADD."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

CHOICE = ["0.3.1", "0.4.0", "1.0.0", "1.1.0"]
REFUSAL: JsonObject = {"code": Code.INCOMPATIBLE_VERSION, "msg": "incompatible CNI versions"}
# Answers of a plugin that does not support the version of the first call, but supports that of the second call.
REFUSES_ONCE = [ScriptedAnswer(error=REFUSAL), ScriptedAnswer()]
RESULT: JsonObject = {"ips": [{"address": "10.1.0.5/16"}]}


def _add(node: ConformanceNode, *plugins: str | JsonObject, versions: list[str] | None = None) -> Record:
    node.plugins.write("a", ADD=ScriptedAnswer(result=RESULT))
    record = node.add(node.network(*plugins, version="1.1.0", cniVersions=versions or CHOICE))
    assert record.version == "1.1.0"
    return record


def _roll_back(node: ConformanceNode, name: str, *versions: str) -> None:
    node.plugins.write(name, versions=versions, CHECK=REFUSES_ONCE, DEL=REFUSES_ONCE)


def _sent(node: ConformanceNode, command: str) -> list[tuple[str, str]]:
    return [(call.plugin, call.request["cniVersion"]) for call in node.calls(command)]


def test_check_uses_a_version_that_older_plugins_support_differs_from_libcni(node: ConformanceNode) -> None:
    record = _add(node, "a", "b", "c")
    _roll_back(node, "b", "0.4.0", "1.0.0")
    assert node.runtime.check(record).was_run
    assert _sent(node, "CHECK") == [("a", "1.1.0"), ("b", "1.1.0"), ("b", "1.0.0"), ("c", "1.0.0")]
    assert node.requests("CHECK")[-1]["prevResult"] == {"cniVersion": "1.0.0", **RESULT}
    assert node.record() == record


def test_del_uses_a_version_that_older_plugins_support_differs_from_libcni(node: ConformanceNode) -> None:
    record = _add(node, "a", "b", "c")
    _roll_back(node, "b", "0.4.0", "1.0.0")
    node.runtime.delete(record)
    assert _sent(node, "DEL") == [("c", "1.1.0"), ("b", "1.1.0"), ("b", "1.0.0"), ("a", "1.0.0")]
    assert [request["prevResult"]["cniVersion"] for request in node.requests("DEL")] == ["1.1.0"] * 2 + ["1.0.0"] * 2
    assert node.records_and_intents() == ([], [])


def test_the_previous_result_has_the_form_of_the_negotiated_version(node: ConformanceNode) -> None:
    record = _add(node, "a")
    _roll_back(node, "a", "0.4.0")
    node.runtime.delete(record)
    expected = {"cniVersion": "0.4.0", "ips": [{"address": "10.1.0.5/16", "version": "4"}]}
    assert node.requests("DEL")[-1]["prevResult"] == expected


def test_a_version_before_0_4_0_has_no_previous_result_at_del_and_no_check(node: ConformanceNode) -> None:
    record = _add(node, "a", "b")
    _roll_back(node, "a", "0.3.1")
    assert not node.runtime.check(record).was_run
    assert _sent(node, "CHECK") == [("a", "1.1.0")]
    node.runtime.delete(record)
    assert [request.get("prevResult") is None for request in node.requests("DEL")] == [False, False, True]


def test_a_version_refused_by_a_delegated_plugin_is_renegotiated(node: ConformanceNode) -> None:
    node.write("ipam")
    record = _add(node, {"type": "a", "ipam": {"type": "ipam"}})
    _roll_back(node, "a", *CHOICE)
    node.plugins.write("ipam", versions=["1.0.0"])
    node.runtime.delete(record)
    assert _sent(node, "DEL") == [("a", "1.1.0"), ("a", "1.0.0")]


@pytest.mark.parametrize("operation", ["check", "delete"])
def test_plugins_that_accept_the_version_are_not_probed(node: ConformanceNode, operation: str) -> None:
    record = _add(node, "a", "b")
    getattr(node.new_runtime(), operation)(record)
    assert node.calls("VERSION") == []


@pytest.mark.parametrize("operation", ["check", "delete"])
def test_a_record_with_one_version_is_not_renegotiated(node: ConformanceNode, operation: str) -> None:
    record = _add(node, "a", versions=["1.1.0"])
    _roll_back(node, "a", "1.0.0")
    error = error_of(getattr(node.runtime, operation), record)
    assert (error.code, node.calls("VERSION")) == (Code.INCOMPATIBLE_VERSION, [])
    assert node.record() == record


@pytest.mark.parametrize("operation", ["check", "delete"])
def test_without_a_common_version_the_error_lists_the_versions_of_each_plugin(
    node: ConformanceNode, operation: str
) -> None:
    record = _add(node, "a")
    _roll_back(node, "a", "0.1.0")
    error = error_of(getattr(node.runtime, operation), record)
    assert (error.code, "incompatible CNI versions" in error.msg) == (Code.INCOMPATIBLE_VERSION, True)
    assert "a supports 0.1.0" in error.details
    assert node.record() == record


def test_a_plugin_that_refuses_its_own_version_is_not_run_again(node: ConformanceNode) -> None:
    record = _add(node, "a")
    _roll_back(node, "a", *CHOICE)
    assert error_of(node.runtime.check, record).code == Code.INCOMPATIBLE_VERSION
    assert _sent(node, "CHECK") == [("a", "1.1.0")]
