# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node as data: unreadable files are listed with their errors and hide no others."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.info import inventory
from ansible_collections.cni.node.plugins.module_utils._node.info.plugin_answers import PluginAnswers
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST, SINGLE
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode


def test_plugins_of_each_directory_are_asked_separately(tmp_path: pathlib.Path) -> None:
    first, second = (ScriptedPlugins(tmp_path / name) for name in ("first", "second"))
    first.write("bridge", versions=["0.4.0"])
    first.write("rude", VERSION=ScriptedAnswer(stdout="hello"))
    second.write("bridge", versions=["1.0.0", "1.1.0"])
    (second.path / "README").write_text("hello", encoding="utf-8")
    (second.path / "directory").mkdir()
    (tmp_path / "file").touch()
    directories = [str(tmp_path / name) for name in ("none", "first", "file", "second")]
    bridge, rude, shadowed = inventory.list_plugins(directories, 20, PluginAnswers(str(tmp_path / "answers")))
    assert (bridge["versions"], bridge["shadowed"], bridge["error"]) == (["0.4.0"], False, None)
    assert shadowed == {
        "type": "bridge",
        "path": str(second.path / "bridge"),
        "shadowed": True,
        "versions": ["1.0.0", "1.1.0"],
        "release": "",
        "flaws": [],
        "error": None,
    }
    assert (rude["type"], rude["versions"], rude["error"]["code"]) == ("rude", [], Code.DECODE_FAILURE)


DESCRIPTION = """#!/bin/sh
if [ -z "$CNI_COMMAND" ]; then
    printf 'CNI bridge plugin v1.9.1\\n%s\\n' '{supported}' >&2
else
    echo '{{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}}'
fi
"""


@pytest.mark.parametrize(
    ("supported", "versions"),
    [
        ("CNI protocol versions supported: 0.4.0, 1.1.0", ["0.4.0", "1.1.0"]),
        ("CNI protocol versions supported: 0.4.0, none", ["1.0.0"]),
        ("", ["1.0.0"]),
    ],
)
def test_a_reference_plugin_is_asked_with_version_if_its_description_names_no_versions(
    tmp_path: pathlib.Path, supported: str, versions: list[str]
) -> None:
    path = tmp_path / "bridge"
    path.write_text(DESCRIPTION.format(supported=supported), encoding="utf-8")
    path.chmod(0o755)
    (bridge,) = inventory.list_plugins([str(tmp_path)], 20, PluginAnswers(str(tmp_path / "answers")))
    assert (bridge["release"], bridge["versions"], bridge["error"]) == ("1.9.1", versions, None)


def test_networks_are_sorted_by_path_including_shadowed_and_broken_ones(tmp_path: pathlib.Path) -> None:
    (tmp_path / "10-a.conflist").write_text(json.dumps(LIST), encoding="utf-8")
    (tmp_path / "20-a.conflist").write_text(json.dumps(LIST), encoding="utf-8")
    (tmp_path / "05-single.conf").write_text(json.dumps(SINGLE), encoding="utf-8")
    (tmp_path / "15-broken.json").write_text("{", encoding="utf-8")
    ScriptedPlugins(tmp_path / "bin").write("bridge")
    single, first, broken, second = inventory.list_networks(
        str(tmp_path), [str(tmp_path / "bin"), str(tmp_path / "none")], "never"
    )
    assert (single["missing_plugins"], first["missing_plugins"]) == (
        ["host-local"],
        ["host-local", "portmap", "tuning"],
    )
    assert (single["name"], single["plugins"], single["versions"]) == ("single", ["bridge"], ["0.4.0"])
    assert (first["shadowed"], second["shadowed"]) == (False, True)
    assert first["versions"] == ["0.3.1", "0.4.0", "1.0.0", "1.1.0"]
    assert broken.keys() == {"path", "error"}
    assert inventory.list_networks(str(tmp_path / "none"), []) == []


def test_a_network_that_only_runtimes_read_is_listed_with_what_this_engine_refuses(tmp_path: pathlib.Path) -> None:
    (tmp_path / "10-bridge.conf").write_text(json.dumps({**SINGLE, "cniVersion": "1.0.0"}), encoding="utf-8")
    (network,) = inventory.list_networks(str(tmp_path), [])
    assert (network["name"], network["plugins"], network["versions"]) == ("single", ["bridge"], ["1.0.0"])
    assert (network["error"], network["shadowed"]) == (None, False)
    assert "only has lists since 1.0.0" in network["refused"]["details"]


@pytest.mark.parametrize(
    ("name", "document", "message"),
    [
        ("10-a.conf", LIST, "do not load a list of plugins"),
        ("10-a.json", LIST, "do not load a list of plugins"),
        ("10-a.conflist", SINGLE, "find no plugins in it"),
        ("10-a.yaml", LIST, "read no file with such a name"),
    ],
)
def test_a_network_in_a_file_that_runtimes_do_not_read_has_an_error(
    tmp_path: pathlib.Path, name: str, document: object, message: str
) -> None:
    (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    (network,) = inventory.list_networks(str(tmp_path), [])
    assert (network["path"], message in network["error"]["msg"]) == (str(tmp_path / name), True)


def test_a_plugin_that_is_built_in_is_not_missing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "05-single.conf").write_text(json.dumps(SINGLE), encoding="utf-8")
    (network,) = inventory.list_networks(str(tmp_path), [str(tmp_path / "none")])
    assert (network["missing_plugins"], network["builtin_plugins"]) == ([], ["bridge@1.9.1", "host-local@1.9.1"])


