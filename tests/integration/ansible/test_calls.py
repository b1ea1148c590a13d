# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A converged node is asked once what a provision would change, and only what differs is done by its own task."""

from __future__ import annotations

import re
import subprocess
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import TOOK, PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    UNMANAGED,
    VERIFY,
    documented,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import Namespace

ATTACHED = "Attach the network namespaces"
# The trial of a network gets the next address.
MEASURED = ("timing", "seconds", "plugin_seconds", "addresses", "invocation")


@pytest.fixture
def variables() -> JsonObject:
    return {**documented(), **UNMANAGED}


@pytest.fixture
def converged(node: EngineNode, project: Project, variables: JsonObject) -> Project:
    """Return the project of a provisioned node."""
    project.run(PROVISION, **variables).succeeded()
    return project


def calls(played: PlaybookRun) -> int:
    """Return the number of modules that were run on the node."""
    return len(re.findall(r"^Using module file ", played.output, re.MULTILINE))


def own(played: PlaybookRun) -> dict[str, t.Any]:
    """Return the results of the collection's modules by the name of the task, without what each run measures anew."""
    steps = [step for step in played.tasks if step.module.startswith("cni.node.") and step.status != "skipped"]
    return {step.name: _timeless(step.result) for step in steps}


def _timeless(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in MEASURED}
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    return TOOK.sub("", value) if isinstance(value, str) else value


def apart(project: Project, variables: JsonObject, *options: str) -> PlaybookRun:
    """Provision with a call for each task, as with any selection of tags."""
    return project.run(PROVISION, "--skip-tags", "nothing", *options, **variables)


def test_two_calls_provision_a_converged_node(converged: Project, variables: JsonObject) -> None:
    played = converged.run(PROVISION, "-vvv", **variables).succeeded()
    assert calls(played) == 2, played.output
    each = apart(converged, variables, "-vvv").succeeded()
    assert calls(each) == 5
    assert own(played) == own(each)


@pytest.mark.parametrize("playbook", [PROVISION, VERIFY])
def test_check_mode_asks_a_converged_node_once(converged: Project, variables: JsonObject, playbook: str) -> None:
    played = converged.run(playbook, "--check", "--diff", "-vvv", **variables).succeeded()
    assert calls(played) == 2, played.output
    each = converged.run(playbook, "--check", "--diff", "-vvv", "--skip-tags", "nothing", **variables).succeeded()
    assert own(played) == own(each)


def test_only_tasks_with_a_difference_run_themselves(converged: Project, variables: JsonObject) -> None:
    Namespace("red").run("ip", "link", "delete", "eth0")
    predicted = converged.run(PROVISION, "--check", "-vvv", **variables).succeeded()
    played = converged.run(PROVISION, "-vvv", **variables).succeeded()
    assert {name: step["changed"] for name, step in own(played).items() if step["changed"]} == {ATTACHED: True}
    # The first asks about all. The last reports what the attachments are now.
    assert calls(played) == 4, played.output
    assert played[ATTACHED].plan() == predicted[ATTACHED].plan()
    assert "node  -        dbnet     2            none   -" in played["Show the report"].result["msg"]


def test_a_node_that_changes_meanwhile_is_reported_as_it_is(converged: Project, variables: JsonObject) -> None:
    """The results of an earlier call are worth nothing when a later task has failed."""
    subprocess.run(["ip", "link", "set", "cni0", "down"], check=True)
    played = converged.run(PROVISION, **{**variables, "cni_node_on_drift": "fail"})
    played[ATTACHED].require_failure("interface cni0 of the node is down")
    assert played["Show the report"].result["msg"][1].split()[4] == "2"


def test_the_results_of_an_earlier_call_are_not_used_after_a_refusal_on_the_controller(
    node: EngineNode, project: Project
) -> None:
    variables: JsonObject = {
        "cni_node_concerns": ["kernel", "networks", "attachments"],
        "cni_node_packages": False,
        "cni_node_conflists": [
            {"config": reference_networks.network({**reference_networks.bridge(), "annotations": {}})}
        ],
        "cni_node_attachments": [{"network": "net", "netns": "red"}],
    }

    def apply(**more: t.Any) -> JsonObject:
        return {"ansible.builtin.include_role": {"name": "cni.node.cni_node"}, "vars": {**variables, **more}}

    block = {
        "block": [apply(cni_node_validate_strict=True)],
        "rescue": [
            {"ansible.builtin.command": "ip -n red link delete eth0"},
            apply(cni_node_concerns=["attachments"]),
        ],
    }
    project.run(PROVISION, **variables).succeeded()
    play = {"hosts": "all", "gather_facts": False, "tasks": [block]}
    played = project.run(str(project.write("twice.yml", yaml.safe_dump([play], sort_keys=False)))).succeeded()
    assert [task.name for task in played.tasks if task.status == "failed"] == ["Write the networks"], played.output
    assert "eth0" in Namespace("red").links()
