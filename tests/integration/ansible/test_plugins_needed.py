# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No playbook removes plugins that attachments or networks need."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PROVISION, UPGRADE, ROLLBACK, REMOVE = (f"cni.node.{name}" for name in ("provision", "upgrade", "rollback", "remove"))
TASK = "Manage the plugins"
NEEDED = ("host-local", "ptp")


@pytest.fixture
def variables(node: EngineNode, project: Project) -> JsonObject:
    """Return the variables of a node with one network and one attachment and no other source of plugins."""
    node.plugins.path.rmdir()
    node.conf_dir.rmdir()
    return {
        "cni_node_concerns": "plugins\nnetworks\nattachments",
        "cni_node_plugin_dirs": "/opt/cni/bin",
        "cni_node_conflists": [{"config": reference_networks.network(reference_networks.PTP, name="wire")}],
        "cni_node_attachments": [{"network": "wire", "netns": "red"}],
        **release(project, "full.tgz", *NEEDED, "tuning"),
    }


def release(project: Project, name: str, *plugins: str) -> JsonObject:
    path = project.path / name
    return {"cni_node_plugins_source": str(path if path.exists() else releases.release(path, *plugins))}


def test_needed_plugins_stay_until_their_last_user_is_removed(
    node: EngineNode, project: Project, variables: JsonObject
) -> None:
    narrower = {**variables, **release(project, "less.tgz", "tuning")}
    alone = {"cni_node_concerns": "plugins", "cni_node_conflists": [], "cni_node_attachments": []}
    project.run(PROVISION, **{**narrower, **alone}).succeeded()
    project.run(PROVISION, **variables).succeeded()
    before = releases.installed()
    only: JsonObject = {**variables, "cni_node_plugins_only": "tuning"}
    for given in (
        (PROVISION, "--check", only),
        (PROVISION, "-v", only),
        (UPGRADE, "-v", narrower),
        (ROLLBACK, "-v", variables),
    ):
        playbook, option, chosen = given
        failed = project.run(playbook, option, **chosen)[TASK].require_failure("2 needed plugins would be removed")
        assert "ptp, needed by network wire (/etc/cni/net.d/10-wire.conflist), " in failed, playbook
        assert "the attachment of red (eth0) to network wire" in failed, playbook
    assert releases.installed() == before
    predicted = project.run(REMOVE, "--check", **variables).succeeded()[TASK]
    removed = project.run(REMOVE, **variables).succeeded()[TASK]
    assert removed.plan() == predicted.plan()


def test_the_download_timeout_reaches_the_module(node: EngineNode, project: Project, variables: JsonObject) -> None:
    only: JsonObject = {**variables, "cni_node_concerns": "plugins", "cni_node_download_timeout": "7"}
    done = project.run(PROVISION, "--check", "--tags", "plugins", **only).succeeded()[TASK]
    assert done.result["invocation"]["module_args"]["download_timeout"] == 7


def test_networks_of_the_variables_protect_their_plugins_before_they_are_written(
    node: EngineNode, project: Project, variables: JsonObject
) -> None:
    only = {**variables, "cni_node_concerns": "plugins", "cni_node_verify": False}
    project.run(PROVISION, **only).succeeded()
    narrower = {**only, "cni_node_plugins_only": "tuning"}
    project.run(PROVISION, **narrower)[TASK].require_failure("ptp, needed by network wire (conflists[0])")
    done = project.run(PROVISION, **narrower, cni_node_plugins_remove_needed="yes").succeeded()[TASK]
    assert "2 needed plugins are removed: host-local, needed by network wire" in str(done.warnings)
