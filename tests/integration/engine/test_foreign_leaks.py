# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods that containerd has lost are deleted with the real plugins, and others stay."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import service
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode, remove
from ansible_collections.cni.node.tests.support import state
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

LOST, RUNNING = "8d1f0c2d" * 8, "0a1b2c3d" * 8
NAMES = {
    LOST: "cni-5f0c8f0e-66cf-8a4c-3b0a-0d2fd7a4b6c1",
    RUNNING: "cni-11111111-66cf-8a4c-3b0a-0d2fd7a4b6c1",
}


def pod(container_id: str, host_port: int) -> JsonObject:
    return {
        "network": "net",
        "container_id": container_id,
        "netns": NAMES[container_id],
        "args": {"IgnoreUnknown": "1", "K8S_POD_INFRA_CONTAINER_ID": container_id},
        "capability_args": {"portMappings": [{"hostPort": host_port, "containerPort": 80, "protocol": "tcp"}]},
    }


class Containerd:
    """A node with containerd, whose state is below a temporary directory, and with two pods."""

    def __init__(self, node: EngineNode, root: pathlib.Path) -> None:
        self.node = node
        self.sandboxes = root / "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes"
        self.sandboxes.mkdir(parents=True)
        paths = NODE_PATHS._replace(root=str(root))
        self._runtime = Runtime(make_executor(PLUGIN_DIRS, 60), str(node.cache_dir), 60, paths=paths)

    def add_pod(self, container_id: str, host_port: int) -> pathlib.Path:
        """Attach a pod and record it as containerd does; return the record."""
        (self.sandboxes / container_id).mkdir()
        item = pod(container_id, host_port)
        self.node.attach(item)
        record = self.node.record_of({**item, "ifname": "eth0"})
        document = json.loads(record.read_text(encoding="utf-8"))
        del document["cni.node"]
        record.write_text(json.dumps(document), encoding="utf-8")
        return record

    def lose_pod(self, container_id: str) -> None:
        (self.sandboxes / container_id).rmdir()

    def collect(self, *, dry_run: bool = False) -> list[Leak]:
        networks = conf_dir.load(str(self.node.conf_dir))
        policy = GcPolicy(0, dry_run, ["containerd"])
        cache_dir = str(self.node.cache_dir)
        return Collector(self._runtime, cache_dir, networks, ValidAttachments(), policy, 60).collect([])

    def state(self) -> state.State:
        """Return the node's state without the lost namespace and without what was kept of its attachment."""
        return self.node.state().without("^removed/|cni-5f0c8f0e")


@pytest.fixture
def pods() -> t.Iterator[dict[str, Namespace]]:
    with namespaces(*NAMES.values()) as made:
        yield dict(zip(NAMES, made))


@pytest.fixture
def containerd(node: EngineNode, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Containerd:
    monkeypatch.setattr(service, "uptime", lambda units, programs: 3600.0)
    plugins = reference_networks.bridge(ipMasq=True), reference_networks.PORTMAP, reference_networks.FIREWALL
    node.write(reference_networks.network(*plugins))
    return Containerd(node, tmp_path)


@pytest.mark.parametrize("is_reachable", [False, True])
def test_a_pod_that_containerd_has_lost_is_deleted_with_its_lease_rules_and_link(
    containerd: Containerd, pods: dict[str, Namespace], is_reachable: bool
) -> None:
    """Also one whose network namespace still exists, without a process and with the veth pair."""
    containerd.add_pod(RUNNING, 8081)
    for change in (containerd.node.attach, containerd.node.detach):  # both make what stays for all containers
        change(pod(LOST, 8080))
    before = containerd.state()
    record = containerd.add_pod(LOST, 8080)
    assert containerd.collect() == []
    containerd.lose_pod(LOST)
    if is_reachable:
        with subprocess.Popen(pods[LOST].argv("sleep", "60")) as process:
            (kept,) = containerd.collect()
            assert (kept.action, len(kept.proofs)) == ("kept", 1)
            process.kill()
        # Long enough ago for containerd to have listed it.
        subprocess.run(["touch", "--date=2 hours ago", record], check=True)
    else:
        remove(pods[LOST])
    predicted = containerd.collect(dry_run=True)
    (leak,) = containerd.collect()
    assert [vars(leak)] == [vars(each) for each in predicted]
    assert (leak.action, leak.error, len(leak.proofs)) == ("deleted", None, 2 if is_reachable else 3)
    assert before.difference(containerd.state()) == ""
    assert len([name for name in links() if name.startswith("veth")]) == 1
    saved = json.loads(pathlib.Path(leak.saved).read_text(encoding="utf-8"))["files"]
    assert [pathlib.Path(file["path"]).parent.name for file in saved] == ["results", "net"]
    assert saved[1]["text"] == f"{LOST}\r\neth0"
    assert containerd.collect() == []
    pods[RUNNING].run("ping", "-c1", "-W5", "10.1.0.1")


def test_a_lost_pod_of_a_network_without_a_file_is_deleted(containerd: Containerd, pods: dict[str, Namespace]) -> None:
    record = containerd.add_pod(LOST, 8080)
    for path in containerd.node.conf_dir.iterdir():
        path.unlink()
    containerd.lose_pod(LOST)
    remove(pods[LOST])
    actions = {str(leak.kind): leak.action for leak in containerd.collect()}
    assert (actions["record"], actions["lease directory"]) == ("deleted", "removed")
    assert (record.exists(), containerd.node.leases("net")) == (False, [])
