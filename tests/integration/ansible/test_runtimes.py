# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One variable sets a node up for a container runtime."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

VARIABLES: JsonObject = {
    "cni_node_conflists": [{"config": reference_networks.network(reference_networks.PTP, name="wire")}],
    "cni_node_concerns": ["networks"],
    "cni_node_verify": False,
}


def provision(project: Project, runtime: str, **variables: t.Any) -> PlaybookRun:
    return project.run("cni.node.provision", "--check", cni_node_runtime=runtime, **{**VARIABLES, **variables})


def read_arguments(played: PlaybookRun, module: str) -> JsonObject:
    (task,) = (task for task in played.tasks if task.module == f"cni.node.{module}")
    arguments: JsonObject = task.result["invocation"]["module_args"]
    return arguments


@pytest.mark.parametrize(
    ("runtime", "conf_dir", "plugin_dirs"),
    [
        ("", "/etc/cni/net.d", ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"]),
        ("nomad", "/opt/cni/config", ["/opt/cni/bin", "/usr/libexec/cni"]),
        ("k3s", "/var/lib/rancher/k3s/agent/etc/cni/net.d", None),
    ],
)
def test_networks_are_written_where_the_runtime_reads_them(
    node: EngineNode, project: Project, runtime: str, conf_dir: str, plugin_dirs: list[str] | None
) -> None:
    arguments = read_arguments(provision(project, runtime, cni_node_conf_dir="").succeeded(), "conflists")
    assert arguments["conf_dir"] == conf_dir
    assert plugin_dirs is None or arguments["plugin_dirs"] == plugin_dirs


def test_a_variable_takes_precedence_over_the_runtime(node: EngineNode, project: Project) -> None:
    own = {"cni_node_conf_dir": "/run/net.d", "cni_node_plugin_dirs": ["/usr/lib/cni"]}
    arguments = read_arguments(provision(project, "nomad", **own).succeeded(), "conflists")
    assert (arguments["conf_dir"], arguments["plugin_dirs"]) == ("/run/net.d", ["/usr/lib/cni"])


def test_no_plugins_are_installed_for_a_runtime_that_brings_its_own(node: EngineNode, project: Project) -> None:
    variables = {**VARIABLES, "cni_node_runtime": "apptainer"}
    del variables["cni_node_concerns"]
    played = project.run("cni.node.provision", "--check", **variables).succeeded()
    modules = [task.module for task in played.tasks if task.status != "skipped"]
    assert "cni.node.conflists" in modules
    assert "cni.node.plugins" not in modules


def test_the_kernel_module_is_told_the_runtime(node: EngineNode, project: Project) -> None:
    played = provision(project, "podman", cni_node_concerns=["kernel"], cni_node_conflists=[]).succeeded()
    assert read_arguments(played, "kernel")["runtime"] == "podman"


def test_an_unknown_runtime_is_refused_before_anything_is_done(node: EngineNode, project: Project) -> None:
    played = provision(project, "docker")
    assert played.status != 0
    assert "value of cni_node_runtime must be one of: apptainer, containerd" in played.output
    assert all(task.require_unchanged_node() for task in played.tasks)


def test_preflight_fails_for_a_node_that_lacks_its_runtime_and_changes_nothing(
    node: EngineNode, project: Project
) -> None:
    played = project.run("cni.node.preflight", cni_node_runtime="nomad")
    assert played.status == 2
    assert "neither nomad nor its service is there" in played.output
    assert "install Nomad, or set cni_node_runtime to a runtime of this node" in played.output
    assert all(task.require_no_change() for task in played.tasks)
