# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plugins that other users than root can change: world-writable ones are refused, and all are reported."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    REQUIRES_SYSTEMD,
    boot,
    item,
    make,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = pytest.mark.requires_root

RESULT = {"ips": [{"address": "10.9.0.2/24"}]}
LAB: JsonObject = {"type": "lab", "ipam": {"type": "delegated"}}
ALLOWED = {"allow_world_writable_plugins": True}


@pytest.fixture
def lab(node: EngineNode) -> EngineNode:
    for name in ("lab", "delegated"):
        node.plugins.write(name, ADD=ScriptedAnswer(result=RESULT))
    node.write(reference_networks.network(LAB, version="1.1.0"))
    libraries.provide()
    return node


def red() -> JsonObject:
    return {"network": "net", "netns": "red"}


def codes(findings: list[JsonObject]) -> dict[str, str]:
    return {finding["file"]: finding["code"] for finding in findings}


def commands(node: EngineNode) -> list[str]:
    return [call.command for call in node.plugins.calls()]


@pytest.mark.parametrize(("where", "mode"), [("", 0o777), ("..", 0o777), ("lab", 0o757), ("delegated", 0o757)])
def test_world_writable_plugins_are_refused_before_any_change(lab: EngineNode, where: str, mode: int) -> None:
    make(lab, "red")
    exposed = pathlib.Path(os.path.normpath(lab.plugins.path / where))
    usual = exposed.stat().st_mode & 0o7777
    exposed.chmod(mode)
    try:
        fragments = ("is not run", str(exposed), "chmod o-w", "allow_world_writable_plugins")
        before = lab.state()
        for check_mode in (True, False):
            options = {"_ansible_check_mode": check_mode}
            lab.run("attachments", attachments=[red()], **options).require_failure("attachments: 1 failed", *fragments)
            lab.run("verify", **options).require_failure(*fragments)
        assert (commands(lab), before.difference(lab.state())) == ([], "")
        lab.attach(red(), **ALLOWED)
        for check_mode in (True, False):
            options = {"_ansible_check_mode": check_mode}
            gone = lab.run("attachments", attachments=[{**red(), "state": "absent"}], **options)
            gone.require_failure("attachments: 1 failed", *fragments)
            assert not gone.result["changed"]
        assert ("DEL" in commands(lab), lab.intents()) == (False, [])
        lab.detach(red(), **ALLOWED)
    finally:
        exposed.chmod(usual)
    lab.attach(red())


NESTED: tuple[JsonObject, ...] = (
    {"type": "flannel", "delegate": {"type": "nested"}},
    {"type": "multus", "delegates": [{"type": "nested"}]},
    {"type": "multus", "delegates": [{"name": "inner", "plugins": [{"type": "lab", "ipam": {"type": "nested"}}]}]},
)


@pytest.mark.parametrize("plugin", NESTED)
def test_world_writable_delegated_plugins_are_refused_before_any_change(lab: EngineNode, plugin: JsonObject) -> None:
    make(lab, "red")
    for name in ("flannel", "multus", "nested"):
        lab.plugins.write(name, ADD=ScriptedAnswer(result=RESULT))
    lab.write(reference_networks.network(plugin, version="1.1.0"))
    nested = lab.plugins.path / "nested"
    nested.chmod(0o757)
    fragments = (f"plugin {nested} is not run", "every user can write it", "allow_world_writable_plugins")
    for check_mode in (True, False):
        options = {"_ansible_check_mode": check_mode}
        lab.run("attachments", attachments=[red()], **options).require_failure("attachments: 1 failed", *fragments)
        lab.run("verify", **options).require_failure(*fragments)
    assert commands(lab) == []
    lab.attach(red(), **ALLOWED, check="never")
    lab.run("attachments", attachments=[{**red(), "state": "absent"}]).require_failure(
        "attachments: 1 failed", *fragments
    )
    assert ("DEL" in commands(lab), lab.intents()) == (False, [])
    nested.unlink()
    lab.detach(red())


@pytest.mark.parametrize("plugin", NESTED)
def test_status_runs_no_plugin_with_a_world_writable_delegate(lab: EngineNode, plugin: JsonObject) -> None:
    for name in ("flannel", "multus", "nested"):
        lab.plugins.write(name)
    lab.write(reference_networks.network(plugin, version="1.1.0"))
    nested = lab.plugins.path / "nested"
    nested.chmod(0o757)
    (answer,) = lab.run("node_info", gather=["status"]).succeeded().result["status"]
    assert (answer["status"], f"plugin {nested} is not run" in answer["error"]["msg"]) == ("failed", True)
    assert commands(lab) == []
    (answer,) = lab.run("node_info", gather=["status"], **ALLOWED).succeeded().result["status"]
    assert (answer["status"], commands(lab)) == ("ready", ["STATUS"])


