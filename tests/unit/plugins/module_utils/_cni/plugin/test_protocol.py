# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import (
    RESULT_0_2_0,
    RESULT_0_4_0,
    RESULT_1_1_0,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryExecutor,
    fails_at,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    CONFIG,
    FakePlugin,
    call,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import spoiled_texts

OPERATIONS = ("ADD", "CHECK", "DEL", "GC", "STATUS")
SINCE = {"ADD": "0.1.0", "DEL": "0.1.0", "CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}
# A result that every version can express.
RESULT = Result(
    version.LATEST,
    {
        "interfaces": [{"name": "eth0", "mac": "00:11:22:33:44:55", "mtu": 1500}],
        "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "0.0.0.0/0", "mtu": 1400}],
    },
)


class Recent(FakePlugin):
    versions = ("0.4.0", "1.0.0")


def config(**keys: t.Any) -> JsonObject:
    return {**CONFIG, **keys}


def output(result: Result, requested: str) -> JsonObject:
    printed: JsonObject = json.loads(call(FakePlugin(lambda request: result), "ADD", config(cniVersion=requested)))
    return printed


@pytest.mark.parametrize("command", OPERATIONS)
@pytest.mark.parametrize("requested", version.KNOWN)
def test_an_operation_is_refused_before_its_first_version(command: str, requested: str) -> None:
    plugin = FakePlugin(lambda request: RESULT)
    if version.at_least(requested, SINCE[command]):
        call(plugin, command, config(cniVersion=requested))
        assert [request.version for request in plugin.requests] == [requested]
    else:
        error = error_of(call, plugin, command, config(cniVersion=requested))
        assert (error.code, error.details) == (1, f"expected: cniVersion {SINCE[command]} or later")
        assert plugin.requests == []


@pytest.mark.parametrize("keys", [{}, {"cniVersion": None}, {"cniVersion": ""}], ids=["missing", "null", "empty"])
def test_a_missing_version_means_the_first(keys: JsonObject) -> None:
    plugin = FakePlugin(lambda request: RESULT)
    printed = json.loads(call(plugin, "ADD", {"name": "dbnet", "type": "fake", **keys}))
    assert (plugin.requests[0].version, printed["cniVersion"], printed["ip4"]["ip"]) == (
        "0.1.0",
        "0.1.0",
        "10.1.0.5/16",
    )


@pytest.mark.parametrize("unsupported", ["0.3.1", "1.1.0", "9.9.9", "1.0", 1, ["1.0.0"], {"a": 1}])
def test_a_version_that_the_plugin_does_not_support_is_refused(unsupported: object) -> None:
    plugin = Recent()
    error = error_of(call, plugin, "ADD", config(cniVersion=unsupported))
    assert (error.code, error.details) == (1, "supported: 0.4.0, 1.0.0")
    assert repr(unsupported) in error.msg
    assert plugin.requests == []


def test_a_missing_version_is_refused_by_a_plugin_that_lacks_the_first_version() -> None:
    assert error_of(call, Recent(), "DEL", {"name": "dbnet", "type": "fake"}).code == 1


def test_version_needs_no_request() -> None:
    for content in (b"", b"{", b'{"cniVersion": "9.9.9"}'):
        assert json.loads(call(Recent(), "VERSION", content)) == {
            "cniVersion": "1.1.0",
            "supportedVersions": ["0.4.0", "1.0.0"],
        }


@pytest.mark.parametrize("name", [None, "", "a b", "../x", ".hidden", "ü", 7, ["dbnet"], {"a": 1}])
@pytest.mark.parametrize("command", OPERATIONS)
def test_a_request_without_a_valid_network_name_is_refused(command: str, name: object) -> None:
    plugin = FakePlugin()
    assert error_of(call, plugin, command, config(name=name)).code == 7
    assert plugin.requests == []


def test_a_request_without_the_key_name_is_refused() -> None:
    error = error_of(call, FakePlugin(), "ADD", {"cniVersion": "1.1.0", "type": "fake"})
    assert (error.code, error.details) == (7, "expected: the key name")


@pytest.mark.parametrize("content", [b"", b" ", b"{", b"[]", b"null", b'"x"', b"\xff{}", b'{"name": NaN}'])
@pytest.mark.parametrize("command", OPERATIONS)
def test_a_request_that_is_not_a_json_object_is_refused(command: str, content: bytes) -> None:
    plugin = FakePlugin()
    error = error_of(call, plugin, command, content)
    assert error.code == 6
    assert error.msg.startswith("the request of plugin fake ")
    assert plugin.requests == []


@pytest.mark.parametrize("command", ["", "add", "GET", "UPDATE"])
def test_an_unknown_operation_is_refused(command: str) -> None:
    error = error_of(call, FakePlugin(), command)
    assert (error.code, error.msg) == (4, f"CNI_COMMAND: {command!r} is unknown")
    assert error.details == "expected: one of ADD, CHECK, DEL, GC, STATUS, VERSION"


@pytest.mark.parametrize("requested", ["0.1.0", "0.2.0"])
def test_a_result_before_0_3_0_has_an_address_of_each_family(requested: str) -> None:
    assert output(RESULT, requested) == {
        "cniVersion": requested,
        "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
        "ip6": {"ip": "fd00::5/64"},
        "dns": {},
    }


@pytest.mark.parametrize("requested", ["0.3.0", "0.3.1", "0.4.0"])
def test_a_result_before_1_0_0_has_the_family_of_each_address_and_dns(requested: str) -> None:
    assert output(RESULT, requested) == {
        "cniVersion": requested,
        "interfaces": [{"name": "eth0", "mac": "00:11:22:33:44:55"}],
        "ips": [
            {"version": "4", "address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0},
            {"version": "6", "address": "fd00::5/64"},
        ],
        "routes": [{"dst": "0.0.0.0/0", "mtu": 1400}],
        "dns": {},
    }


@pytest.mark.parametrize("requested", ["1.0.0", "1.1.0"])
def test_a_result_since_1_0_0_is_unchanged(requested: str) -> None:
    assert output(RESULT, requested) == {**RESULT.keys, "cniVersion": requested}


EMPTY: JsonObject = {"interfaces": [], "ips": [], "routes": [], "dns": {}}


def test_empty_lists_are_left_out_of_a_result() -> None:
    assert output(Result(version.LATEST, {**EMPTY, "own": []}), "1.0.0") == {"cniVersion": "1.0.0", "own": []}
    assert output(Result(version.LATEST, EMPTY), "0.4.0") == {"cniVersion": "0.4.0", "dns": {}}


def test_dns_settings_stay_in_every_version() -> None:
    dns = {"nameservers": ["10.1.0.1"]}
    for requested in version.KNOWN:
        assert output(Result(version.LATEST, {**RESULT.keys, "dns": dns}), requested)["dns"] == dns


def test_a_plugin_may_return_a_result_of_any_version() -> None:
    assert output(Result("0.4.0", RESULT_0_4_0), "0.4.0") == RESULT_0_4_0
    assert output(Result("0.2.0", RESULT_0_2_0), "1.1.0")["ips"][0] == {
        "address": "10.1.0.5/16",
        "gateway": "10.1.0.1",
    }


def test_a_result_that_the_version_cannot_express_is_an_error_of_the_plugin() -> None:
    assert error_of(call, FakePlugin(), "ADD", config(cniVersion="0.2.0")).code == 999


@pytest.mark.parametrize("command", ["CHECK", "DEL", "GC", "STATUS"])
def test_other_operations_print_nothing(command: str) -> None:
    assert call(FakePlugin(lambda request: RESULT), command) == b""


# The code that a plugin raises, and that of the error that the runtime gets.
CODES = {
    **dict.fromkeys((0, 1, 2, 4, 5, 6, 7, 8, 10, 12, 49, 52, 99), 999),
    **{code: code for code in (3, 11, 50, 51, 100, 101, 999, 12345)},
}


@pytest.mark.parametrize("command", OPERATIONS)
@pytest.mark.parametrize("code", CODES)
def test_a_plugins_error_code_is_kept_if_the_runtime_acts_on_it(code: int, command: str) -> None:
    def fail(request: PluginRequest) -> None:
        raise CniError(code, "it failed", "why")

    error = error_of(call, FakePlugin(fail), command)
    assert (error.code, error.msg, error.details) == (CODES[code], "it failed", "why")


@pytest.mark.parametrize(("code", "expected"), [(11, 11), (7, 999), (123, 123)])
def test_the_code_of_a_delegated_plugin_counts_as_the_plugin_s_own(code: int, expected: int) -> None:
    executor = MemoryExecutor(ipam=fails_at("ADD", code=code))
    plugin = FakePlugin(lambda request: request.delegate("ipam"))
    assert error_of(call, plugin, "ADD", executor=executor).code == expected


@pytest.mark.parametrize("previous", [[], {"cniVersion": "9.9.9"}, {"ips": [{}]}])
def test_a_broken_prev_result_is_an_error_of_the_operation(previous: object) -> None:
    plugin = FakePlugin(lambda request: request.require_prev_result())
    assert error_of(call, plugin, "ADD", config(prevResult=previous)).code == 999


def test_the_request_reaches_the_plugin_unchanged() -> None:
    content = b' { "cniVersion":"1.1.0", "name" : "dbnet", "x": 1.50, "x": 2 }\n'
    plugin = FakePlugin()
    call(plugin, "ADD", content)
    assert plugin.requests[0].content == content


def read_everything(request: PluginRequest) -> Result | None:
    """Read what a request has, and return the result of a delegated plugin."""
    request.runtime_config.text("mac")
    request.config_args.texts("ips")
    ipam = request.config.section("ipam")
    ipam.interface("subnet")
    [(route.interface("dst"), route.address("gw"), route.integer("mtu")) for route in ipam.sections("routes")]
    if request.parameters.command == "GC":
        assert isinstance(request.valid_attachments, frozenset)
        return None
    if request.parameters.command == "STATUS":
        return None
    request.cni_args("IP")
    return request.prev_result or request.delegate("ipam")


RICH = config(
    runtimeConfig={"mac": "00:11:22:33:44:55"},
    args={"cni": {"ips": ["10.1.0.5"]}},
    ipam={"type": "ipam", "subnet": "10.1.0.0/16", "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400}]},
    **{"cni.dev/valid-attachments": [{"containerID": "blue", "ifname": "eth0"}]},
)
REQUESTS = (
    RICH,
    {**RICH, "prevResult": RESULT_1_1_0},
    {**RICH, "cniVersion": "0.4.0", "prevResult": RESULT_0_4_0},
    {**RICH, "cniVersion": "0.2.0", "prevResult": RESULT_0_2_0},
)


def outcome(content: bytes, command: str) -> bytes | CniError:
    try:
        return call(FakePlugin(read_everything), command, content, MemoryExecutor(ipam=succeeds))
    except CniError as exc:
        return exc


@given(spoiled_texts(*REQUESTS), st.sampled_from(protocol.COMMANDS))
def test_no_request_raises_anything_but_cni_error(content: bytes, command: str) -> None:
    answer = outcome(content, command)
    if isinstance(answer, CniError):
        assert answer.code in (Code.INCOMPATIBLE_VERSION, Code.DECODE_FAILURE, Code.INVALID_CONFIG, Code.INTERNAL)
    elif command in ("ADD", "VERSION"):
        assert json_text.decode(answer, "the output")["cniVersion"] in version.KNOWN
    else:
        assert answer == b""


def test_the_unspoiled_requests_succeed() -> None:
    answers = [outcome(json.dumps(request).encode(), "ADD") for request in REQUESTS]
    assert [isinstance(answer, bytes) for answer in answers] == [True] * len(REQUESTS)
