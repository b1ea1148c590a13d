# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One variable sets a node up for a container runtime."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import threading
import time
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import ON_RELOAD
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support import build
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import namespaces

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


def test_the_module_kernel_gets_the_runtime(node: EngineNode, project: Project) -> None:
    played = provision(project, "podman", cni_node_concerns=["kernel"], cni_node_conflists=[]).succeeded()
    assert read_arguments(played, "kernel")["runtime"] == "podman"


def test_each_runtime_whose_networks_a_play_has_changed_is_told(node: EngineNode, project: Project) -> None:
    runtimes = [
        {"name": "nomad", "restarts": False},
        {"name": "crio", "restarts": True},
        {"name": "containerd", "restarts": False},
        {"name": "podman", "restarts": True},
    ]
    item: JsonObject = {
        "ansible.builtin.include_role": {"name": "cni.node.cni_networks"},
        "loop": runtimes,
        "vars": {
            "cni_networks_runtime": "{{ item.name }}",
            "cni_networks_restart_runtime": "{{ item.restarts }}",
            "cni_networks_conf_dir": "/etc/cni/{{ item.name }}",
            "cni_networks_conflists": VARIABLES["cni_node_conflists"],
        },
    }
    output = project.play([item], ignore_errors=False).succeeded().output
    told = re.findall(r"^RUNNING HANDLER \[cni\.node\.cni_networks : (Re.*)\]", output, re.MULTILINE)
    assert told == ["Reload nomad", "Restart crio"], output
    assert output.count("Find the services of the node's runtimes") == 2


def test_every_runtime_with_a_service_can_be_restarted() -> None:
    handlers = yaml.safe_load((build.REPOSITORY / "roles/cni_networks/handlers/main.yml").read_text(encoding="utf-8"))
    expected = {f"cni_networks: {runtime.name} restarted" for runtime in RUNTIMES if runtime.units}
    expected |= {f"cni_networks: {runtime.name} reloaded" for runtime in RUNTIMES if runtime.setup.notices == ON_RELOAD}
    assert {handler["listen"] for handler in handlers} == expected


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
    assert "neither nomad nor its service exists" in played.output
    assert "install Nomad, or set cni_node_runtime to a runtime of this node" in played.output
    assert all(task.require_no_change() for task in played.tasks)


def test_preflight_shows_for_which_network_provision_would_be_refused(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), name="theirs"), "87-theirs.conflist")
    mine = reference_networks.network(reference_networks.bridge(bridge="mine0"), name="mine")
    variables = {**VARIABLES, "cni_node_conflists": [{"config": mine}]}
    refused = project.run("cni.node.provision", "--check", **variables)
    assert refused.status == 2
    played = project.run("cni.node.preflight", **variables)
    assert played.status == 2
    rows = [line for line in played["Show what each node has"].result["msg"] if " missing " in line]
    assert any("overlaps" in row for row in rows), rows
    played["Require what the runtime needs, and networks that would be written"].require_failure(
        "provision would be refused: ", "overlaps"
    )
    assert all(task.require_no_change() for task in played.tasks)
    project.run("cni.node.preflight", **{**variables, "cni_node_concerns": ["kernel"]}).succeeded()


# The plugins that are unpacked by hand.
UNPACKED = ("bridge", "firewall", "host-local", "loopback", "portmap")


class ManualSetup(t.NamedTuple):
    """How a node was set up for a runtime: where its networks are, and to which user its plugins belong."""

    runtime: str
    conf_dir: pathlib.Path
    user: int


BY_HAND = {
    "a role for Nomad, whose plugins belong to the user nomad": ManualSetup(
        "nomad", pathlib.Path("/opt/cni/config"), 65534
    ),
    "the instructions for kubeadm": ManualSetup("kubelet", pathlib.Path("/etc/cni/net.d"), 0),
}


@pytest.fixture(params=list(BY_HAND.values()), ids=list(BY_HAND))
def by_hand(node: EngineNode, request: pytest.FixtureRequest) -> ManualSetup:
    """Return what was done on a node: older plugins, one of another tool, and a network."""
    reason = build.find_missing()
    if reason:
        pytest.skip(reason)
    done: ManualSetup = request.param
    releases.BIN_DIR.mkdir(exist_ok=True)
    done.conf_dir.mkdir(parents=True, exist_ok=True)
    files = {**releases.contents(*UNPACKED, revision="older"), "theirs": b"#!/bin/sh\n"}
    for name, content in files.items():
        (releases.BIN_DIR / name).write_bytes(content)
        (releases.BIN_DIR / name).chmod(0o755)
        os.chown(releases.BIN_DIR / name, done.user, done.user)
    network = reference_networks.network(reference_networks.bridge(), name="theirs")
    (done.conf_dir / "10-theirs.conflist").write_text(json.dumps(network), encoding="utf-8")
    return done


@contextlib.contextmanager
def require_never_missing(paths: t.Sequence[pathlib.Path]) -> t.Iterator[None]:
    """Require that every look finds an executable file of the same size, until the block ends."""
    gaps: list[str] = []
    is_over = threading.Event()
    whole = {path: path.stat().st_size for path in paths}

    def look() -> None:
        while not is_over.is_set():
            gaps.extend(
                path.name for path in paths if not os.access(path, os.X_OK) or path.stat().st_size != whole[path]
            )
            time.sleep(0.0005)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
    assert gaps == []


def test_a_node_that_was_set_up_by_hand_is_taken_over_without_a_gap(
    node: EngineNode, by_hand: ManualSetup, project: Project
) -> None:
    runtime = Libcni(build.libcni_runner(), str(by_hand.conf_dir), (str(releases.BIN_DIR),), str(node.cache_dir))
    variables = {
        **VARIABLES,
        "cni_node_runtime": by_hand.runtime,
        "cni_node_concerns": ["plugins", "networks"],
        "cni_node_plugins_source": str(releases.release(project.path / "new.tgz", *UNPACKED, "ptp", revision="newer")),
    }
    theirs = {
        path: path.read_bytes() for path in (by_hand.conf_dir / "10-theirs.conflist", releases.BIN_DIR / "theirs")
    }
    with namespaces("running") as (running,):
        item = attachment("theirs", running)
        assert runtime.run("ADD", [item]).results != [None]
        refused = project.run("cni.node.provision", **variables)
        assert "has not installed" in refused.output
        assert not list(by_hand.conf_dir.glob("*-wire.conflist"))
        with require_never_missing([releases.BIN_DIR / name for name in UNPACKED]):
            project.run("cni.node.provision", cni_node_plugins_force=True, **variables).succeeded()
        new = releases.contents(*UNPACKED, revision="newer")
        assert {name: (releases.BIN_DIR / name).read_bytes() for name in UNPACKED} == new
        assert {(releases.BIN_DIR / name).stat().st_uid for name in UNPACKED} == {0}
        assert len(list(by_hand.conf_dir.glob("*-wire.conflist"))) == 1
        assert runtime.run("CHECK", [item]).results == [None]
        assert runtime.run("DEL", [item]).results == [None]
    assert node.leases("theirs") == []
    project.run("cni.node.remove", cni_node_confirm=True, cni_node_plugins_force=True, **variables).succeeded()
    assert {path: path.read_bytes() for path in theirs} == theirs
    assert (releases.BIN_DIR / "bridge").read_bytes() == releases.contents("bridge", revision="older")["bridge"]
