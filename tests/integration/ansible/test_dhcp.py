# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With cni_node_dhcp, the playbooks install the units of the daemon of dhcp and remove them, and nothing else."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PROVISION, VERIFY, PREFLIGHT, REMOVE = (f"cni.node.{name}" for name in ("provision", "verify", "preflight", "remove"))
WRITE = "Write the networks"
UNIT_DIR = pathlib.Path("/etc/systemd/system")
UNITS = [UNIT_DIR / f"cni-node-dhcp.{kind}" for kind in ("service", "socket")]
LINK = UNIT_DIR / "sockets.target.wants/cni-node-dhcp.socket"
VARIABLES: JsonObject = {
    "cni_node_concerns": "networks",
    "cni_node_conflists": [
        {"config": reference_networks.network(reference_networks.bridge(ipam={"type": "dhcp"}), name="lan")}
    ],
    "cni_node_verify": False,
}
WITH_DAEMON: JsonObject = {**VARIABLES, "cni_node_dhcp": "yes"}
MISSING = "(dhcp-daemon-missing)"

pytestmark = REQUIRES_SYSTEMD


@pytest.fixture
def others() -> t.Iterator[list[pathlib.Path]]:
    """Return the files of other programs beside the units."""
    paths = [UNIT_DIR / "cni-dhcp.socket", LINK.with_name("cni-dhcp.socket")]
    is_new = not LINK.parent.exists()
    LINK.parent.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.write_text("[Socket]\n", encoding="ascii")
    yield paths
    for path in paths:
        path.unlink()
    if is_new:
        LINK.parent.rmdir()


def warnings(result: JsonObject) -> str:
    return "\n".join(result.get("warnings", ()))


def test_the_units_are_predicted_installed_kept_and_removed_completely(
    node: EngineNode, project: Project, others: list[pathlib.Path]
) -> None:
    without = project.run(PROVISION, **VARIABLES).succeeded()[WRITE]
    assert MISSING in warnings(without.result)
    compared = project.run(VERIFY, **WITH_DAEMON)["Require that nothing would change"]
    compared.require_failure(*(f"{path}: would be created" for path in (*UNITS, LINK)))

    predicted = project.run(PROVISION, "--check", "--diff", **WITH_DAEMON).succeeded()[WRITE].require_unchanged_node()
    done = project.run(PROVISION, "--diff", **WITH_DAEMON).succeeded()[WRITE]
    assert done.plan() == predicted.plan()
    assert done.msg == "0 of 1 network configurations changed; files: 3 created"
    assert MISSING not in warnings(done.result)
    assert "systemd is not running: cni-node-dhcp.socket listens on /run/cni/dhcp.sock" in warnings(done.result)
    assert [(path.stat().st_mode & 0o777, path.stat().st_uid) for path in UNITS] == [(0o644, 0)] * 2
    assert LINK.readlink() == UNITS[1]
    for default in ({}, {"cni_node_dhcp": ""}, {"cni_node_dhcp": None}, {"cni_node_dhcp": True}):
        assert not project.run(PROVISION, **{**VARIABLES, **default}).succeeded()[WRITE].changed, default

    predicted = project.run(REMOVE, "--check", "--diff", **WITH_DAEMON).succeeded()[WRITE].require_unchanged_node()
    removed = project.run(REMOVE, "--diff", **WITH_DAEMON).succeeded()[WRITE]
    assert removed.plan() == predicted.plan()
    assert not any(path.exists() for path in (*UNITS, LINK))
    assert all(path.exists() for path in others)
    assert not project.run(REMOVE, **WITH_DAEMON).succeeded()[WRITE].changed


def test_purge_removes_the_units_when_the_variable_is_false(node: EngineNode, project: Project) -> None:
    project.run(PROVISION, **WITH_DAEMON).succeeded()
    purged = project.run(PROVISION, **VARIABLES, cni_node_purge="yes").succeeded()[WRITE]
    assert {file["action"] for file in purged.result["files"]} == {"removed"}
    assert not any(path.exists() for path in (*UNITS, LINK))


def test_without_the_plugin_the_daemon_is_refused_and_nothing_is_written(node: EngineNode, project: Project) -> None:
    elsewhere = {"cni_node_plugin_dirs": "/opt/cni/bin", "cni_node_conflists": []}
    refused = project.run(PROVISION, **{**WITH_DAEMON, **elsewhere})
    refused[WRITE].require_failure("dhcp_daemon: plugin 'dhcp' is not installed; looked in /opt/cni/bin")
    assert not any(path.exists() for path in UNITS)


def test_preflight_knows_that_provision_would_run_the_daemon(node: EngineNode, project: Project) -> None:
    compared = "Compare the networks of the variables with the node"
    assert MISSING in warnings(project.run(PREFLIGHT, **VARIABLES)[compared].result)
    assert MISSING not in warnings(project.run(PREFLIGHT, **WITH_DAEMON)[compared].result)
