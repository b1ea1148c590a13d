# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 2, "Parameters", and the variables that the reference plugins require."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> ConformanceNode:
    """Return a node on which every operation ran once."""
    node = ConformanceNode(tmp_path_factory.mktemp("node"))
    network = node.network("a", cniVersions=["1.0.0"])
    node.runtime.add(network, node.attachment(args={"IgnoreUnknown": "1", "IP": "10.1.0.9"}))
    node.runtime.check(node.record())
    network_operations.gc(node.runtime, network)
    network_operations.status(node.runtime, network)
    node.runtime.delete(node.record())
    return node


@pytest.fixture(scope="module")
def environments(operated: ConformanceNode) -> dict[str, dict[str, str]]:
    """Return the protocol's environment variables that a plugin got at each operation."""
    return {
        call.command: {key: value for key, value in call.env.items() if key.startswith("CNI_")}
        for call in operated.plugins.calls()
    }


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_operations_on_an_attachment_have_all_its_parameters(
    operated: ConformanceNode, environments: dict[str, dict[str, str]], command: str
) -> None:
    assert environments[command] == {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": "blue",
        "CNI_NETNS": str(operated.netns()),
        "CNI_IFNAME": "eth0",
        "CNI_ARGS": "IgnoreUnknown=1;IP=10.1.0.9",
        "CNI_PATH": str(operated.plugins.path),
    }


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_operations_on_a_network_have_no_parameters_of_an_attachment_differs_from_libcni(
    operated: ConformanceNode, environments: dict[str, dict[str, str]], command: str
) -> None:
    assert environments[command] == {"CNI_COMMAND": command, "CNI_PATH": str(operated.plugins.path)}


def test_version_has_placeholders_for_the_variables_of_other_operations(
    environments: dict[str, dict[str, str]],
) -> None:
    environment = environments["VERSION"]
    assert [environment[name] for name in ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME")] == ["dummy"] * 3


@pytest.mark.parametrize(
    ("command", "required"),
    [
        ("ADD", {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}),
        ("CHECK", {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}),
        ("DEL", {"CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"}),
        ("GC", {"CNI_PATH"}),
        ("STATUS", {"CNI_PATH"}),
        ("VERSION", set()),
    ],
)
def test_variables_that_plugins_require_are_set_and_not_empty(
    environments: dict[str, dict[str, str]], command: str, required: set[str]
) -> None:
    assert {key for key, value in environments[command].items() if value} >= required | {"CNI_COMMAND"}


def test_plugin_directories_are_joined_in_their_order(node: ConformanceNode) -> None:
    network = node.network("a")
    directories = [str(node.plugins.path), "/nowhere", "/at/all"]
    Runtime(ProcessExecutor(directories, 30), str(node.cache), 0).add(network, node.attachment())
    assert node.calls("ADD")[0].env["CNI_PATH"].split(":") == directories


def test_a_world_writable_plugin_is_not_run_differs_from_libcni(node: ConformanceNode) -> None:
    node.network("a")
    node.plugins.path.chmod(0o777)
    try:
        with pytest.raises(CniError, match="is not run"):
            node.new_runtime().add(node.network("a"), node.attachment())
    finally:
        node.plugins.path.chmod(0o755)
    assert node.calls("ADD") == []


def test_no_variable_is_given_twice(node: ConformanceNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CNI_COMMAND", "DEL")
    node.new_runtime().add(node.network("a"), node.attachment())
    names = [entry.split("=", 1)[0] for entry in node.calls("ADD")[0].environ]
    assert sorted(names) == sorted(set(names))


def test_the_environment_of_the_runtime_is_passed_on(node: ConformanceNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "x")
    monkeypatch.setenv("CNI_NETNS_OVERRIDE", "true")
    node.new_runtime().add(node.network("a"), node.attachment())
    environment = node.calls("ADD")[0].env
    assert (environment["HTTP_PROXY"], environment["CNI_NETNS_OVERRIDE"]) == ("x", "true")


@pytest.mark.parametrize("name", ["CNI_ARGS", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_MADE_UP"])
def test_the_protocols_variables_are_not_inherited_differs_from_libcni(
    node: ConformanceNode, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "inherited")
    network_operations.status(node.new_runtime(), node.network("a"))
    assert name not in node.calls("STATUS")[0].env


def test_the_systems_directories_are_in_path_differs_from_libcni(
    node: ConformanceNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/opt/own")
    node.new_runtime().add(node.network("a"), node.attachment())
    path = node.calls("ADD")[0].env["PATH"].split(":")
    assert path[0] == "/opt/own"
    assert {"/usr/sbin", "/usr/bin", "/sbin", "/bin"} <= set(path)


@pytest.mark.parametrize("args", [{"K;X": "V"}, {"K": "V;W"}, {"K=X": "V"}, {"K": "V=W"}, {"": "V"}])
def test_arguments_with_separators_are_refused_differs_from_libcni(node: ConformanceNode, args: dict[str, str]) -> None:
    network = node.network("a")
    assert error_of(node.runtime.add, network, node.attachment(args=args)).code == Code.INVALID_ENVIRONMENT
    assert node.ran() == []


def test_cni_args_is_empty_without_arguments(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment())
    assert node.calls("ADD")[0].env["CNI_ARGS"] == ""


def test_del_has_an_empty_netns_if_the_netns_of_add_is_gone_differs_from_libcni(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))
    node.netns().unlink()
    node.runtime.delete(record)
    assert node.calls("DEL")[0].env["CNI_NETNS"] == ""


def test_del_never_names_the_namespace_of_another_container_differs_from_libcni(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))
    node.netns("new").replace(node.netns())
    node.runtime.delete(record)
    assert node.calls("DEL")[0].env["CNI_NETNS"] == ""


@pytest.mark.parametrize("netns", ["relative/path", "/a\0b"])
def test_a_netns_that_is_not_an_absolute_path_is_rejected_differs_from_libcni(
    node: ConformanceNode, netns: str
) -> None:
    error = error_of(node.runtime.add, node.network("a"), Attachment("net", "blue", "eth0", netns))
    assert (error.code, "CNI_NETNS" in error.msg, node.ran()) == (Code.INVALID_ENVIRONMENT, True, [])
