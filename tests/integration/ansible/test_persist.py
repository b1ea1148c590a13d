# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option `persist` of the module attachments: turned on and off, predicted, shown, refused, and set by roles."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import RESULT, configuration, open_network
from ansible_collections.cni.node.tests.integration.ansible.test_attachments_check import ATTACHMENTS
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    FILES,
    LINK,
    command,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

NEEDS_SYSTEMD = pytest.mark.skipif(not pathlib.Path("/usr/lib/systemd/systemd").exists(), reason="install systemd")


def item(name: str = "red", **keys: t.Any) -> JsonObject:
    return {"network": "lab", "netns": name, **keys}


def paths(*changes: tuple[pathlib.Path, str]) -> list[JsonObject]:
    return [{"path": str(path), "action": action} for path, action in changes]


@NEEDS_SYSTEMD
def test_persist_is_turned_on_and_off_without_changing_the_attachment(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    with namespaces("red"):
        played = project.play(
            [
                task("attach", ATTACHMENTS, {"attachments": [item()], "check": "never"}),
                *thrice("on", ATTACHMENTS, {"attachments": [item(persist="yes")], "check": "never"}),
                *thrice("other means", ATTACHMENTS, {"attachments": [item(persist=True)], "timeout": 30}),
                *thrice("off", ATTACHMENTS, {"attachments": [item()]}),
            ],
            "--diff",
        ).succeeded()
    reports = {name: played.require_converged(name) for name in ("on", "other means", "off")}
    assert [done.actions() for done in reports.values()] == [
        {"red": "unchanged"},
        {"red": "checked"},
        {"red": "checked"},
    ]
    assert all(done.changed and done.entries[0]["changed"] for done in reports.values())
    assert [call.command for call in node.plugins.calls() if call.command in ("ADD", "DEL")] == ["ADD"]
    assert reports["on"].result["files"] == paths(*((path, "created") for path in FILES))
    assert reports["other means"].result["files"] == []
    assert reports["off"].result["files"] == paths(*((path, "removed") for path in reversed(FILES)))
    assert "files for restoration at boot: 2 created" in reports["on"].msg
    attached = "attachment of red (eth0) to network lab"
    dirs = "/opt/cni/bin:/usr/lib/cni:/usr/libexec/cni"
    for name, before, after in (
        ("on", "attached", f"attached, restored at boot (plugins in {dirs}, time limit 60 s)"),
        ("off", f"attached, restored at boot (plugins in {dirs}, time limit 30 s)", "attached"),
    ):
        first, *files = reports[name].result["diff"]
        assert (first["before"][attached], first["after"][attached]) == (before, after)
        assert {file["before_header"] for file in files} == set(map(str, FILES))
    assert "+ExecStart=" in played.output


@NEEDS_SYSTEMD
def test_name_servers_of_an_unchanged_attachment_are_predicted(node: EngineNode, project: Project) -> None:
    open_network(node, "lab", ADD=ScriptedAnswer(result={**RESULT, "dns": {"nameservers": ["10.9.0.1"]}}))
    with namespaces("red"):
        played = project.play(
            [
                task("attach", ATTACHMENTS, {"attachments": [item()]}),
                *thrice("on", ATTACHMENTS, {"attachments": [item(persist=True)]}),
                *thrice("off", ATTACHMENTS, {"attachments": [item()]}),
                task("on again", ATTACHMENTS, {"attachments": [item(persist=True)]}),
                *thrice("absent", ATTACHMENTS, {"attachments": [item(state="absent")]}),
            ]
        ).succeeded()
    resolv_conf = pathlib.Path("/etc/netns/red/resolv.conf")
    done = {name: played.require_converged(name).result["files"] for name in ("on", "off", "absent")}
    assert done["on"] == paths(*((path, "created") for path in (*FILES, resolv_conf)))
    assert done["off"] == done["absent"] == paths(*((path, "removed") for path in (*reversed(FILES), resolv_conf)))


@NEEDS_SYSTEMD
def test_a_later_task_mends_the_boot_files_and_the_library(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    with namespaces("red"):
        project.play([task("attach", ATTACHMENTS, {"attachments": [item(persist=True)]})]).succeeded()
        assert node.run("attachments", attachments=[item(persist=True)]).succeeded().result["files"] == []
        library = pathlib.Path(libraries.describe_checkout().path)
        shutil.rmtree(library)
        LINK.unlink()
        played = project.play(thrice("mend", ATTACHMENTS, {"attachments": [item(persist=True)]})).succeeded()
        assert played.require_converged("mend").result["files"] == paths((LINK, "created"))
        output = subprocess.run(command(), check=True, capture_output=True, text=True, env={}, cwd="/").stdout
        assert output == "unchanged: the attachment of red (eth0) to network lab, 10.9.0.2\n"


def test_persist_is_refused_if_boot_files_cannot_be_written(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    elsewhere = item("/run/elsewhere/blue", persist=True)
    with namespaces("red"):
        played = project.play([task("no name", ATTACHMENTS, {"attachments": [item(), elsewhere]})])
        played["no name"].require_no_change().require_failure(
            "attachments[1]: persist: the network namespace /run/elsewhere/blue is not in /run/netns; only named"
        )
        with tmpfs("/usr/lib/systemd"):
            played = project.play([task("no systemd", ATTACHMENTS, {"attachments": [item(persist=True)]})])
        played["no systemd"].require_no_change().require_failure("persist requires systemd on the node")


@NEEDS_SYSTEMD
def test_the_roles_pass_persist_on_and_remove_all_boot_files(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    (node.conf_dir / "10-lab.conflist").unlink()
    project.write("inventory/hosts", "node ansible_connection=local\n")
    variables: JsonObject = {
        "cni_node_concerns": ["networks", "attachments"],
        "cni_node_conflists": [{"config": {**configuration("lab"), "plugins": [{"type": "lab-lab"}]}}],
        "cni_node_attachments": [item(persist=True)],
        "cni_node_verify": False,
        "cni_node_become": False,
    }
    project.run("cni.node.provision", **variables).succeeded()
    assert all(os.path.lexists(path) for path in FILES)
    project.run("cni.node.remove", **variables).succeeded()
    assert not any(os.path.lexists(path) for path in FILES)