def _read_attachments(node: FakeNode) -> dict[str, dict[str, object]]:
    facts = inventory.list_attachments(str(node.cache_dir), str(node.conf_dir), node.paths.lease_dir)
    return {str(attachment.get("container_id", attachment.get("path"))): attachment for attachment in facts}


def test_attachments_have_the_state_of_namespace_and_network(node: FakeNode) -> None:
    for name in ("same", "moved", "dropped"):
        node.make_namespace(name)
        assert node.ensure(node.attachment(name)).action == "added"
    node.make_namespace("moved")
    node.drop_namespace("dropped")
    assert {name: attachment["netns_state"] for name, attachment in _read_attachments(node).items()} == {
        "same": "present",
        "moved": "replaced",
        "dropped": "gone",
    }
    assert {attachment["network_state"] for attachment in _read_attachments(node).values()} == {"same"}
    node.write(plugins=[{"type": "a", "new": 1}, {"type": "b"}])
    assert {attachment["network_state"] for attachment in _read_attachments(node).values()} == {"changed"}
    (node.conf_dir / "10-net.conflist").unlink()
    assert {attachment["network_state"] for attachment in _read_attachments(node).values()} == {"gone"}


@pytest.mark.parametrize(
    ("command", "recorded", "expected"),
    [("ADD", True, None), ("ADD", False, "ADD"), ("DEL", True, "DEL"), ("DEL", False, "DEL")],
)
def test_an_interrupted_attachment_is_listed_once(
    node: FakeNode, command: str, recorded: bool, expected: str | None
) -> None:
    node.make_namespace()
    node.ensure(node.attachment())
    intent = json.loads(node.record_file().read_text(encoding="utf-8"))
    intent["cni.node"]["command"] = command
    node.intent_file().write_text(json.dumps(intent), encoding="utf-8")
    if not recorded:
        node.record_file().unlink()
    (attachment,) = _read_attachments(node).values()
    assert (attachment["interrupted"], attachment["own"], attachment["error"]) == (expected, True, None)


def test_foreign_and_broken_records_are_listed(node: FakeNode) -> None:
    node.make_namespace()
    node.ensure(node.attachment())
    foreign = json.loads(node.record_file().read_text(encoding="utf-8"))
    del foreign["cni.node"]
    foreign["config"] = "e30="
    node.record_file().write_text(json.dumps(foreign), encoding="utf-8")
    broken = [node.record_file().with_name("net-red-eth0"), node.intent_file().with_name("net-green-eth0")]
    for path in broken:
        path.write_bytes(b"")
    attachments = _read_attachments(node)
    assert (attachments["blue"]["own"], attachments["blue"]["network_state"]) == (False, "unknown")
    assert set(attachments) == {"blue", *map(str, broken)}
    assert all(attachments[str(path)].keys() == {"path", "error"} for path in broken)


def test_the_network_that_is_part_of_containerd_is_not_gone(node: FakeNode) -> None:
    node.make_namespace()
    node.ensure(node.attachment())
    foreign = json.loads(node.record_file().read_text(encoding="utf-8"))
    del foreign["cni.node"]
    foreign.update(networkName="cni-loopback", ifName="lo")
    node.record_file().rename(node.record_file().with_name("cni-loopback-blue-lo")).write_text(
        json.dumps(foreign), encoding="utf-8"
    )
    (attachment,) = _read_attachments(node).values()
    assert (attachment["network"], attachment["network_state"]) == ("cni-loopback", "same")


@pytest.mark.parametrize(
    ("sandbox", "netns", "state"),
    [("{path}", "{path}", "present"), ("/nowhere", "/nowhere", "gone"), ("a-machine", "", "unknown")],
)
def test_a_record_without_a_namespace_has_the_namespace_of_its_result(
    node: FakeNode, sandbox: str, netns: str, state: str
) -> None:
    """libcni before 1.2, and so podman, CRI-O and others, did not record the namespace."""
    node.make_namespace()
    node.ensure(node.attachment())
    path = node.attachment().netns
    foreign = json.loads(node.record_file().read_text(encoding="utf-8"))
    del foreign["cni.node"], foreign["netns"]
    interface = {"name": foreign["ifName"], "sandbox": sandbox.format(path=path)}
    foreign["result"] = {"cniVersion": "1.0.0", "interfaces": [{"name": "veth1"}, interface]}
    node.record_file().write_text(json.dumps(foreign), encoding="utf-8")
    (attachment,) = _read_attachments(node).values()
    assert (attachment["own"], attachment["netns"], attachment["netns_state"]) == (
        False,
        netns.format(path=path),
        state,
    )


def test_ports_of_containerd_are_listed(node: FakeNode) -> None:
    """containerd writes the names of the keys as in Go."""
    node.make_namespace()
    node.ensure(node.attachment())
    foreign = json.loads(node.record_file().read_text(encoding="utf-8"))
    del foreign["cni.node"]
    ports = [{"HostPort": 8080, "ContainerPort": 80, "Protocol": "udp", "HostIP": ""}]
    node.record_file().write_text(json.dumps({**foreign, "capabilityArgs": {"portMappings": ports}}), encoding="utf-8")
    (attachment,) = _read_attachments(node).values()
    assert attachment["ports"] == ["8080->80/udp"]


def test_namespaces_are_sorted_and_other_files_are_left_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    for name in ("red", "blue"):
        (tmp_path / name).touch()
    (tmp_path / "directory").mkdir()
    expected = [{"name": name, "path": str(tmp_path / name)} for name in ("blue", "red")]
    assert inventory.list_namespaces(NodePaths(netns_dir=str(tmp_path))) == expected
