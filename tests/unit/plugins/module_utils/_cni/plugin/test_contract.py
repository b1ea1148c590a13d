# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import (
    RESULT_0_2_0,
    RESULT_0_4_0,
    RESULT_1_1_0,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryCall,
    MemoryExecutor,
    fails_at,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    ATTACHMENT,
    CONFIG,
    FakePlugin,
    call,
    read_request,
)


def request_with_args(**args: str) -> PluginRequest:
    return read_request(attachment=ATTACHMENT._replace(args=args))


def test_a_request_has_the_configuration_and_its_sections() -> None:
    request = read_request(runtimeConfig={"mac": "a"}, args={"cni": {"ips": ["b"]}})
    assert (request.network, request.version, request.config.text("type")) == ("dbnet", "1.1.0", "fake")
    assert request.runtime_config.text("mac") == "a"
    assert request.config_args.texts("ips") == ["b"]


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_a_request_for_an_attachment_has_its_parameters(command: str) -> None:
    assert read_request(command).attachment == ATTACHMENT


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_a_request_for_a_network_has_no_attachment(command: str) -> None:
    request = read_request(command)
    assert error_of(lambda: request.attachment).msg == f"{command} has no attachment"


def test_known_cni_args_are_returned_without_those_that_are_missing_or_empty() -> None:
    assert request_with_args(IP="10.1.0.5", MAC="").cni_args("IP", "MAC", "GATEWAY") == {"IP": "10.1.0.5"}


def test_the_error_for_unknown_cni_args_names_them() -> None:
    error = error_of(request_with_args(IP="10.1.0.5", K8S_POD_UID="1", A="2").cni_args, "IP")
    assert (error.code, error.msg) == (Code.INTERNAL, "CNI_ARGS has unknown keys: A, K8S_POD_UID")
    assert "IgnoreUnknown=1" in error.details


@pytest.mark.parametrize("value", ["1", "true", "True", "TRUE"])
def test_ignore_unknown_permits_other_cni_args(value: str) -> None:
    request = request_with_args(IgnoreUnknown=value, IP="10.1.0.5", A="2")
    assert request.cni_args("IP") == {"IP": "10.1.0.5"}


@pytest.mark.parametrize("value", ["0", "false", "", "yes"])
def test_ignore_unknown_with_another_value_permits_nothing(value: str) -> None:
    request = request_with_args(IgnoreUnknown=value, A="2")
    assert error_of(request.cni_args, "IP").msg == "CNI_ARGS has unknown keys: A"
    assert request_with_args(IgnoreUnknown=value).cni_args("IP") == {}


@pytest.mark.parametrize(
    ("requested", "previous"),
    [("1.1.0", RESULT_1_1_0), ("0.4.0", RESULT_0_4_0), ("0.2.0", RESULT_0_2_0)],
    ids=["1.1.0", "0.4.0", "0.2.0"],
)
def test_prev_result_is_in_the_latest_version(requested: str, previous: JsonObject) -> None:
    result = read_request(cniVersion=requested, prevResult=previous).require_prev_result()
    assert (result.version, result.keys["cniVersion"]) == (version.LATEST, version.LATEST)
    assert result.addresses[0] == "10.1.0.5"
    assert all("version" not in ip for ip in result.keys["ips"])


def test_prev_result_without_a_version_has_the_version_of_the_request() -> None:
    previous = {"ip4": {"ip": "10.1.0.5/16"}}
    assert read_request(cniVersion="0.2.0", prevResult=previous).require_prev_result().addresses == ("10.1.0.5",)
    assert read_request(cniVersion="0.4.0", prevResult=previous).require_prev_result().addresses == ()


@pytest.mark.parametrize("keys", [{}, {"prevResult": None}], ids=["missing", "null"])
def test_a_request_without_prev_result_has_no_result(keys: JsonObject) -> None:
    request = read_request(**keys)
    assert request.prev_result is None
    assert error_of(request.require_prev_result).msg == "the request has no prevResult"


@pytest.mark.parametrize(
    ("previous", "code"),
    [
        ([], Code.DECODE_FAILURE),
        ({"ips": [{"address": "tomorrow"}]}, Code.DECODE_FAILURE),
        ({"cniVersion": "9.9.9"}, Code.INCOMPATIBLE_VERSION),
    ],
)
def test_a_broken_prev_result_is_refused_when_it_is_read(previous: object, code: Code) -> None:
    request = read_request(prevResult=previous)
    error = error_of(lambda: request.prev_result)
    assert error.code == code
    assert error.msg.startswith("prevResult: ")


SPECIFIED = "cni.dev/valid-attachments"
VALID = [{"containerID": "blue", "ifname": "eth0"}, {"containerID": "red", "ifname": "net1"}]


def gc_request(keys: JsonObject) -> PluginRequest:
    return read_request("GC", **keys)


