# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config, request, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST, SINGLE, encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_values, spoiled_texts

SOURCE = "10-net.conflist"


def parse(document: object, **keywords: bool) -> NetworkConfiguration:
    return config.parse(encode(document), SOURCE, **keywords)


def with_plugin(**keys: object) -> JsonObject:
    return {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "noop", **keys}]}


def test_all_keys_of_a_list_are_read() -> None:
    network = parse(LIST)
    assert (network.name, network.version, network.source, network.is_list) == ("dbnet", "1.1.0", SOURCE, True)
    assert network.versions == ("0.3.1", "0.4.0", "1.0.0", "1.1.0")
    assert [(plugin.index, plugin.type) for plugin in network.plugins] == [(0, "bridge"), (1, "tuning"), (2, "portmap")]
    assert [plugin.keys for plugin in network.plugins] == LIST["plugins"]
    assert network.content == encode(LIST)


def test_only_capabilities_declared_true_count() -> None:
    assert [plugin.capabilities for plugin in parse(LIST).plugins] == [frozenset(), {"mac"}, {"portMappings"}]


def test_every_executable_is_listed_once_including_delegated_ones() -> None:
    plugins = [{"type": "bridge", "ipam": {"type": "host-local"}}, {"type": "tuning", "ipam": {}}, {"type": "bridge"}]
    assert parse({"name": "n", "plugins": plugins}).plugin_types == ("bridge", "host-local", "tuning")


@pytest.mark.parametrize("own", ["", *version.KNOWN[:5]])
def test_a_single_plugins_configuration_is_a_list_of_one(own: str) -> None:
    network = parse({**SINGLE, "cniVersion": own})
    assert (network.is_list, network.version, network.plugin_types) == (False, own or "0.1.0", ("bridge", "host-local"))


@pytest.mark.parametrize("own", ["1.0.0", "1.1.0"])
def test_a_single_plugins_configuration_is_refused_since_1_0_0(own: str) -> None:
    error = error_of(parse, {**SINGLE, "cniVersion": own})
    assert error.code == Code.INVALID_CONFIG
    assert "move the plugin into 'plugins'" in error.details


def test_a_recorded_single_plugins_configuration_is_read_at_any_version() -> None:
    assert parse({**SINGLE, "cniVersion": "1.0.0"}, recorded=True).version == "1.0.0"


@pytest.mark.parametrize("document", [LIST, SINGLE])
def test_the_content_is_parsed_to_the_same_configuration(document: JsonObject) -> None:
    network = parse(document)
    assert config.parse(network.content, "elsewhere", recorded=True) == network


def test_appended_plugins_are_part_of_the_content() -> None:
    network = parse({**LIST, "loadOnlyInlinedPlugins": False})
    more = network.with_plugins([config.parse_plugin({"type": "more"}, 3, "more.conf", "")])
    again = config.parse(more.content, "elsewhere")
    assert [plugin.type for plugin in again.plugins] == ["bridge", "tuning", "portmap", "more"]
    assert again.load_only_inlined_plugins
    assert again == more


def test_networks_of_different_files_and_layouts_are_equal() -> None:
    assert parse(LIST) == config.parse(json.dumps(LIST, indent=4, sort_keys=True).encode(), "elsewhere")


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({}, "0.1.0"),
        ({"cniVersion": ""}, "0.1.0"),
        ({"cniVersion": "0.4.0"}, "0.4.0"),
        ({"cniVersions": ["0.4.0", "1.0.0"]}, "1.0.0"),
        ({"cniVersions": ["1.0.0", "0.4.0"], "cniVersion": "0.3.1"}, "1.0.0"),
        ({"cniVersions": ["0.4.0"], "cniVersion": "1.1.0"}, "1.1.0"),
        ({"cniVersions": ["0.4.0", "2.0.0"], "cniVersion": "3.0.0"}, "0.4.0"),
        ({"cniVersions": [], "cniVersion": "1.0.0"}, "1.0.0"),
        ({"cniVersions": ["1.0.0", "", "1", "1.2", "+9.9.9"]}, "1.0.0"),
    ],
)
def test_the_highest_known_version_is_chosen(versions: JsonObject, chosen: str) -> None:
    assert parse({**versions, "name": "n", "plugins": []}).version == chosen


NO_VERSIONS = ("latest", "v1.0.0", "1.1.0-dev", "1.0.0.0", "1..0", " 1.0.0", "1_0", "\u0661.0.0", "9" * 20)


