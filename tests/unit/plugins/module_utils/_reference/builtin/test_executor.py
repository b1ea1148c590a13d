# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import functools
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.execute import (
    NotFound,
    Parameters,
    ProcessExecutor,
    UnsafePlugin,
)
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import (
    ALWAYS,
    MISSING,
    MODES,
    NEVER,
    BuiltinExecutor,
)
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    ATTACHMENT,
    CONFIG,
    FakePlugin,
    Operation,
    parameters_of,
)

# The answers of the executable and of the built-in plugin static differ by their addresses.
EXECUTABLE, BUILT_IN = "10.1.0.1/16", "10.2.0.2/16"
STATIC: JsonObject = {**CONFIG, "ipam": {"type": "static", "addresses": [{"address": BUILT_IN}]}}
ADD = parameters_of("ADD")
PutInPlace = t.Callable[..., FakePlugin]


@pytest.fixture
def executables(tmp_path: pathlib.Path) -> ScriptedPlugins:
    return ScriptedPlugins(tmp_path / "bin")


@pytest.fixture
def put_in_place(monkeypatch: pytest.MonkeyPatch) -> PutInPlace:
    """Return a function that replaces a built-in plugin by one with an operation."""
    load = registry.load
    fakes: dict[str, FakePlugin] = {}
    monkeypatch.setattr(registry, "load", lambda plugin_type: fakes.get(plugin_type) or load(plugin_type))

    def put(plugin_type: str, operation: Operation) -> FakePlugin:
        fakes[plugin_type] = FakePlugin(operation)
        return fakes[plugin_type]

    return put


def install(executables: ScriptedPlugins, plugin_type: str) -> None:
    executables.write(plugin_type, ADD=ScriptedAnswer(result={"ips": [{"address": EXECUTABLE}]}))


def make_executor(executables: ScriptedPlugins, mode: str) -> BuiltinExecutor:
    return BuiltinExecutor(ProcessExecutor([str(executables.path)], 30), mode)


def add(executor: BuiltinExecutor, plugin_type: str, config: JsonObject | None = None) -> str:
    """Return the address of the result."""
    output = executor.execute(plugin_type, json.dumps(config or STATIC).encode(), ADD)
    return str(json.loads(output)["ips"][0]["address"])


USES_BUILT_IN = {
    (MISSING, "installed"): False,
    (MISSING, "not installed"): True,
    (ALWAYS, "installed"): True,
    (ALWAYS, "not installed"): True,
    (NEVER, "installed"): False,
}


