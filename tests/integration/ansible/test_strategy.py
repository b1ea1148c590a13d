# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks and roles where Ansible's configuration, or a play, sets a strategy."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import PAGE
from ansible_collections.cni.node.tests.integration.ansible.test_validate import GOOD, VALIDATE
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PLAYBOOKS = sorted((PAGE.parents[1] / "playbooks").glob("*.yml"))
# Several inventory names of this node.
THREE = "one,two,three,"


def read_strategies(text: str) -> list[t.Any]:
    return [play.get("strategy") for play in yaml.safe_load(text)]


def test_every_play_sets_the_strategy_that_it_needs() -> None:
    assert len(PLAYBOOKS) >= 10
    wrong = [
        path.name
        for path in PLAYBOOKS
        if {*read_strategies(path.read_text(encoding="utf-8"))} != {"ansible.builtin.linear"}
    ]
    assert wrong == []


@pytest.mark.real_programs
@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_a_playbook_runs_its_hosts_together_whatever_the_configuration_says(project: Project, strategy: str) -> None:
    project.inventory = THREE
    project.write("ansible.cfg", f"[defaults]\nstrategy = {strategy}\n")
    output = project.run(VALIDATE, cni_node_conflists=[{"config": GOOD}]).succeeded().output
    assert "0 errors and 0 warnings in 0 files and the variables of 3 hosts" in output
    assert "run_once" not in output


def test_the_facade_in_a_play_with_another_strategy_fails_with_one_sentence(node: EngineNode, project: Project) -> None:
    project.inventory = THREE
    variables = {"cni_node_concerns": "networks", "cni_node_conflists": [{"config": GOOD}]}
    played = project.play([], roles=["cni.node.cni_node"], strategy="free", vars=variables, ignore_errors=False)
    assert played.status != 0
    refused = [task for task in played.tasks if task.module == "cni.node.conflists"]
    assert len(refused) == 3
    for task in refused:
        assert task.require_failure("strategy: free; the role cni.node.cni_node compares the nodes of a play").endswith(
            "give the play strategy: linear"
        )
    assert all(task.require_unchanged_node() for task in played.tasks)
