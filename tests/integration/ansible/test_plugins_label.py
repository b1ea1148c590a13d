# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The distribution's plugins are not labelled with a version that they contradict."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import ring

TASK = "Manage the plugins"
REFUSED = "version: the release is not 1.9.1: its plugin bridge does not support version 1.1.0 of the specification"


@pytest.mark.parametrize("where", ring.sample(["node", "controller", "archive"], 3))
def test_an_upgrade_to_plugins_of_another_version_is_refused(node: EngineNode, project: Project, where: str) -> None:
    node.plugins.path.rmdir()
    if b"1.1.0" in supported():
        pytest.skip("the distribution's plugins are newer")
    source = str(releases.REFERENCE)
    if where == "archive":
        source = str(releases.release(project.path / "source.tgz", "bridge", "host-local"))
    variables: JsonObject = {
        "cni_node_concerns": "plugins",
        "cni_node_verify": False,
        "cni_node_plugins_source": source,
        "cni_node_plugins_remote_src": where == "node",
        "cni_node_plugins_only": "bridge\nhost-local",
    }
    for option in ("--check", "-v"):
        played = project.run("cni.node.upgrade", option, **variables, cni_node_plugins_version="1.9.1")
        played[TASK].require_unchanged_node().require_failure(REFUSED, "correct version or source")
    predicted = project.run("cni.node.upgrade", "--check", **variables, cni_node_plugins_version="1.1.1").succeeded()[
        TASK
    ]
    done = project.run("cni.node.upgrade", **variables, cni_node_plugins_version="1.1.1").succeeded()[TASK]
    assert (done.result["version"], done.plan()) == ("1.1.1", predicted.plan())
    before = releases.installed()
    renamed = project.run("cni.node.upgrade", **variables, cni_node_plugins_version="1.9.1")
    renamed[TASK].require_unchanged_node().require_failure(REFUSED)
    assert releases.installed() == before


def supported() -> bytes:
    """Return the versions that the distribution's bridge supports."""
    argv, environment = [releases.REFERENCE / "bridge"], {"CNI_COMMAND": "VERSION"}
    return subprocess.run(argv, env=environment, input=b"{}", check=True, stdout=subprocess.PIPE).stdout