@pytest.mark.parametrize(("mode", "state"), USES_BUILT_IN, ids=str)
def test_the_mode_decides_which_plugin_runs(executables: ScriptedPlugins, mode: str, state: str) -> None:
    if state == "installed":
        install(executables, "static")
    executor = make_executor(executables, mode)
    location, address = executor.require("static"), add(executor, "static")
    if USES_BUILT_IN[mode, state]:
        assert (location, address) == (f"builtin:static@{registry.RELEASE}", BUILT_IN)
        assert executor.used == {ATTACHMENT.key: {f"static@{registry.RELEASE}"}}
        assert executables.calls() == []
    else:
        assert (location, address) == (str(executables.path / "static"), EXECUTABLE)
        assert executor.used == {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", ["CHECK", "DEL"])
def test_a_plugin_that_was_built_in_at_add_is_checked_and_deleted_built_in(
    executables: ScriptedPlugins, put_in_place: PutInPlace, command: str, mode: str
) -> None:
    refusal = ScriptedAnswer(error={"code": 7, "msg": 'unknown ingress policy: "isolated"'})
    for name in ("firewall", "bridge"):
        executables.write(name, CHECK=refusal, DEL=refusal)

    def delegate(request: PluginRequest) -> None:
        request.delegate("bridge")

    firewall, bridge = put_in_place("firewall", delegate), put_in_place("bridge", lambda request: None)
    parameters = parameters_of(command)._replace(builtin=("bridge@1.9.0", f"firewall@{registry.RELEASE}"))
    run = functools.partial(make_executor(executables, mode).execute, "firewall", json.dumps(CONFIG).encode())
    if mode == NEVER:
        assert "unknown ingress policy" in str(error_of(run, parameters))
    else:
        run(parameters)
        assert (len(firewall.requests), len(bridge.requests), executables.calls()) == (1, 1, [])


def test_without_built_in_plugins_a_missing_one_is_an_error(executables: ScriptedPlugins) -> None:
    executor = make_executor(executables, NEVER)
    with pytest.raises(NotFound, match="not installed"):
        executor.require("static")
    with pytest.raises(NotFound, match="not installed"):
        add(executor, "static")


@pytest.mark.parametrize(("wanted", "is_told"), [("bridge", True), ("dhcp", False)])
def test_an_executable_that_looks_for_a_built_in_plugin_is_told_to_have_it_installed(
    executables: ScriptedPlugins, wanted: str, is_told: bool
) -> None:
    msg = f'failed to delegate add: failed to find plugin "{wanted}" in path [/opt/cni/bin]'
    executables.write("flannel", ADD=ScriptedAnswer(error={"code": 100, "msg": msg}))
    error = error_of(make_executor(executables, MISSING).execute, "flannel", json.dumps(CONFIG).encode(), ADD)
    assert msg in error.msg
    assert ("cni.node.plugins with source: builtin" in error.details) == is_told


@pytest.mark.parametrize("mode", MODES)
def test_a_plugin_that_is_not_built_in_is_an_executable(executables: ScriptedPlugins, mode: str) -> None:
    executor = make_executor(executables, mode)
    with pytest.raises(NotFound, match="not installed"):
        executor.require("dhcp")
    install(executables, "dhcp")
    assert add(executor, "dhcp") == EXECUTABLE
    assert executor.used == {}


def test_an_unsafe_executable_is_refused_and_not_replaced(executables: ScriptedPlugins) -> None:
    install(executables, "static")
    (executables.path / "static").chmod(0o777)
    with pytest.raises(UnsafePlugin):
        add(make_executor(executables, MISSING), "static")


def test_a_file_that_is_not_executable_counts_as_missing(executables: ScriptedPlugins) -> None:
    install(executables, "static")
    (executables.path / "static").chmod(0o644)
    assert add(make_executor(executables, MISSING), "static") == BUILT_IN


def test_used_plugins_are_kept_by_attachment(executables: ScriptedPlugins, put_in_place: PutInPlace) -> None:
    put_in_place("bridge", lambda request: None)
    executor = make_executor(executables, ALWAYS)
    content = json.dumps(CONFIG).encode()
    for command in ("ADD", "CHECK", "GC", "VERSION"):
        executor.execute("bridge", content, parameters_of(command))
    assert executor.used == {ATTACHMENT.key: {"bridge@1.9.1"}, None: {"bridge@1.9.1"}}


def delegate(request: PluginRequest) -> Result:
    return request.delegate("static")


@pytest.mark.parametrize(("mode", "address"), [(MISSING, EXECUTABLE), (ALWAYS, BUILT_IN)])
def test_the_mode_holds_for_delegated_plugins(
    executables: ScriptedPlugins, put_in_place: PutInPlace, mode: str, address: str
) -> None:
    install(executables, "static")
    put_in_place("bridge", delegate)
    executor = make_executor(executables, mode)
    assert add(executor, "bridge") == address
    delegated = {"static@1.9.1"} if mode == ALWAYS else set()
    assert executor.used == {ATTACHMENT.key: {"bridge@1.9.1", *delegated}}


def test_a_delegated_executable_gets_the_request_and_the_parameters(
    executables: ScriptedPlugins, put_in_place: PutInPlace
) -> None:
    install(executables, "static")
    put_in_place("bridge", delegate)
    add(make_executor(executables, MISSING), "bridge")
    (call,) = executables.calls("static", "ADD")
    assert call.request == STATIC
    names = ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH")
    assert [call.env[name] for name in names] == ["blue", "/run/netns/blue", "eth0", str(executables.path)]


def test_an_error_of_a_built_in_plugin_names_it_and_keeps_its_code(
    executables: ScriptedPlugins, put_in_place: PutInPlace
) -> None:
    def fail(request: PluginRequest) -> None:
        raise CniError(Code.TRY_AGAIN, "the bridge is busy", "wait")

    put_in_place("bridge", fail)
    error = error_of(add, make_executor(executables, ALWAYS), "bridge")
    assert error.as_dict() == {
        "code": 11,
        "msg": "built-in plugin bridge failed (ADD): the bridge is busy",
        "details": "wait",
    }


def test_an_error_of_a_delegated_plugin_names_that_plugin_only(
    executables: ScriptedPlugins, put_in_place: PutInPlace
) -> None:
    put_in_place("bridge", delegate)
    config = {**CONFIG, "ipam": {"type": "static", "addresses": 7}}
    error = error_of(add, make_executor(executables, ALWAYS), "bridge", config)
    assert error.msg.startswith("built-in plugin static failed (ADD): ")
    assert "bridge" not in error.msg
    executables.write("static", ADD=ScriptedAnswer(error={"code": 123, "msg": "no address"}))
    error = error_of(add, make_executor(executables, MISSING), "bridge")
    assert error.code == 123
    assert error.msg == "plugin static failed (ADD): no address"


def test_an_exception_of_a_built_in_plugin_is_an_error(executables: ScriptedPlugins, put_in_place: PutInPlace) -> None:
    def fail(request: PluginRequest) -> None:
        raise KeyError("x")

    put_in_place("bridge", fail)
    error = error_of(add, make_executor(executables, ALWAYS), "bridge")
    assert (error.code, error.msg) == (999, "built-in plugin bridge failed (ADD): unexpected KeyError: 'x'")
    assert "in fail, test_executor.py:" in error.details


@pytest.mark.parametrize("plugin_type", sorted(registry.TYPES))
def test_every_built_in_plugin_answers_version(executables: ScriptedPlugins, plugin_type: str) -> None:
    output = make_executor(executables, MISSING).execute(plugin_type, b"", Parameters("VERSION"))
    assert "1.1.0" in json.loads(output)["supportedVersions"]
    assert registry.load(plugin_type).name == plugin_type
