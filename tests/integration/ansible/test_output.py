# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The output of the playbooks with Ansible's default callback."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    UNMANAGED,
    VERIFY,
    _drift,
    _release,
    _remove_directories,
    documented,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

pytestmark = pytest.mark.real_programs

# Several inventory names of this node.
THREE = "one,two,three,"
MOST_LINES = 60


def test_a_green_run_of_three_nodes_has_at_most_sixty_lines(node: EngineNode, project: Project) -> None:
    _remove_directories(node)
    project.inventory = THREE
    variables = {**documented(), **_release(project, "1.0.1")}
    for playbook in (PROVISION, PROVISION, VERIFY):
        output = project.run(playbook, **variables).succeeded().output
        assert len(output.splitlines()) <= MOST_LINES, output
        assert "included: " not in output


def test_tables_are_shown_if_the_output_has_no_successful_tasks(node: EngineNode, project: Project) -> None:
    """`display_ok_hosts` is an option of Ansible's default callback."""
    project.run(PROVISION, **documented(), **UNMANAGED).succeeded()
    project.write("ansible.cfg", "[defaults]\ndisplay_ok_hosts = false\n")
    output = project.run("cni.node.report").succeeded().output
    assert "ok: [" not in output
    assert [line.split()[0] for line in output.splitlines() if " TROUBLE" in line] == ["NODE"], output


def test_differences_are_shown_once_and_nothing_is_changed(node: EngineNode, project: Project) -> None:
    variables = {**documented(), **UNMANAGED}
    project.run(PROVISION, **variables).succeeded()
    verified = project.run(VERIFY, **variables).succeeded()
    assert (
        verified["Show what was verified"].msg == "node: as provisioned, and every network works; nothing was changed"
    )
    _drift(node)
    failed = project.run(VERIFY, **variables)
    assert all(task.require_unchanged_node() for task in failed.tasks)
    # ansible-core 2.19 prints additional lines before these.
    (fatal,) = [line for line in failed.output.splitlines() if line.startswith("fatal: [")]
    assert fatal.count("interface eth0 is gone") == 1
    failed["Require that nothing would change"].require_failure("\nnothing was changed; run cni.node.provision")


def test_a_failed_run_still_shows_what_each_node_has(node: EngineNode, project: Project) -> None:
    """Write a network that cannot be attached, so that file and attachment disagree."""
    variables: JsonObject = {**documented(), **UNMANAGED, "cni_node_verify": False}
    project.run(PROVISION, **variables).succeeded()
    (given,) = variables["cni_node_conflists"]
    plugin = {**given["config"]["plugins"][0], "ipam": reference_networks.host_local("10.9.0.0/16")}
    changed = {"config": {**given["config"], "plugins": [plugin]}}
    failed = project.run(
        PROVISION, **{**variables, "cni_node_conflists": [changed], "cni_node_validate_levels": "schema consistency"}
    )
    assert failed.status != 0
    shown = failed["Show the report"].result["msg"]
    assert "2 attachments of a changed network" in shown[1]
    assert failed.output.count("fatal: [") == 1
    assert "rescued=0" in failed.output
    assert "failed=1" in failed.output
