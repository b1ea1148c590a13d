# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods and tasks that containerd has lost are deleted with the real plugins, and others stay."""

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
from ansible_collections.cni.node.plugins.module_utils._linux import netns, service
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode, remove
from ansible_collections.cni.node.tests.support import state
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace, namespaces
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

LOST, RUNNING, TASK = "8d1f0c2d" * 8, "0a1b2c3d" * 8, "default-c2"
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
        self.task = root / "run/containerd/io.containerd.runtime.v2.task/default/c2"
        paths = NODE_PATHS._replace(root=str(root))
        self._runtime = Runtime(make_executor(PLUGIN_DIRS, 60), str(node.cache_dir), 60, paths=paths)

    def add_pod(self, container_id: str, host_port: int) -> pathlib.Path:
        """Attach a pod and record it as containerd does; return the record."""
        (self.sandboxes / container_id).mkdir()
        item = pod(container_id, host_port)
        self.node.attach(item)
        return self.hand_over(item, "cni.node")

    def add_task(self, process: subprocess.Popen[bytes]) -> pathlib.Path:
        """Attach a process as ``ctr run --cni`` attaches the container c2; return the record, which libcni 1.1 writes."""
        self.task.mkdir(parents=True)
        item = {"network": "net", "container_id": TASK, "netns": f"/proc/{process.pid}/ns/net"}
        self.node.attach(item)
        return self.hand_over(item, "cni.node", "netns")

    def hand_over(self, item: JsonObject, *keys: str) -> pathlib.Path:
        """Remove keys that containerd does not write from the record of an attachment; return it."""
        record = self.node.record_of({**item, "ifname": "eth0"})
        document = json.loads(record.read_text(encoding="utf-8"))
        for key in keys:
            del document[key]
        record.write_text(json.dumps(document), encoding="utf-8")
        return record

    def lose_pod(self, container_id: str) -> None:
        (self.sandboxes / container_id).rmdir()

    def collect(self, *, dry_run: bool = False, owners: t.Collection[str] = ("containerd",)) -> list[Leak]:
        networks = conf_dir.load(str(self.node.conf_dir))
        policy = GcPolicy(0, dry_run, owners)
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


def test_a_task_that_ctr_has_killed_without_a_del_is_deleted_when_ctr_has_deleted_it(containerd: Containerd) -> None:
    with subprocess.Popen(["unshare", "--net", "sleep", "60"]) as process:
        until(lambda: netns.is_foreign(f"/proc/{process.pid}/ns/net") or None)
        record = containerd.add_task(process)
        assert [containerd.collect(owners=owners) for owners in ((), ("containerd",), ("ctr",))] == [[], [], []]
        process.kill()
    gone = f"its network namespace /proc/{process.pid}/ns/net is gone"
    for owners, reason in (
        ((), "the record belongs to another runtime"),
        (("containerd",), "the record belongs to another runtime, ctr, and owners does not name ctr"),
        (("ctr",), f"ctr lists the container: {containerd.task}"),
    ):
        (leak,) = containerd.collect(owners=owners)
        assert (leak.action, leak.proofs[0], leak.evidence.rpartition(", but ")[2]) == ("kept", gone, reason)
    containerd.task.rmdir()
    assert (record.exists(), len(containerd.node.leases("net"))) == (True, 1)
    predicted = containerd.collect(dry_run=True, owners=["ctr"])
    done = containerd.collect(owners=["ctr"])
    assert [vars(leak) for leak in done] == [vars(each) for each in predicted]
    (leak, dummy) = done
    assert (leak.action, leak.error, len(leak.proofs)) == ("deleted", None, 3)
    assert (record.exists(), containerd.node.leases("net")) == (False, [])
    assert containerd.collect(owners=["ctr"]) == []


def test_a_lost_attachment_of_an_unknown_runtime_is_reported_with_the_reason(containerd: Containerd) -> None:
    item = {"network": "net", "container_id": "c2", "netns": "blue"}
    with namespace("blue") as container:
        containerd.node.attach(item)
        record = containerd.hand_over(item, "cni.node", "netns")
        assert [containerd.collect(owners=owners) for owners in ((), ("containerd",))] == [[], []]
        remove(container)
    (leak,) = containerd.collect()
    assert (leak.action, leak.proofs) == ("kept", (f"its network namespace {container.path} is gone",))
    assert "are not like those of a known runtime" in leak.evidence
    assert (record.exists(), len(containerd.node.leases("net"))) == (True, 1)