@pytest.mark.parametrize("entry", NO_VERSIONS)
def test_an_entry_that_is_not_a_version_is_refused_as_in_libcni(entry: str) -> None:
    several = {"cniVersions": ["1.0.0", entry], "name": "n", "plugins": []}
    error = error_of(parse, several)
    assert error.msg == f"{SOURCE}: /cniVersions/1: {entry!r} is not a version of the CNI specification"
    assert '"1.0.0"' in error.details
    beside = error_of(parse, {**several, "cniVersions": ["1.0.0"], "cniVersion": entry})
    assert beside.msg == f"{SOURCE}: /cniVersion: {entry!r} is not a version of the CNI specification"
    assert parse(several, recorded=True).version == "1.0.0"


def test_a_record_may_have_null_for_versions() -> None:
    assert (
        parse({"cniVersions": None, "cniVersion": "1.0.0", "name": "n", "plugins": []}, recorded=True).version
        == "1.0.0"
    )


@pytest.mark.parametrize(
    "versions",
    [
        {"cniVersion": "1.2.0"},
        {"cniVersion": "x"},
        {"cniVersions": []},
        {"cniVersions": ["2.0.0"]},
        {"cniVersions": [], "cniVersion": "9.9.9"},
    ],
)
def test_a_configuration_without_a_known_version_is_refused(versions: JsonObject) -> None:
    error = error_of(parse, {**versions, "name": "n", "plugins": []})
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert "known versions: 0.1.0" in error.details


@pytest.mark.parametrize("key", ["disableCheck", "disableGC", "loadOnlyInlinedPlugins"])
@pytest.mark.parametrize(
    ("value", "meaning"), [(True, True), (False, False), ("true", True), ("TRUE", True), ("False", False)]
)
def test_flags_are_booleans_or_their_names(key: str, value: object, meaning: bool) -> None:
    network = parse({**LIST, key: value})
    assert {
        "disableCheck": network.disable_check,
        "disableGC": network.disable_gc,
        "loadOnlyInlinedPlugins": network.load_only_inlined_plugins,
    }[key] is meaning


WRONG: tuple[tuple[str, object, str], ...] = (
    ("", [], "found a list"),
    ("", "x", "found a string"),
    ("/name", {"plugins": []}, "the key 'name' is missing"),
    ("/name", {"name": "../x", "plugins": []}, "'../x' is not a network name"),
    ("/name", {"name": 5, "plugins": []}, "5 is not a network name"),
    ("/cniVersion", {"name": "n", "cniVersion": 1, "plugins": []}, "found a number"),
    ("/cniVersion", {"name": "n", "cniVersion": None, "plugins": []}, "found null"),
    ("/cniVersions", {"name": "n", "cniVersions": "1.0.0", "plugins": []}, "'1.0.0'"),
    ("/cniVersions", {"name": "n", "cniVersions": None, "cniVersion": "1.0.0", "plugins": []}, "found null"),
    ("/cniVersions/0", {"name": "n", "cniVersions": [1], "plugins": []}, "found a number"),
    ("/cniVersions/1", {"name": "n", "cniVersions": ["1.0.0", None], "plugins": []}, "found null"),
    ("/plugins", {"name": "n", "plugins": {}}, "found an object"),
    ("/plugins/0", {"name": "n", "plugins": ["bridge"]}, "found a string"),
    ("/plugins/0", {"name": "n", "plugins": [{}]}, "the plugin has no 'type'"),
    ("/plugins/1/type", {"name": "n", "plugins": [{"type": "a"}, {"type": "../x"}]}, "'../x'"),
    ("/plugins/0/type", {"name": "n", "plugins": [{"type": None}]}, "null"),
    ("/type", {"name": "n", "type": "/bin/sh"}, "'/bin/sh'"),
    ("/disableCheck", {**LIST, "disableCheck": 1}, "found 1"),
    ("/disableGC", {**LIST, "disableGC": "yes"}, "found 'yes'"),
    ("/loadOnlyInlinedPlugins", {**LIST, "loadOnlyInlinedPlugins": None}, "found None"),
    ("/loadOnlyInlinedPlugins", {"name": "n", "loadOnlyInlinedPlugins": True}, "there are no 'plugins'"),
    ("/plugins/0/capabilities", with_plugin(capabilities=["mac"]), "found a list"),
    ("/plugins/0/capabilities/mac", with_plugin(capabilities={"mac": "yes"}), "found 'yes'"),
    ("/plugins/0/ipam", with_plugin(ipam="host-local"), "found a string"),
    ("/plugins/0/ipam/type", with_plugin(ipam={"type": "../x"}), "'../x'"),
    ("/plugins/0/ipam/type", with_plugin(ipam={"type": 7}), "7"),
    ("/plugins/0/ipam", with_plugin(ipam=[]), "found a list"),
    ("/plugins/0/dns", with_plugin(dns=[1]), "found a list"),
)


