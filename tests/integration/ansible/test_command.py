# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role installs the command cni-node, which has the variables of the node as its only configuration."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    REMOVE,
    REPAIR,
    UNMANAGED,
    VERIFY,
    documented,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PATH = pathlib.Path("/usr/local/sbin/cni-node")
MANAGE = "Manage the command cni-node"
COMMAND = "cni.node.command"
ROLE = {"name": "cni.node.cni_node"}
COMPARED = "Require that nothing would change"


@pytest.fixture(autouse=True)
def without_command(node: EngineNode) -> t.Iterator[None]:
    yield
    PATH.unlink(missing_ok=True)


def variables(**changes: t.Any) -> JsonObject:
    return {**documented(), **UNMANAGED, "cni_node_verify": False, "cni_node_command": "yes", **changes}


def test_the_module_is_predicted_and_idempotent(project: Project) -> None:
    played = project.play(
        [
            *thrice("install", COMMAND, {"gc_owners": ["containerd"]}),
            *thrice("remove", COMMAND, {"state": "absent"}),
            task("relative", COMMAND, {"path": "cni-node"}),
        ],
        "--diff",
    )
    installed = played.require_converged("install")
    assert installed.result["files"] == [{"path": str(PATH), "action": "created"}]
    assert "'gc_owners': ['containerd']" in installed.result["diff"][0]["after"]
    assert played.require_converged("remove").msg == f"{PATH}: removed"
    assert not PATH.exists()
    played["relative"].require_failure("path: 'cni-node' is not an absolute path")


def test_the_role_installs_it_and_repair_and_remove_remove_it(node: EngineNode, project: Project) -> None:
    role = {"hosts": "all", "gather_facts": False, "tasks": [{"include_role": ROLE}]}
    playbook = str(project.write("site.yml", json.dumps([role])))
    given = variables(cni_node_gc_min_age=7)
    project.run(PROVISION, **given).succeeded()
    assert "cni-node" not in project.run(PROVISION, "--check", **given).succeeded().output
    shown = project.run(VERIFY, **given).succeeded()[COMPARED]
    assert shown.result["msg"] == [
        f"as provisioned; only cni.node.repair would change: {PATH}: would be created",
        f"{PATH}: would be created",
    ]
    compared = {"hosts": "all", "gather_facts": False, "tasks": [{"include_role": {**ROLE, "tasks_from": "compare"}}]}
    failed = project.run(str(project.write("compare.yml", json.dumps([compared]))), **given)
    failed[COMPARED].require_failure(f"{PATH}: would be created")
    project.run(playbook, **given).succeeded()
    done = subprocess.run([str(PATH), "status", "--json"], check=False, capture_output=True, text=True, env={}, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["attachments"]) == len(given["cni_node_attachments"])
    assert "'gc_min_age': 7.0" in PATH.read_text(encoding="utf-8")
    project.run(VERIFY, **given).succeeded()
    assert not project.run(REPAIR, **given).succeeded()[MANAGE].changed
    assert project.run(REPAIR, **variables(cni_node_command=None)).succeeded()[MANAGE].changed
    assert not PATH.exists()
    project.run(REPAIR, **given).succeeded()
    assert PATH.exists()
    project.run(REMOVE, **given).succeeded()
    assert not PATH.exists()
    assert not pathlib.Path("/opt/cni/lib").exists()
