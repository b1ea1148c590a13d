# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A survey gives text; an empty answer and null select the default, for every variable of roles and playbooks."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import KNOWN_VARIABLES
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import PAGE, UNMANAGED
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import ring

# What a survey without an answer gives, and a file of variables.
NOTHING = ring.sample(["", None], 2)
ROLES = sorted(path.name for path in (PAGE.parents[1] / "roles").iterdir())


def of_role(role: str) -> list[str]:
    return sorted(name for name in KNOWN_VARIABLES if name.startswith(f"{role}_"))


def read_module_arguments(played: PlaybookRun) -> list[tuple[str, t.Any]]:
    """Return the arguments of this collection's modules, or their error."""
    own = [task for task in played.tasks if task.module.startswith("cni.node.") and task.status != "skipped"]
    assert own, played.output
    return [(step.module, step.result.get("invocation", {}).get("module_args") or step.msg) for step in own]


def run_role(project: Project, role: str, **variables: t.Any) -> PlaybookRun:
    play = {"hosts": "all", "gather_facts": False, "roles": [f"cni.node.{role}"]}
    return project.run(str(project.write("role.yml", yaml.safe_dump([play]))), "--check", **variables)


@pytest.mark.parametrize("role", ROLES)
def test_empty_answers_and_null_select_the_defaults_of_a_role(node: EngineNode, project: Project, role: str) -> None:
    node.write(reference_networks.network(reference_networks.PTP, name="here"))
    # The node installs nothing and has no network; the message names the source that it would fetch.
    own = UNMANAGED if role == "cni_node" else {}
    usual = run_role(project, role, **own)
    for answer in NOTHING:
        empty = run_role(project, role, **{**dict.fromkeys(of_role(role), answer), **own})
        assert read_module_arguments(empty) == read_module_arguments(usual), answer
        assert empty.status == usual.status, answer


@pytest.mark.parametrize(
    "playbook", ["preflight", "provision", "verify", "upgrade", "rollback", "report", "gc", "repair", "remove"]
)
def test_empty_answers_and_null_select_the_defaults_of_a_playbook(
    node: EngineNode, project: Project, playbook: str
) -> None:
    node.write(reference_networks.network(reference_networks.PTP, name="here"))
    usual = project.run(f"cni.node.{playbook}", "--check", **UNMANAGED)
    for answer in NOTHING:
        given = {**dict.fromkeys(of_role("cni_node"), answer), **UNMANAGED}
        empty = project.run(f"cni.node.{playbook}", "--check", **given)
        assert read_module_arguments(empty) == read_module_arguments(usual), answer
        assert empty.status == usual.status, answer
        assert "coerced invalid value" not in empty.output


def test_a_runtime_with_plugins_of_its_own_gets_none_for_null(node: EngineNode, project: Project) -> None:
    given = {"cni_node_runtime": "apptainer", "cni_node_concerns": None, "cni_node_verify": False}
    played = project.run("cni.node.provision", "--check", **given)
    modules = [task.module for task in played.tasks if task.status != "skipped"]
    assert "cni.node.conflists" in modules
    assert "cni.node.plugins" not in modules


def test_numbers_and_flags_may_be_text(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.PTP, name="here"))
    played = run_role(project, "cni_attachments", cni_attachments_purge="yes")
    assert dict(read_module_arguments(played))["cni.node.attachments"]["purge"] is True
    played = run_role(project, "cni_verify", cni_verify_gateway_timeout="0")
    assert dict(read_module_arguments(played))["cni.node.verify"]["gateway_timeout"] == 0
    played = run_role(project, "cni_networks", cni_networks_purge="y", cni_networks_dhcp="off")
    arguments = dict(read_module_arguments(played))["cni.node.conflists"]
    assert (arguments["purge"], arguments["dhcp_daemon"]) == (True, False)
    played = run_role(project, "cni_kernel", cni_kernel_persist="false", cni_kernel_packages="off")
    assert dict(read_module_arguments(played))["cni.node.kernel"]["persist"] is False


@pytest.mark.parametrize(
    ("role", "answers", "message"),
    [
        ("cni_plugins", {"cni_plugins_keep": "some"}, "'keep' is of type"),
        ("cni_kernel", {"cni_kernel_persist": "perhaps"}, "'persist' is of type"),
        ("cni_attachments", {"cni_attachments_purge": "perhaps"}, "'purge' is of type"),
        ("cni_verify", {"cni_verify_no_log": "perhaps"}, "'perhaps' is neither true nor false"),
        ("cni_node", {"cni_node_no_log": "perhaps"}, "cni_node_no_log: 'perhaps' is neither true nor false"),
        ("cni_verify", {"cni_verify_gateway_timeout": "soon"}, "'gateway_timeout' is of type"),
        ("cni_attachments", {"cni_attachments_check": "sometimes"}, "value of cni_attachments_check must be one of"),
    ],
)
def test_an_invalid_answer_is_refused(project: Project, role: str, answers: JsonObject, message: str) -> None:
    played = run_role(project, role, **answers)
    assert played.status != 0
    assert message in played.output.replace("\n", " ")