@pytest.mark.parametrize("key", [SPECIFIED, "cni.dev/attachments"])
def test_gc_reads_valid_attachments_under_both_names(key: str) -> None:
    assert gc_request({key: VALID}).valid_attachments == {("blue", "eth0"), ("red", "net1")}
    assert gc_request({key: []}).valid_attachments == frozenset()


def test_gc_prefers_the_name_of_the_specification() -> None:
    assert len(gc_request({"cni.dev/attachments": [], SPECIFIED: VALID}).valid_attachments) == 2


@pytest.mark.parametrize("keys", [{}, {SPECIFIED: None}], ids=["missing", "null"])
def test_gc_without_valid_attachments_is_refused(keys: JsonObject) -> None:
    request = gc_request(keys)
    assert error_of(lambda: request.valid_attachments).msg == f"the request has no {SPECIFIED}"


@pytest.mark.parametrize("value", [{}, ["blue"], [{"containerID": 7, "ifname": "eth0"}]])
def test_gc_with_broken_valid_attachments_is_refused(value: object) -> None:
    request = gc_request({SPECIFIED: value})
    assert error_of(lambda: request.valid_attachments).msg.startswith(f"/{SPECIFIED}")


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_a_delegated_plugin_gets_the_same_request_and_parameters(command: str) -> None:
    executor = MemoryExecutor(ipam=succeeds)
    keys: JsonObject = {"ipam": {"type": "ipam"}, "unknown": [1, None, 2.5], "prevResult": RESULT_1_1_0}
    request = read_request(command, executor=executor, **keys)
    request.delegate("ipam")
    assert executor.calls == [MemoryCall("ipam", command, {**CONFIG, **keys}, ATTACHMENT)]


def test_a_plugin_can_delegate_another_operation() -> None:
    executor = MemoryExecutor(ipam=succeeds)
    request = read_request(executor=executor)
    assert request.delegate("ipam", "DEL") == Result(version.LATEST, {})
    assert executor.run() == [("DEL", "ipam")]


@pytest.mark.parametrize("answer", [RESULT_0_4_0, RESULT_1_1_0, RESULT_0_2_0], ids=["0.4.0", "1.1.0", "0.2.0"])
def test_the_result_of_a_delegated_plugin_is_in_the_latest_version(answer: JsonObject) -> None:
    result = read_request(executor=MemoryExecutor(ipam=lambda made: answer)).delegate("ipam")
    assert (result.version, result.addresses[0]) == (version.LATEST, "10.1.0.5")
    assert all("version" not in ip for ip in result.keys["ips"])


def test_the_result_of_a_delegated_plugin_without_a_version_has_the_version_of_the_request() -> None:
    executor = MemoryExecutor(ipam=lambda made: {"ip4": {"ip": "10.1.0.5/16"}})
    assert read_request(cniVersion="0.2.0", executor=executor).delegate("ipam").addresses == ("10.1.0.5",)


def test_output_of_another_operation_is_not_a_result() -> None:
    executor = MemoryExecutor(ipam=lambda made: "done")
    assert read_request("CHECK", executor=executor).delegate("ipam") == Result(version.LATEST, {})


def test_errors_of_delegation_are_raised() -> None:
    request = read_request(executor=MemoryExecutor(broken=lambda made: "no JSON", failing=fails_at("ADD", code=123)))
    assert error_of(request.delegate, "failing").code == 123
    assert error_of(request.delegate, "missing").code == Code.INVALID_CONFIG
    error = error_of(request.delegate, "broken")
    assert error.code == Code.DECODE_FAILURE
    assert "the result of plugin broken" in error.msg


class Nothing(Plugin):
    name = "nothing"


@pytest.mark.parametrize("command", ["CHECK", "DEL", "GC", "STATUS"])
def test_an_operation_that_a_plugin_lacks_succeeds(command: str) -> None:
    assert call(Nothing(), command) == b""


def test_add_that_a_plugin_lacks_returns_prev_result() -> None:
    assert json.loads(call(Nothing(), "ADD", {**CONFIG, "prevResult": RESULT_1_1_0})) == RESULT_1_1_0
    assert json.loads(call(Nothing(), "ADD")) == {"cniVersion": "1.1.0"}


def test_every_operation_has_its_method() -> None:
    for command in ("ADD", "CHECK", "DEL", "GC", "STATUS"):
        plugin = FakePlugin()
        call(plugin, command)
        assert [request.parameters.command for request in plugin.requests] == [command]


def test_an_error_of_a_plugin_is_a_cni_error() -> None:
    def fail(request: PluginRequest) -> None:
        raise CniError(101, "the switch does not answer")

    assert error_of(call, FakePlugin(fail), "ADD").as_dict() == {
        "code": 101,
        "msg": "the switch does not answer",
        "details": "",
    }
