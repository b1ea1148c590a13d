# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import program
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryExecutor,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    CONFIG,
    CONTENT,
    FakePlugin,
    read_request,
)

ENVIRONMENT = {
    "CNI_CONTAINERID": "blue",
    "CNI_NETNS": "/run/netns/blue",
    "CNI_IFNAME": "eth0",
    "CNI_PATH": "/opt/cni/bin::/usr/lib/cni",
}


class Executable:
    """Runs a plugin with an environment and a standard input of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch = monkeypatch
        self._capture = capsysbinary
        self.executor = MemoryExecutor(ipam=succeeds)
        self.directories: t.Sequence[str] = ()

    def run(
        self,
        plugin: FakePlugin,
        command: str | None,
        stdin: object = CONTENT,
        *,
        without: t.Collection[str] = (),
        **variables: str,
    ) -> tuple[int, bytes]:
        """Return the exit status and standard output."""
        content = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        environment = {**ENVIRONMENT, **({} if command is None else {"CNI_COMMAND": command}), **variables}
        with self._monkeypatch.context() as patch:
            for name in ("CNI_COMMAND", "CNI_ARGS", *ENVIRONMENT):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                if name not in without:
                    patch.setenv(name, value)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
            status = program.run(plugin, self.make_executor)
        return status, self._capture.readouterr().out

    def error(self, plugin: FakePlugin, command: str | None, stdin: object = CONTENT, **options: t.Any) -> JsonObject:
        """Return the printed error; fail if the plugin succeeds."""
        status, printed = self.run(plugin, command, stdin, **options)
        assert status == 1
        error: JsonObject = json.loads(printed)
        assert set(error) == {"cniVersion", "code", "msg", "details"}
        return error

    def make_executor(self, directories: t.Sequence[str]) -> MemoryExecutor:
        self.directories = directories
        return self.executor


@pytest.fixture
def executable(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Executable:
    return Executable(monkeypatch, capsysbinary)


def test_add_prints_its_result_and_ends_with_status_0(executable: Executable) -> None:
    status, printed = executable.run(FakePlugin(), "ADD")
    assert (status, json.loads(printed)) == (0, {"cniVersion": "1.1.0"})


@pytest.mark.parametrize("command", ["CHECK", "DEL", "GC", "STATUS"])
def test_other_operations_print_nothing(executable: Executable, command: str) -> None:
    assert executable.run(FakePlugin(), command) == (0, b"")


def test_version_needs_neither_parameters_nor_a_request(executable: Executable) -> None:
    status, printed = executable.run(FakePlugin(), "VERSION", b"", without=ENVIRONMENT)
    assert (status, json.loads(printed)["supportedVersions"]) == (0, list(FakePlugin.versions))


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_the_environment_has_the_parameters(executable: Executable, command: str) -> None:
    plugin = FakePlugin()
    executable.run(plugin, command, CNI_ARGS="IgnoreUnknown=1;K=V;EMPTY=;")
    attachment = Attachment("dbnet", "blue", "eth0", "/run/netns/blue", {"IgnoreUnknown": "1", "K": "V", "EMPTY": ""})
    assert [request.parameters for request in plugin.requests] == [Parameters(command, attachment)]


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_operations_of_a_network_need_no_parameters(executable: Executable, command: str) -> None:
    plugin = FakePlugin()
    executable.run(plugin, command, without=ENVIRONMENT)
    assert [request.parameters for request in plugin.requests] == [Parameters(command)]


def test_the_executor_gets_the_directories_of_cni_path(executable: Executable) -> None:
    plugin = FakePlugin(lambda request: request.delegate("ipam"))
    executable.run(plugin, "ADD")
    assert executable.directories == ["/opt/cni/bin", "/usr/lib/cni"]
    assert executable.executor.run() == [("ADD", "ipam")]


def test_a_missing_cni_path_has_no_directories(executable: Executable) -> None:
    assert executable.run(FakePlugin(), "ADD", without=["CNI_PATH"])[0] == 0
    assert executable.directories == []


def test_a_relative_directory_of_cni_path_is_below_the_current_one(
    executable: Executable, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert executable.run(FakePlugin(), "ADD", CNI_PATH="./bin:/opt/cni/bin")[0] == 0
    assert executable.directories == [f"{tmp_path}/bin", "/opt/cni/bin"]


REQUIRED = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
@pytest.mark.parametrize("value", [None, ""], ids=["missing", "empty"])
@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_variable_is_named(executable: Executable, name: str, value: str | None, command: str) -> None:
    plugin = FakePlugin()
    without, variables = ([name], {}) if value is None else ([], {name: value})
    if (name, command) == ("CNI_NETNS", "DEL"):
        assert executable.run(plugin, command, without=without, **variables) == (0, b"")
        assert plugin.requests[0].attachment.netns == ""
        return
    error = executable.error(plugin, command, without=without, **variables)
    assert (error["code"], error["msg"]) == (4, f"the environment has no {name}")
    assert plugin.requests == []


def test_all_missing_variables_are_named(executable: Executable) -> None:
    error = executable.error(FakePlugin(), "ADD", without=ENVIRONMENT)
    assert error["msg"] == "the environment has no CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"
    assert error["details"] == "expected: the parameters of ADD"


@pytest.mark.parametrize(
    "variables", [{"CNI_CONTAINERID": "../x"}, {"CNI_IFNAME": "a/b"}, {"CNI_IFNAME": "longer-than-15-bytes"}], ids=str
)
def test_an_invalid_variable_is_refused(executable: Executable, variables: dict[str, str]) -> None:
    error = executable.error(FakePlugin(), "ADD", **variables)
    (name,) = variables
    assert error["code"] == 4
    assert error["msg"].startswith(f"{name}: ")


@pytest.mark.parametrize("args", ["K", "K=V=W", "K=V;L"])
def test_cni_args_that_are_not_pairs_are_refused_by_a_plugin_that_reads_them(executable: Executable, args: str) -> None:
    def read(request: PluginRequest) -> None:
        request.cni_args("K", "L")

    error = executable.error(FakePlugin(read), "ADD", CNI_ARGS=args)
    assert (error["code"], error["msg"]) == (999, "CNI_ARGS is not a list of pairs")


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
@pytest.mark.parametrize("args", ["none", "K=V=W"])
def test_cni_args_that_are_not_pairs_do_not_concern_other_plugins(
    executable: Executable, args: str, command: str
) -> None:
    assert executable.run(FakePlugin(), command, CNI_ARGS=args)[0] == 0


@pytest.mark.parametrize("command", [None, "GET"], ids=["missing", "unknown"])
def test_an_unknown_operation_is_refused(executable: Executable, command: str | None) -> None:
    error = executable.error(FakePlugin(), command)
    assert (error["code"], error["msg"]) == (4, f"CNI_COMMAND: {command or ''!r} is unknown")


@pytest.mark.parametrize("command", ["ADD", "GC"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_request_that_is_not_a_json_object_is_refused(executable: Executable, content: bytes, command: str) -> None:
    error = executable.error(FakePlugin(), command, content)
    assert (error["code"], error["cniVersion"]) == (6, "1.1.0")


@pytest.mark.parametrize("name", [None, "", "a b", 7])
def test_a_request_without_a_valid_network_name_is_refused(executable: Executable, name: object) -> None:
    assert executable.error(FakePlugin(), "ADD", {**CONFIG, "name": name})["code"] == 7


@pytest.mark.parametrize(
    ("named", "printed"),
    [("0.4.0", "0.4.0"), ("1.0.0", "1.0.0"), ("9.9.9", "1.1.0"), (None, "1.1.0"), (["0.4.0"], "1.1.0")],
)
def test_an_error_has_the_version_of_the_request_if_it_is_known(
    executable: Executable, named: object, printed: str
) -> None:
    error = executable.error(FakePlugin(), "ADD", {**CONFIG, "cniVersion": named, "name": ""})
    assert error["cniVersion"] == printed


def test_an_error_of_a_plugin_is_printed(executable: Executable) -> None:
    def fail(request: PluginRequest) -> None:
        raise CniError(101, "the switch does not answer", "connect it")

    assert executable.error(FakePlugin(fail), "ADD") == {
        "cniVersion": "1.1.0",
        "code": 101,
        "msg": "the switch does not answer",
        "details": "connect it",
    }


def test_an_exception_of_a_plugin_is_printed_as_an_error_with_its_place(executable: Executable) -> None:
    def fail(request: PluginRequest) -> None:
        raise KeyError("x")

    error = executable.error(FakePlugin(fail), "ADD")
    assert (error["code"], error["msg"]) == (999, "unexpected KeyError: 'x'")
    assert "in fail, test_program.py:" in error["details"]


def test_an_error_of_the_system_has_the_code_of_other_errors_of_a_plugin(executable: Executable) -> None:
    def fail(request: PluginRequest) -> None:
        os.listdir("/proc/1/missing")

    error = executable.error(FakePlugin(fail), "ADD")
    assert (error["code"], error["msg"]) == (999, "cannot access /proc/1/missing: No such file or directory")


def test_standard_error_of_a_delegated_executable_is_forwarded(
    tmp_path: pathlib.Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plugins = ScriptedPlugins(tmp_path)
    plugins.write("ipam", ADD=ScriptedAnswer(result={}, stderr="no DNS server\n"))
    executor = program.make_process_executor([str(tmp_path)])
    assert read_request(executor=executor).delegate("ipam").keys == {"cniVersion": "1.1.0"}
    assert capsysbinary.readouterr() == (b"", b"no DNS server\n")


def test_a_failing_executor_is_printed_as_an_error(executable: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(directories: t.Sequence[str]) -> MemoryExecutor:
        raise CniError(4, "a relative path")

    monkeypatch.setattr(executable, "make_executor", fail)
    assert executable.error(FakePlugin(), "ADD")["code"] == 4