def test_check_runs_no_plugin_with_a_world_writable_ipam_plugin(lab: EngineNode) -> None:
    make(lab, "red")
    lab.attach(red())
    lab.plugins.forget()
    exposed = lab.plugins.path / "delegated"
    exposed.chmod(0o757)
    for check_mode in (True, False):
        refused = lab.run("attachments", attachments=[red()], _ansible_check_mode=check_mode)
        refused.require_failure("attachments: 1 failed", f"plugin {exposed} is not run", "allow_world_writable_plugins")
        assert not refused.result["changed"]
    assert commands(lab) == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_gc_runs_no_world_writable_plugin(lab: EngineNode, check_mode: bool) -> None:
    make(lab, "red")
    lab.attach(red())
    lab.run("netns", names=["red"], state="absent").succeeded()
    lab.plugins.forget()
    exposed = lab.plugins.path / "delegated"
    exposed.chmod(0o757)
    done = lab.run("gc", _ansible_check_mode=check_mode)
    done.require_failure(f"plugin {exposed} is not run", "every user can write it", "allow_world_writable_plugins")
    (finding,) = (finding for finding in done.result["findings"] if finding["kind"] == "record")
    assert (finding["action"], done.result["changed"], commands(lab)) == ("failed", False, [])
    allowed = lab.run("gc", **ALLOWED, _ansible_check_mode=check_mode).succeeded()
    assert [finding["action"] for finding in allowed.result["findings"] if finding["kind"] == "record"] == ["deleted"]


def test_conflists_and_node_info_report_world_writable_plugins(lab: EngineNode) -> None:
    path = str(lab.plugins.path)
    conflists = {"conflists": [{"config": reference_networks.network(LAB, version="1.1.0")}]}
    os.chmod(path, 0o777)
    assert codes(lab.run("node_info").succeeded().result["findings"]) == {path: "unsafe-plugin"}
    for levels in ([], ["node"]):
        refused = lab.run("conflists", **conflists, validate={"levels": levels})
        refused.require_failure("unsafe-plugin", path)
        assert codes(refused.result["findings"]) == {path: "unsafe-plugin"}
    assert commands(lab) == []
    assert codes(lab.run("conflists", **conflists, **ALLOWED).succeeded().result["findings"]) == {
        path: "writable-plugin"
    }
    os.chmod(path, 0o755)
    os.chown(f"{path}/delegated", 1000, 1000)
    expected = {f"{path}/delegated": "writable-plugin"}
    assert codes(lab.run("node_info").succeeded().result["findings"]) == expected
    assert codes(lab.run("conflists", **conflists).succeeded().result["findings"]) == expected
    assert codes(lab.run("verify", gateway_timeout=0).succeeded().result["findings"]) == expected


def test_a_sticky_directory_and_one_of_another_owner_are_reported_and_not_refused(lab: EngineNode) -> None:
    make(lab, "red")
    os.chmod(lab.plugins.path, 0o1777)
    os.chown(lab.plugins.path.parent, 1000, 1000)
    lab.attach(red())
    found_codes = codes(lab.run("node_info").succeeded().result["findings"])
    assert found_codes == dict.fromkeys([str(lab.plugins.path), str(lab.plugins.path.parent)], "writable-plugin")


@REQUIRES_SYSTEMD
@pytest.mark.requires_plugins
def test_restoration_refuses_world_writable_plugins_unless_allowed(lab: EngineNode) -> None:
    make(lab, "blue")
    lab.attach(item())
    record = lab.record_of({**item(), "container_id": "blue", "ifname": "eth0"})
    os.chmod(lab.plugins.path, 0o777)
    lab.run("attachments", attachments=[item()], **ALLOWED, check="never").succeeded()
    assert "allowWorldWritablePlugins" in record.read_text(encoding="utf-8")
    lab.run("netns", names=["blue"], state="absent").succeeded()
    assert "recreated" in boot()
    lab.run("attachments", attachments=[item()], check="never").succeeded()
    lab.run("netns", names=["blue"], state="absent").succeeded()
    assert "is not run" in boot(status=1)
