# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 2, "VERSION"; section 1, "Version considerations"."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_the_probe_reads_the_version_of_the_protocol(node: ConformanceNode) -> None:
    node.write("a")
    node.runtime.versions.get_supported("a")
    assert node.requests("VERSION") == [{"cniVersion": "1.1.0"}]


def test_a_plugin_returns_its_supported_versions(node: ConformanceNode) -> None:
    node.plugins.write("a", versions=["0.4.0", "1.0.0"])
    assert node.runtime.versions.get_supported("a") == ("0.4.0", "1.0.0")


def test_a_plugin_that_does_not_know_the_command_is_of_0_1_0(node: ConformanceNode) -> None:
    node.plugins.write("a", VERSION=ScriptedAnswer(error={"code": 4, "msg": "unknown CNI_COMMAND: VERSION"}))
    assert node.runtime.versions.get_supported("a") == ("0.1.0",)


def test_a_plugin_of_0_2_0_without_a_list_of_versions_supports_the_first_two(node: ConformanceNode) -> None:
    node.plugins.write("a", VERSION=ScriptedAnswer(stdout='{"cniVersion": "0.2.0"}'))
    assert node.runtime.versions.get_supported("a") == ("0.1.0", "0.2.0")


@pytest.mark.parametrize(
    "stdout", ["", "hello", "[]", '{"cniVersion": "1.0.0"}', '{"cniVersion": "1.0.0", "supportedVersions": []}']
)
def test_a_version_result_without_versions_is_an_error(node: ConformanceNode, stdout: str) -> None:
    node.plugins.write("a", VERSION=ScriptedAnswer(stdout=stdout))
    assert error_of(node.runtime.versions.get_supported, "a").code == Code.DECODE_FAILURE


def test_a_version_result_without_cniversion_is_accepted_differs_from_libcni(node: ConformanceNode) -> None:
    node.plugins.write("a", VERSION=ScriptedAnswer(stdout=json.dumps({"supportedVersions": ["1.0.0"]})))
    assert node.runtime.versions.get_supported("a") == ("1.0.0",)


def test_another_failure_does_not_count_as_an_answer(node: ConformanceNode) -> None:
    node.plugins.write("a", VERSION=ScriptedAnswer(exit=3))
    assert "exit status 3" in error_of(node.runtime.versions.get_supported, "a").msg


def test_the_versions_of_plugins_limit_the_selected_version_differs_from_libcni(node: ConformanceNode) -> None:
    node.plugins.write("b", versions=["0.3.1", "0.4.0", "1.0.0"])
    record = node.add(node.network("a", "b", cniVersions=["0.4.0", "1.0.0", "1.1.0"]))
    assert record.version == "1.0.0"


def test_the_versions_of_delegated_plugins_limit_the_selected_version_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    node.plugins.write("ipam", versions=["0.4.0"])
    network = node.network({"type": "a", "ipam": {"type": "ipam"}}, cniVersions=["0.4.0", "1.0.0", "1.1.0"])
    assert node.add(network).version == "0.4.0"


def test_without_a_common_version_no_plugin_is_run_differs_from_libcni(node: ConformanceNode) -> None:
    node.plugins.write("a", versions=["0.3.1"])
    node.plugins.write("b", versions=["1.0.0"])
    error = error_of(
        node.runtime.add, node.network("a", "b", version="0.3.1", cniVersions=["1.0.0"]), node.attachment()
    )
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert ("a supports 0.3.1" in error.details, node.ran(), node.records_and_intents()) == (True, [], ([], []))


def test_a_network_of_one_version_is_run_without_a_probe(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment())
    assert node.calls("VERSION") == []
