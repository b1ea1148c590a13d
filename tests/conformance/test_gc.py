# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Garbage-collecting a network"; section 2, "GC"."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


@pytest.fixture
def network(node: ConformanceNode) -> NetworkConfiguration:
    """Return a network with attachments of blue and red."""
    made = node.network("a", "b")
    for container in ("blue", "red"):
        node.add(made, node.attachment(container))
    return made


def list_valid(request: JsonObject) -> tuple[list[str], list[str]]:
    """Return the containers under each of the two keys for valid attachments."""
    first, second = (
        [entry["containerID"] for entry in request[key]] for key in ("cni.dev/valid-attachments", "cni.dev/attachments")
    )
    return first, second


def test_plugins_get_valid_attachments_by_container_and_interface(
    node: ConformanceNode, network: NetworkConfiguration
) -> None:
    network_operations.gc(node.runtime, network, [("blue", "eth0"), ("red", "eth0"), ("foreign", "net1")])
    entries = [
        {"containerID": name, "ifname": ifname}
        for name, ifname in (("blue", "eth0"), ("foreign", "net1"), ("red", "eth0"))
    ]
    assert [request["cni.dev/valid-attachments"] for request in node.requests("GC")] == [entries] * 2


def test_valid_attachments_are_sent_under_both_keys_of_1_1_0(
    node: ConformanceNode, network: NetworkConfiguration
) -> None:
    network_operations.gc(node.runtime, network)
    assert list_valid(node.requests("GC")[0]) == (["blue", "red"], ["blue", "red"])


def test_valid_attachments_are_sent_without_a_request_differs_from_libcni(
    node: ConformanceNode, network: NetworkConfiguration
) -> None:
    network_operations.gc(node.runtime, network, None)
    assert [list_valid(request)[0] for request in node.requests("GC")] == [["blue", "red"]] * 2
    assert node.ran("DEL") == []


def test_invalid_attachments_are_deleted_first(node: ConformanceNode, network: NetworkConfiguration) -> None:
    network_operations.gc(node.runtime, network, [("red", "eth0")])
    assert node.ran() == [("DEL", "b"), ("DEL", "a"), ("GC", "a"), ("GC", "b")]
    assert {call.env["CNI_CONTAINERID"] for call in node.calls("DEL")} == {"blue"}
    assert [record.attachment.container_id for record in node.records_and_intents()[0]] == ["red"]


def test_gc_deletes_with_the_recorded_configuration_differs_from_libcni(node: ConformanceNode) -> None:
    attachment = node.attachment(args={"K": "V"}, capability_args={"mac": "x"})
    node.add(node.network({"type": "a", "capabilities": {"mac": True}, "mtu": 1400}, "b"), attachment)
    network_operations.gc(node.runtime, node.network("a"), [])
    (b, a) = node.calls("DEL")
    assert (b.plugin, a.request["mtu"], a.request["runtimeConfig"], a.env["CNI_ARGS"]) == (
        "b",
        1400,
        {"mac": "x"},
        "K=V",
    )


def test_gc_keeps_attachments_to_other_networks(node: ConformanceNode, network: NetworkConfiguration) -> None:
    other = node.network("a", name="other")
    node.add(other, node.attachment("green", network="other"))
    network_operations.gc(node.runtime, network, [])
    assert [record.attachment.network for record in node.records_and_intents()[0]] == ["other"]


def test_gc_continues_after_a_plugin_fails(node: ConformanceNode, network: NetworkConfiguration) -> None:
    node.write("a", GC=ScriptedAnswer(error={"code": 5, "msg": "no disk"}))
    node.write("b", GC=ScriptedAnswer(error={"code": 11, "msg": "later"}))
    error = error_of(network_operations.gc, node.runtime, network)
    assert node.ran("GC") == [("GC", "a"), ("GC", "b")]
    assert all(words in str(error) for words in ("plugin a failed (GC): no disk", "plugin b failed (GC): later"))


def test_gc_continues_after_a_del_fails(node: ConformanceNode, network: NetworkConfiguration) -> None:
    node.write("a", DEL=ScriptedAnswer(exit=3))
    assert "exit status 3" in str(error_of(network_operations.gc, node.runtime, network, []))
    assert node.ran("GC") == [("GC", "a"), ("GC", "b")]
    assert len(node.records_and_intents()[0]) == 2


@pytest.mark.parametrize("content", [b"", b"{", b'{"kind": "other"}'])
def test_gc_does_not_run_while_a_record_is_unreadable_differs_from_libcni(
    node: ConformanceNode, network: NetworkConfiguration, content: bytes
) -> None:
    broken = node.cache / "results" / "net-black-eth0"
    broken.write_bytes(content)
    error = error_of(network_operations.gc, node.runtime, network, [])
    assert (error.code, str(broken) in str(error), node.ran()) == (Code.DECODE_FAILURE, True, [])
    assert len(node.records_and_intents()[0]) == 2


def test_gc_treats_attachments_of_libcni_as_valid(node: ConformanceNode, network: NetworkConfiguration) -> None:
    foreign = node.record().encode().replace(b'"cni.node"', b'"other"').replace(b'"blue"', b'"foreign"')
    (node.cache / "results" / "net-foreign-eth0").write_bytes(foreign)
    network_operations.gc(node.runtime, network)
    assert list_valid(node.requests("GC")[0])[0] == ["blue", "foreign", "red"]


@pytest.mark.parametrize("stdout", ["", "hello"])
def test_output_of_a_plugin_that_succeeds_is_ignored(
    node: ConformanceNode, network: NetworkConfiguration, stdout: str
) -> None:
    node.write("a", GC=ScriptedAnswer(stdout=stdout))
    assert network_operations.gc(node.runtime, network)