@pytest.mark.parametrize(("pointer", "document", "problem"), WRONG)
def test_the_error_names_file_place_value_and_expectation(pointer: str, document: object, problem: str) -> None:
    error = error_of(parse, document)
    assert error.code == Code.INVALID_CONFIG
    assert error.msg.startswith(SOURCE)
    assert f": {pointer}" in error.msg
    assert problem in error.msg
    assert error.details.startswith("expected: ")


def test_the_error_of_a_plugins_key_names_the_plugin() -> None:
    assert "(plugin 0, type noop)" in error_of(parse, with_plugin(dns=[1])).msg


@pytest.mark.parametrize("empty", [None, {}])
@pytest.mark.parametrize("key", ["capabilities", "ipam", "dns"])
def test_well_known_objects_may_be_empty(key: str, empty: object) -> None:
    assert parse(with_plugin(**{key: empty})).plugin_types == ("noop",)


def test_a_duplicate_key_is_refused_in_a_file_and_accepted_in_a_record() -> None:
    content = b'{"name": "n", "name": "n", "plugins": []}'
    assert error_of(config.parse, content, SOURCE).code == Code.DECODE_FAILURE
    assert config.parse(content, SOURCE, recorded=True).name == "n"


def test_a_network_without_plugins_is_read_but_cannot_be_run() -> None:
    error = error_of(parse({"name": "n", "plugins": []}).require_plugins)
    assert (error.code, error.msg) == (Code.INVALID_CONFIG, f"{SOURCE}: /plugins: the network has no plugin")


@given(spoiled_texts(LIST, SINGLE), st.booleans())
def test_no_bytes_raise_anything_but_cni_error(content: bytes, recorded: bool) -> None:
    try:
        network = config.parse(content, SOURCE, recorded=recorded)
        again = config.parse(network.content, SOURCE, recorded=True)
    except CniError:
        return
    assert again == network
    about = Attachment(network.name, "blue", "eth0", capability_args={"mac": "x"}, config_args={"mac": "x"})
    for plugin in network.plugins:
        request.for_attachment(network, plugin, network.version, about, {})


@given(st.dictionaries(st.text(), json_values))
def test_keys_that_the_specification_does_not_name_are_kept(keys: JsonObject) -> None:
    unknown = {f"x-{key}": value for key, value in keys.items()}
    assert parse(with_plugin(**unknown)).plugins[0].keys == {"type": "noop", **unknown}


def test_the_deepest_readable_plugin_can_be_written_into_a_list() -> None:
    nested = b"[" * 189 + b"]" * 189
    network = config.parse(b'{"name":"n","type":"t","x":' + nested + b"}", SOURCE)
    assert nested in network.content
    assert config.parse(network.content, SOURCE, recorded=True) == network
    assert "nested" in error_of(config.parse, b'{"name":"n","type":"t","x":[' + nested + b"]}", SOURCE).msg


def test_data_is_written_as_indented_json() -> None:
    assert config.encode({"name": "é", "plugins": [{"n": 9007199254740993}]}).decode() == (
        '{\n  "name": "é",\n  "plugins": [\n    {\n      "n": 9007199254740993\n    }\n  ]\n}\n'
    )


@pytest.mark.parametrize("value", [{1, 2}, b"x", "\udc80", object()], ids=lambda value: type(value).__name__)
def test_data_that_json_cannot_represent_is_refused(value: object) -> None:
    error = error_of(config.encode, {"key": value})
    assert (error.code, error.msg.startswith("the configuration cannot be written as JSON: ")) == (
        Code.INVALID_CONFIG,
        True,
    )


def test_the_ipam_plugin_is_found_in_any_case() -> None:
    assert parse(with_plugin(IPAM={"Type": "static"})).plugins[0].delegated_type == "static"
    assert "/ipam: found a list" in error_of(parse, with_plugin(Ipam=[])).msg


def test_capabilities_are_declared_in_one_case() -> None:
    assert parse(with_plugin(Capabilities={"mac": True})).plugins[0].capabilities == frozenset()
