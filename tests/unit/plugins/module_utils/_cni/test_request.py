# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config, request
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import (
    LIST,
    RESULT_1_1_0,
    encode,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_objects

NETWORK = config.parse(encode(LIST), "dbnet.conflist")
BRIDGE, TUNING, PORTMAP = NETWORK.plugins
ALL_ARGS = {
    "mac": "00:11:22:33:44:66",
    "portMappings": [{"hostPort": 8080}],
    "bandwidth": {"ingressRate": 1},
    "ips": ["10.1.0.9/16"],
}


def network(**plugin: object) -> NetworkConfiguration:
    return config.parse(encode({"name": "n", "cniVersion": "1.0.0", "plugins": [{"type": "noop", **plugin}]}), "x")


def attachment(capability_args: JsonObject | None = None, config_args: JsonObject | None = None) -> Attachment:
    return Attachment("n", "blue", "eth0", capability_args=capability_args or {}, config_args=config_args or {})


def derive(
    of: NetworkConfiguration,
    capability_args: JsonObject | None = None,
    prev_result: JsonObject | None = None,
    config_args: JsonObject | None = None,
) -> JsonObject:
    about = attachment(capability_args, config_args)
    content = request.for_attachment(of, of.plugins[0], of.version, about, prev_result)
    return t.cast("JsonObject", json.loads(content))


def test_a_request_is_the_plugins_configuration_with_name_and_version() -> None:
    content = request.for_attachment(NETWORK, BRIDGE, "1.0.0", attachment(ALL_ARGS), None)
    assert json.loads(content) == {**LIST["plugins"][0], "cniVersion": "1.0.0", "name": "dbnet"}


def test_a_number_with_an_integers_value_is_written_as_an_integer() -> None:
    of = network(mtu=1500.0, a=[{"b": 1e3}], c=0.5, d=1e21)
    derived = request.for_attachment(of, of.plugins[0], of.version, attachment(), None)
    assert b'"mtu":1500,"a":[{"b":1000}],"c":0.5,"d":1e+21' in derived


def test_name_and_version_of_the_network_win_over_the_plugins_own() -> None:
    assert derive(network(name="other", cniVersion="0.2.0")) == {"type": "noop", "name": "n", "cniVersion": "1.0.0"}


def test_runtime_config_has_values_that_are_declared_and_given() -> None:
    about = attachment(ALL_ARGS)
    contents = [request.for_attachment(NETWORK, plugin, "1.1.0", about, None) for plugin in NETWORK.plugins]
    assert [json.loads(content).get("runtimeConfig") for content in contents] == [
        None,
        {"mac": "00:11:22:33:44:66"},
        {"portMappings": [{"hostPort": 8080}]},
    ]


@pytest.mark.parametrize("given_args", [{}, {"other": 1}])
def test_there_is_no_runtime_config_where_nothing_is_declared_and_given(given_args: JsonObject) -> None:
    assert "runtimeConfig" not in derive(network(capabilities={"mac": True}), given_args)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
def test_an_empty_capability_argument_is_still_given(value: object) -> None:
    assert derive(network(capabilities={"mac": True}), {"mac": value})["runtimeConfig"] == {"mac": value}


CONFIG_ARGS: JsonObject = {"ips": ["10.1.0.9"], "vendor": {"deep": [1]}}
ARGS_OF_THE_FILE: dict[str, tuple[JsonObject, JsonObject]] = {
    "none": ({}, {"cni": CONFIG_ARGS}),
    "others": ({"args": {"a": 1}}, {"a": 1, "cni": CONFIG_ARGS}),
    "other values": ({"args": {"cni": {"mac": "m"}}}, {"cni": {"mac": "m", **CONFIG_ARGS}}),
    "the same value": ({"args": {"cni": {"ips": ["10.1.0.2"]}}}, {"cni": CONFIG_ARGS}),
    "null": ({"args": None}, {"cni": CONFIG_ARGS}),
    "null below": ({"args": {"a": 1, "cni": None}}, {"a": 1, "cni": CONFIG_ARGS}),
    "no object": ({"args": ["cni"]}, {"cni": CONFIG_ARGS}),
}


@pytest.mark.parametrize(("plugin", "expected"), ARGS_OF_THE_FILE.values(), ids=ARGS_OF_THE_FILE)
def test_an_attachments_config_args_are_placed_in_args_cni(plugin: JsonObject, expected: JsonObject) -> None:
    of = network(**plugin)
    assert derive(of, config_args=CONFIG_ARGS)["args"] == expected
    assert derive(of).get("args") == plugin.get("args")


@pytest.mark.parametrize(
    "key",
    ["capabilities", "runtimeConfig", "RuntimeConfig", "prevResult", "prevresult", "cni.dev/attachments", "cni.dev/x"],
)
def test_keys_generated_by_the_runtime_are_not_taken_from_the_file(key: str) -> None:
    assert key not in derive(network(**{key: {}}))


@pytest.mark.parametrize("key", ["args", "cni.devious", "x.cni.dev/", "Capabilities", "ipMasq"])
def test_other_keys_pass_through(key: str) -> None:
    assert derive(network(**{key: {"a": 1}}))[key] == {"a": 1}


@given(json_objects)
def test_other_keys_pass_through_unaltered(keys: JsonObject) -> None:
    unknown = {f"x-{key}": value for key, value in keys.items()}
    assert derive(network(**unknown)) == {"type": "noop", "name": "n", "cniVersion": "1.0.0", **unknown}


@given(st.integers())
def test_integers_keep_their_value_in_every_place(number: int) -> None:
    of = network(capabilities={"mac": True}, number=number, inner={"list": [number]})
    keys = derive(of, {"mac": number}, {"number": number})
    assert (keys["number"], keys["inner"]["list"], keys["runtimeConfig"]["mac"]) == (number, [number], number)
    assert keys["prevResult"] == {"number": number}


def test_integers_beyond_2_to_the_53_keep_their_digits() -> None:
    of = config.parse(b'{"name": "n", "plugins": [{"type": "t", "mark": 9007199254740993}]}', "x")
    assert b'"mark":9007199254740993' in request.for_attachment(of, of.plugins[0], "0.1.0", attachment(), None)


def test_the_first_plugin_gets_no_previous_result() -> None:
    assert "prevResult" not in derive(NETWORK)


def test_the_previous_result_is_passed_on_unchanged() -> None:
    assert derive(NETWORK, prev_result=RESULT_1_1_0)["prevResult"] == RESULT_1_1_0


def test_gc_sends_valid_attachments_under_both_keys_of_1_1_0() -> None:
    keys = json.loads(request.for_gc(NETWORK, TUNING, "1.1.0", [("blue", "eth0"), ("red", "net1")]))
    valid = [{"containerID": "blue", "ifname": "eth0"}, {"containerID": "red", "ifname": "net1"}]
    assert keys == {
        "type": "tuning",
        "sysctl": {"net.core.somaxconn": "500"},
        "capabilities": {"mac": True},
        "name": "dbnet",
        "cniVersion": "1.1.0",
        "cni.dev/valid-attachments": valid,
        "cni.dev/attachments": valid,
    }


def test_gc_sends_an_empty_list_without_valid_attachments() -> None:
    keys = json.loads(request.for_gc(NETWORK, TUNING, "1.1.0", []))
    assert (keys["cni.dev/valid-attachments"], keys["cni.dev/attachments"]) == ([], [])


def test_the_request_of_status_has_no_keys_of_an_attachment() -> None:
    keys = json.loads(request.for_network(NETWORK, PORTMAP, "1.1.0"))
    assert keys == {**PORTMAP.keys, "name": "dbnet", "cniVersion": "1.1.0"}


def test_version_reads_the_version_of_the_protocol() -> None:
    assert json.loads(request.for_version_probe()) == {"cniVersion": "1.1.0"}
