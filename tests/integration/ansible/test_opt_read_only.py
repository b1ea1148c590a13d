# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node with a read-only /opt: one variable moves every path below it."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_persist import NEEDS_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import UNIT
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs

pytestmark = pytest.mark.real_programs

ELSEWHERE = pathlib.Path("/run/opt")


@pytest.fixture
def without_opt(node: EngineNode) -> t.Iterator[EngineNode]:
    """Return a node whose /opt is empty and read-only."""
    with tmpfs("/opt", "ro"):
        yield node


@NEEDS_SYSTEMD
def test_one_variable_moves_every_path_below_opt(without_opt: EngineNode, project: Project) -> None:
    variables: JsonObject = {
        "cni_node_concerns": "plugins\nnetworks\nattachments",
        "cni_node_conflists": [{"config": reference_networks.network(reference_networks.PTP, name="wire")}],
        "cni_node_attachments": [{"network": "wire", "netns": "red", "persist": True}],
        "cni_node_plugins_source": str(releases.release(project.path / "source.tgz", "host-local", "ptp")),
    }
    project.run("cni.node.provision", **variables)["Manage the plugins"].require_failure(
        "/opt", "Read-only file system"
    )
    moved = {**variables, "cni_node_opt_dir": str(ELSEWHERE), "cni_node_bin_dir": ""}
    provisioned = project.run("cni.node.provision", **moved).succeeded()
    asked = provisioned["Attach the network namespaces"].result["invocation"]["module_args"]
    assert asked["plugin_dirs"] == [f"{ELSEWHERE}/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"]
    assert {path.name for path in (ELSEWHERE / "cni" / "bin").iterdir()} == {"host-local", "ptp"}
    (library,) = (ELSEWHERE / "cni" / "lib" / "cni.node").glob("[0-9a-f]*")
    assert f" -I {library} " in UNIT.read_text(encoding="utf-8")
    assert not any(task.changed for task in project.run("cni.node.provision", **moved).succeeded().tasks)
    project.run("cni.node.remove", **moved).succeeded()
    assert not list(ELSEWHERE.iterdir())
    assert not UNIT.exists()
