# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples of docs/runtimes.md, each provisioned beside the network that Debian's Podman brings."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "runtimes.md"
# What Debian's package containernetworking-plugins and Podman have together.
PODMAN: JsonObject = {
    "cniVersion": "0.4.0",
    "name": "podman",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni-podman0",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "routes": [{"dst": "0.0.0.0/0"}],
                "ranges": [[{"subnet": "10.88.0.0/16", "gateway": "10.88.0.1"}]],
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
        {"type": "firewall"},
        {"type": "tuning"},
    ],
}


def read_examples() -> dict[str, JsonObject]:
    """Return the variables of each runtime's example, by the heading above it. k3s needs an interface of the LAN."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## One runtime after the other\n")[2]
    blocks = re.findall(r"^### (.+?)\n\n```yaml\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    examples: dict[str, JsonObject] = {title: yaml.safe_load(block) for title, block in blocks}
    return {title: example for title, example in examples.items() if "cni_node_conflists" in example and title != "k3s"}


EXAMPLES = read_examples()


def test_the_page_has_an_example_of_a_network_for_each_runtime_without_networks_of_its_own() -> None:
    assert {*EXAMPLES} == {"containerd", "CRI-O", "Podman", "nerdctl", "Nomad", "Apptainer"}


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_is_provisioned_without_a_warning(node: EngineNode, project: Project, title: str) -> None:
    node.conf_dir.mkdir(parents=True, exist_ok=True)
    (node.conf_dir / "87-podman-bridge.conflist").write_text(json.dumps(PODMAN), encoding="utf-8")
    # Kernel settings belong to the sandbox; plugins come from the distribution, or are built in.
    variables = {**EXAMPLES[title], "cni_node_concerns": "networks"}
    played = project.run("cni.node.provision", **variables).succeeded()
    assert [warning for task in played.tasks for warning in task.warnings] == []
    assert "[WARNING]" not in played.output
    (network,) = EXAMPLES[title]["cni_node_conflists"]
    assert network["config"]["name"] in json.dumps(played["Try the networks"].result["networks"])


def test_the_bin_dir_of_debians_containerd_is_searched_for_plugins(node: EngineNode, project: Project) -> None:
    variables = {**EXAMPLES["containerd"], "cni_node_concerns": "networks"}
    played = project.run("cni.node.provision", "--check", **variables).succeeded()
    asked = played["Write the networks"].result["invocation"]["module_args"]
    assert asked["plugin_dirs"] == ["/usr/lib/cni", "/opt/cni/bin"]
