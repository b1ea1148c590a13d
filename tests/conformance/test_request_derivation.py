# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Deriving request configuration from plugin configuration", as real plugins read it."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config, network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import VERSIONS, ConformanceNode

FIELDS = {
    "keyA": ["some more", {"plugin": "specific"}],
    "ipMasq": True,
    "ipam": {"type": "ipam"},
    "args": {"labels": {}},
    "text": "<&>ä\u2028",
}


def request_of(
    node: ConformanceNode, *, version: str | None = "1.1.0", capability_args: JsonObject | None = None, **plugin: object
) -> JsonObject:
    """Return the request that the only plugin of a network reads at ADD."""
    node.write("ipam")
    network = node.network({"type": "a", **plugin}, version=version)
    node.runtime.add(network, node.attachment(capability_args=capability_args or {}))
    return node.requests("ADD")[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_name_and_version_are_inserted(node: ConformanceNode, version: str) -> None:
    assert request_of(node, version=version) == {"type": "a", "name": "net", "cniVersion": version}


def test_the_request_has_the_selected_version(node: ConformanceNode) -> None:
    node.plugins.write("a", versions=["0.4.0", "1.0.0"])
    node.runtime.add(node.network("a", cniVersions=["0.4.0", "1.0.0", "1.1.0"]), node.attachment())
    assert node.requests("ADD")[0]["cniVersion"] == "1.0.0"


def test_a_network_without_a_version_is_sent_as_0_1_0_differs_from_libcni(node: ConformanceNode) -> None:
    assert request_of(node, version=None)["cniVersion"] == "0.1.0"


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL", "GC", "STATUS"])
def test_other_fields_pass_through_unaltered(node: ConformanceNode, command: str) -> None:
    node.write("ipam")
    network = node.network({"type": "a", **FIELDS})
    node.runtime.add(network, node.attachment())
    node.runtime.check(node.record())
    network_operations.gc(node.runtime, network)
    network_operations.status(node.runtime, network)
    node.runtime.delete(node.record())
    request = node.requests(command)[0]
    assert {key: request[key] for key in FIELDS} == FIELDS


@pytest.mark.parametrize("number", [9007199254740993, -9223372036854775808, 18446744073709551615])
def test_integers_keep_every_digit_differs_from_libcni(node: ConformanceNode, number: int) -> None:
    request_of(node, mark=number, capabilities={"mac": True}, capability_args={"mac": number})
    assert node.calls("ADD")[0].stdin.count(str(number)) == 2


@pytest.mark.parametrize(
    ("command", "is_sent"), [("ADD", False), ("CHECK", False), ("DEL", False), ("GC", True), ("STATUS", True)]
)
def test_capabilities_are_not_sent_for_an_attachment_differs_from_libcni(
    node: ConformanceNode, command: str, is_sent: bool
) -> None:
    network = node.network({"type": "a", "capabilities": {"mac": True}})
    node.runtime.add(network, node.attachment(capability_args={"mac": "x"}))
    node.runtime.check(node.record())
    network_operations.gc(node.runtime, network)
    network_operations.status(node.runtime, network)
    node.runtime.delete(node.record())
    assert ("capabilities" in node.requests(command)[0]) == is_sent


def test_reserved_keys_of_the_file_are_not_sent_differs_from_libcni(node: ConformanceNode) -> None:
    reserved: JsonObject = {
        "cni.dev/valid-attachments": [],
        "cni.dev/x": 1,
        "runtimeConfig": {"mac": "x"},
        "prevResult": {},
    }
    assert request_of(node, **reserved) == {"type": "a", "name": "net", "cniVersion": "1.1.0"}


def test_runtime_config_has_values_that_are_declared_and_given(node: ConformanceNode) -> None:
    declared = {"mac": True, "bandwidth": True, "ips": False}
    given = {"mac": "00:11:22:33:44:66", "ips": ["10.1.0.9/16"], "portMappings": []}
    assert request_of(node, capabilities=declared, capability_args=given)["runtimeConfig"] == {
        "mac": "00:11:22:33:44:66"
    }


@pytest.mark.parametrize("given", [{}, {"ips": []}])
def test_there_is_no_runtime_config_without_a_capability_declared_and_given(
    node: ConformanceNode, given: JsonObject
) -> None:
    assert "runtimeConfig" not in request_of(node, capabilities={"mac": True, "ips": False}, capability_args=given)


@pytest.mark.parametrize("value", [None, 0, "", [], {"deep": [1.5, {"a": None}]}])
def test_a_capability_argument_is_any_json(node: ConformanceNode, value: object) -> None:
    assert request_of(node, capabilities={"x": True}, capability_args={"x": value})["runtimeConfig"] == {"x": value}


@pytest.mark.parametrize("command", ["CHECK", "DEL"])
def test_runtime_config_is_sent_again_with_every_operation_of_the_attachment(
    node: ConformanceNode, command: str
) -> None:
    record = node.add(
        node.network({"type": "a", "capabilities": {"mac": True}}), node.attachment(capability_args={"mac": "x"})
    )
    node.runtime.check(record)
    node.runtime.delete(record)
    assert node.requests(command)[0]["runtimeConfig"] == {"mac": "x"}


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_every_plugin_gets_args_cni_of_the_attachment_differs_from_libcni(node: ConformanceNode, command: str) -> None:
    network = node.network({"type": "a", "args": {"cni": {"mac": "x"}}}, "b")
    given = {"labels": [{"key": "a", "value": "b"}], "ips": ["10.1.0.9"]}
    node.runtime.add(network, node.attachment(config_args=given))
    node.runtime.check(node.record())
    node.runtime.delete(node.record())
    requests = {call.plugin: call.request["args"] for call in node.calls(command)}
    assert requests == {"a": {"cni": {"mac": "x", **given}}, "b": {"cni": given}}


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_operations_on_a_network_have_neither_runtime_config_nor_a_previous_result(
    node: ConformanceNode, command: str
) -> None:
    network = node.network({"type": "a", "capabilities": {"mac": True}})
    node.add(network, node.attachment(capability_args={"mac": "x"}))
    network_operations.gc(node.runtime, network)
    network_operations.status(node.runtime, network)
    assert not {"runtimeConfig", "prevResult"} & node.requests(command)[0].keys()


def test_a_request_is_one_json_text_in_ascii(node: ConformanceNode) -> None:
    request_of(node, text="ä\u2028")
    stdin = node.calls("ADD")[0].stdin
    assert stdin.isascii()
    assert config.parse(b'{"name":"net","plugins":[' + stdin.encode() + b"]}", "x").plugins[0].keys["text"] == "ä\u2028"
