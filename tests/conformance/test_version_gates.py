# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations available in each version of the specification."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import VERSIONS, ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

SINCE_0_4_0 = ("0.4.0", "1.0.0", "1.1.0")
OLD: JsonObject = {"ip4": {"ip": "10.1.0.5/16"}}
NUMBERED: JsonObject = {"ips": [{"version": "4", "address": "10.1.0.5/16"}]}
PLAIN: JsonObject = {"ips": [{"address": "10.1.0.5/16"}]}
FORM = dict(zip(VERSIONS, (OLD, OLD, NUMBERED, NUMBERED, NUMBERED, PLAIN, PLAIN)))


@pytest.mark.parametrize("version", VERSIONS)
def test_add_is_run_at_every_version(node: ConformanceNode, version: str) -> None:
    node.runtime.add(node.network("a", "b", version=version), node.attachment())
    assert node.ran() == [("ADD", "a"), ("ADD", "b")]


@pytest.mark.parametrize("version", VERSIONS)
def test_results_are_handed_on_and_recorded_in_the_form_of_the_version(node: ConformanceNode, version: str) -> None:
    from_plugin = {"cniVersion": version, **FORM[version]}
    node.plugins.write("a", ADD=ScriptedAnswer(result=FORM[version]))
    record = node.add(node.network("a", version=version))
    assert record.result is not None
    assert (record.result.keys, record.version) == (from_plugin, version)


@pytest.mark.parametrize("version", SINCE_0_4_0)
def test_check_is_run_since_0_4_0(node: ConformanceNode, version: str) -> None:
    record = node.add(node.network("a", "b", version=version))
    assert node.runtime.check(record).was_run
    assert node.ran() == [("CHECK", "a"), ("CHECK", "b")]


@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in SINCE_0_4_0])
def test_check_before_0_4_0_is_skipped_without_an_error_differs_from_libcni(
    node: ConformanceNode, version: str
) -> None:
    record = node.add(node.network("a", version=version))
    assert not node.runtime.check(record).was_run
    assert node.ran() == []


@pytest.mark.parametrize("version", SINCE_0_4_0)
def test_check_is_not_run_where_it_is_disabled(node: ConformanceNode, version: str) -> None:
    record = node.add(node.network("a", version=version, disableCheck=True))
    assert not node.runtime.check(record).was_run
    assert node.ran() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_del_is_run_at_every_version(node: ConformanceNode, version: str) -> None:
    node.runtime.delete(node.add(node.network("a", "b", version=version)))
    assert node.ran() == [("DEL", "b"), ("DEL", "a")]


@pytest.mark.parametrize("version", VERSIONS)
def test_del_has_a_previous_result_since_0_4_0(node: ConformanceNode, version: str) -> None:
    node.plugins.write("a", ADD=ScriptedAnswer(result=FORM[version]))
    node.runtime.delete(node.add(node.network("a", version=version)))
    expected = {"cniVersion": version, **FORM[version]} if version in SINCE_0_4_0 else None
    assert node.requests("DEL")[0].get("prevResult") == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_gc_is_run_at_1_1_0_and_deletes_at_every_version(node: ConformanceNode, version: str) -> None:
    network = node.network("a", version=version)
    node.add(network)
    assert network_operations.gc(node.runtime, network, []) is (version == "1.1.0")
    assert node.ran() == [("DEL", "a"), *([("GC", "a")] if version == "1.1.0" else [])]


@pytest.mark.parametrize("version", VERSIONS)
def test_gc_is_not_run_where_it_is_disabled(node: ConformanceNode, version: str) -> None:
    network = node.network("a", version=version, disableGC=True)
    node.add(network)
    assert network_operations.gc(node.runtime, network, []) is False
    assert node.ran() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_status_is_run_at_1_1_0(node: ConformanceNode, version: str) -> None:
    assert network_operations.status(node.runtime, node.network("a", version=version)) is (version == "1.1.0")
    assert node.ran() == ([("STATUS", "a")] if version == "1.1.0" else [])
