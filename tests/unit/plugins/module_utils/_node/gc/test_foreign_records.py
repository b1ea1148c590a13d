# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments of other runtimes: which proofs delete them, and what keeps them."""

from __future__ import annotations

import base64
import errno
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import record
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns, process_table, service
from ansible_collections.cni.node.plugins.module_utils._node.gc import foreign_loss, records
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture, actions

POD, OTHER_POD = "8d1f0c2d" * 8, "0a1b2c3d" * 8
ALLOCATION = "6b235529-8111-4bbe-520b-d639b1d2a94e"
UUID = "5f0c8f0e-66cf-8a4c-3b0a-0d2fd7a4b6c1"
DAYS = 3 * 24 * 3600.0
NETNS = {
    "containerd": f"/var/run/netns/cni-{UUID}",
    "crio": f"/var/run/netns/{UUID}",
    "ctr": "/proc/999999999/ns/net",
    "docker": "/proc/999999999/ns/net",
    "nerdctl": "/proc/999999999/ns/net",
    "nomad": f"/var/run/netns/{ALLOCATION}",
    "podman": f"/run/netns/netns-{UUID}",
}
CONTAINERS = {
    "containerd": POD,
    "crio": POD,
    "ctr": "default-c-2",
    "docker": POD,
    "nerdctl": f"k8s.io-{POD}",
    "nomad": ALLOCATION,
    "podman": POD,
}


class ForeignRuntimes:
    """A fake node with containers of other runtimes, which are up."""

    def __init__(self, gc: GcFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gc = gc
        self.root = pathlib.Path(gc.node.paths.root)
        self.netns: set[str] = set()
        self.uptime: float | None = 3600.0
        monkeypatch.setattr(service, "uptime", lambda units, programs: self.uptime)
        monkeypatch.setattr(process_table, "find_by_netns", lambda path: [])
        monkeypatch.setattr(process_table, "find_mentioning", lambda text, ignored: [])
        self._stand_in(monkeypatch, netns, "is_namespace", lambda path: True)
        for module in (records, record):
            self._stand_in(monkeypatch, module, "netns_identity", lambda path: "identity")

    def _stand_in(
        self, monkeypatch: pytest.MonkeyPatch, module: types.ModuleType, name: str, answer: t.Callable[[str], object]
    ) -> None:
        """Let a function answer for the network namespaces of this node as if they existed."""
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda path: answer(path) if path in self.netns else real(path))

    def make_state(self, runtime: str, *containers: str) -> None:
        """Make the lists of a runtime, with these containers."""
        getattr(self, f"_make_{runtime}")(*containers)

    def make_directory(self, path: str) -> pathlib.Path:
        directory = self.root / path
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def _make_containerd(self, *containers: str) -> None:
        for name in containers:
            self.make_directory(f"var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/{name}")
        self.make_directory("var/lib/containerd/io.containerd.grpc.v1.cri")

    def _make_nerdctl(self, *containers: str) -> None:
        self.make_directory("var/lib/nerdctl/1935db59/containers")
        for name in containers:
            self.make_directory(f"var/lib/nerdctl/1935db59/containers/{name.replace('-', '/', 1)}")

    def _make_ctr(self, *containers: str) -> None:
        tasks = self.make_directory("run/containerd/io.containerd.runtime.v2.task/default")
        for name in containers:
            (tasks / name.removeprefix("default-")).mkdir()

    def _make_docker(self, *containers: str) -> None:
        directory = self.make_directory("var/lib/docker/containers")
        for name in containers:
            (directory / name).mkdir()

    def _make_nomad(self, *containers: str) -> None:
        self.make_directory("opt/nomad/data/alloc")
        for name in containers:
            self.make_directory(f"opt/nomad/data/alloc/{name}")

    def _make_crio(self, *containers: str) -> None:
        self.make_directory("run/crio")
        self._write_storage(*containers)

    def _write_storage(self, *containers: str) -> None:
        path = self.make_directory("var/lib/containers/storage/overlay-containers") / "containers.json"
        path.write_text(json.dumps([{"id": name, "names": ["a"]} for name in containers]), encoding="utf-8")

    def _make_podman(self, *containers: str) -> None:
        path = self.make_directory("var/lib/containers/storage") / "db.sql"
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS ContainerConfig(ID TEXT PRIMARY KEY NOT NULL, JSON TEXT)")
            connection.executemany("INSERT INTO ContainerConfig VALUES (?, '{}')", [(name,) for name in containers])
        connection.close()

    def record(self, runtime: str, network: str = "net", age: float = DAYS, **keys: t.Any) -> pathlib.Path:
        """Write the record of a runtime's container as libcni does, and its lease."""
        container = CONTAINERS[runtime]
        plugins = [{"type": "a", "ipam": {"type": "host-local", "dataDir": str(self.gc.leases)}}, {"type": "b"}]
        config = json.dumps({"cniVersion": "1.0.0", "name": network, "plugins": plugins})
        args = [["IgnoreUnknown", "1"], ["K8S_POD_INFRA_CONTAINER_ID", container]]
        document = {
            "kind": "cniCacheV1",
            "containerId": container,
            "config": base64.b64encode(config.encode()).decode(),
            "ifName": "eth0",
            "networkName": network,
            "netns": NETNS[runtime],
            "result": {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}]},
            **({"cniArgs": args} if runtime in ("containerd", "crio", "docker") else {}),
            **keys,
        }
        directory = self.gc.node.cache_dir / "results"
        directory.mkdir(exist_ok=True, mode=0o700)
        path = directory / f"{network}-{document['containerId']}-eth0"
        path.write_text(json.dumps(document), encoding="utf-8")
        os.utime(path, (time.time() - age,) * 2)
        self.gc.lease("10.1.0.2", f"{document['containerId']}\r\neth0", network, age)
        return path

    def judge(self, *owners: str, **options: t.Any) -> Leak:
        """Return the only finding about a record, which a dry run predicts."""
        predicted = self.gc.collect(owners=owners, dry_run=True, **options)
        done = self.gc.collect(owners=owners, **options)
        (leak,) = (leak for leak in done if leak.kind == "record")
        assert [vars(each) for each in predicted if each.kind == "record"] == [vars(leak)]
        return leak

    def netns_of_del(self) -> list[tuple[str, str]]:
        """Return the plugins that have run DEL, with the network namespace."""
        calls = [call for call in self.gc.node.executor.calls if call.command == "DEL"]
        return [(call.plugin, call.attachment.netns) for call in calls if call.attachment]


@pytest.fixture
def foreign(gc: GcFixture, monkeypatch: pytest.MonkeyPatch) -> ForeignRuntimes:
    return ForeignRuntimes(gc, monkeypatch)


@pytest.mark.parametrize("runtime", CONTAINERS)
def test_two_proofs_delete_the_attachment_of_a_named_runtime(foreign: ForeignRuntimes, runtime: str) -> None:
    foreign.make_state(runtime, OTHER_POD)
    path = foreign.record(runtime)
    leak = foreign.judge(runtime)
    assert leak.proofs == (
        f"its network namespace {NETNS[runtime]} is gone",
        f"{runtime} does not list the container {CONTAINERS[runtime]}",
        "no process belongs to the container or is in its network namespace",
    )
    assert (leak.action, leak.error, path.exists()) == ("deleted", None, False)
    assert foreign.netns_of_del() == [("b", ""), ("a", "")]
    assert pathlib.Path(leak.saved).stat().st_mode & 0o777 == 0o600
    assert pathlib.Path(leak.saved).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("runtime", ["containerd", "podman"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_record_of_an_old_libcni_names_the_namespace_in_its_result(
    foreign: ForeignRuntimes, runtime: str, exists: bool
) -> None:
    foreign.make_state(runtime, OTHER_POD)
    foreign.netns |= {NETNS[runtime]} if exists else set()
    result = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": NETNS[runtime]}]}
    path = foreign.record(runtime, netns="", result=result)
    leak = foreign.judge(runtime)
    gone = f"its network namespace {NETNS[runtime]} is gone"
    assert (gone in leak.proofs, len(leak.proofs)) == (not exists, 2 if exists else 3)
    assert (leak.action, path.exists()) == ("deleted", False)
    netns_of_del = NETNS[runtime] if exists else ""
    assert foreign.netns_of_del() == [("b", netns_of_del), ("a", netns_of_del)]


@pytest.mark.parametrize("runtime", CONTAINERS)
def test_a_container_that_its_runtime_lists_is_kept(foreign: ForeignRuntimes, runtime: str) -> None:
    foreign.make_state(runtime, CONTAINERS[runtime])
    path = foreign.record(runtime)
    leak = foreign.judge(runtime)
    assert (leak.action, leak.saved, path.exists()) == ("kept", "", True)
    assert f", but {runtime} lists the container: {foreign.root}" in leak.evidence


@pytest.mark.parametrize("runtime", CONTAINERS)
@pytest.mark.parametrize("owners", [(), ("other",)])
def test_an_attachment_of_a_runtime_that_is_not_named_is_kept(
    foreign: ForeignRuntimes, runtime: str, owners: tuple[str, ...]
) -> None:
    foreign.make_state(runtime)
    foreign.record(runtime)
    before = foreign.gc.files()
    leak = foreign.judge(*owners)
    why = f", {runtime}, and owners does not name {runtime}" if owners else ""
    assert leak.action == "kept"
    assert leak.evidence.endswith(f"is gone, but the record belongs to another runtime{why}")
    assert foreign.gc.files() == before


@pytest.mark.parametrize("runtime", ["containerd", "ctr"])
@pytest.mark.parametrize(
    ("uptime", "reason"),
    [
        (None, "containerd is not running, and may bring the container back when it starts"),
        (30.0, "containerd started less than 60 s ago"),
    ],
)
def test_a_service_that_is_down_or_has_just_started_keeps_its_attachments(
    foreign: ForeignRuntimes, runtime: str, uptime: float | None, reason: str
) -> None:
    foreign.make_state(runtime)
    foreign.record(runtime)
    foreign.uptime = uptime
    leak = foreign.judge(runtime)
    assert (leak.action, leak.evidence.rpartition(", but ")[2]) == ("kept", reason)


def test_podman_has_no_service_that_must_be_up(foreign: ForeignRuntimes) -> None:
    foreign.make_state("podman")
    foreign.record("podman")
    foreign.uptime = None
    assert foreign.judge("podman").action == "deleted"


@pytest.mark.parametrize("runtime", CONTAINERS)
def test_an_attachment_is_kept_if_its_runtime_has_no_list(foreign: ForeignRuntimes, runtime: str) -> None:
    foreign.record(runtime)
    # Without any state on the node, the record may be one of an old release of Podman.
    leak = foreign.judge(runtime, "podman")
    assert (leak.action, len(leak.proofs)) == ("kept", 2)
    assert f"it is unknown which containers {runtime} has: {runtime} has no list of containers" in leak.evidence


@pytest.mark.parametrize("content", ["", "{", "{}", '["a"]', '[{"names": []}]', "[" * 100000, "\udcff"])
def test_an_attachment_is_kept_if_the_list_of_its_runtime_is_broken(foreign: ForeignRuntimes, content: str) -> None:
    foreign.make_state("crio")
    path = foreign.root / "var/lib/containers/storage/overlay-containers/containers.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    foreign.record("crio")
    leak = foreign.judge("crio")
    assert (leak.action, "it is unknown which containers crio has" in leak.evidence) == ("kept", True)


@pytest.mark.parametrize("content", ["null", "[]"])
def test_an_empty_list_of_containers_proves_a_loss(foreign: ForeignRuntimes, content: str) -> None:
    foreign.make_state("crio")
    path = foreign.root / "var/lib/containers/storage/overlay-containers/containers.json"
    path.write_text(content, encoding="ascii")
    foreign.record("crio")
    assert foreign.judge("crio").action == "deleted"


def test_a_list_that_changes_during_the_run_is_read_again(foreign: ForeignRuntimes) -> None:
    """The container of the second attachment starts while the first one is deleted."""
    foreign.make_state("crio")
    foreign.record("crio", network="a")
    foreign.record("crio", network="b")

    def start(call: object) -> None:
        foreign.make_state("crio", POD)

    foreign.gc.node.executor.plugins["a"] = start
    done = [leak for leak in foreign.gc.collect(owners=["crio"]) if leak.kind == "record"]
    assert [leak.action for leak in done] == ["deleted", "kept"]


def test_a_directory_that_cannot_be_read_is_not_an_empty_list(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign.make_state("containerd", OTHER_POD)
    tasks = foreign.make_directory("run/containerd/io.containerd.runtime.v2.task/k8s.io").parent
    foreign.record("containerd")

    def list_names(path: str, real: t.Callable[[str], list[str]] = os.listdir) -> list[str]:
        if path == str(tasks):
            raise OSError(errno.EIO, "Input/output error")
        return real(path)

    monkeypatch.setattr(os, "listdir", list_names)
    leak = foreign.judge("containerd")
    assert (leak.action, f"cannot list {tasks}: Input/output error" in leak.evidence) == ("kept", True)


@pytest.mark.parametrize("kind", ["fifo", "directory", "loop"])
def test_a_database_that_is_not_a_file_keeps_the_attachments(foreign: ForeignRuntimes, kind: str) -> None:
    path = foreign.make_directory("var/lib/containers/storage") / "db.sql"
    {"fifo": os.mkfifo, "directory": os.mkdir, "loop": lambda own: own.symlink_to(own)}[kind](path)
    foreign.record("podman")
    leak = foreign.judge("podman")
    assert (leak.action, "cannot read the database" in leak.evidence) == ("kept", True)


def test_an_attachment_is_kept_if_the_database_of_podman_is_broken(foreign: ForeignRuntimes) -> None:
    foreign.make_state("podman")
    (foreign.root / "var/lib/containers/storage/db.sql").write_text("no database", encoding="utf-8")
    foreign.record("podman")
    leak = foreign.judge("podman")
    assert (leak.action, "cannot read the database" in leak.evidence) == ("kept", True)


@pytest.mark.parametrize("listed", [POD, OTHER_POD, None])
def test_a_database_that_only_podman_can_read_is_read_by_podman(
    foreign: ForeignRuntimes, program_dir: pathlib.Path, listed: str | None
) -> None:
    path = foreign.root / "var/lib/containers/storage/libpod/bolt_state.db"
    path.parent.mkdir(parents=True)
    path.touch()
    if listed:
        (program_dir / "podman").write_text(f"#!/bin/sh\necho {listed}\n", encoding="ascii")
        (program_dir / "podman").chmod(0o755)
    foreign.record("podman")
    leak = foreign.judge("podman")
    assert leak.action == ("deleted" if listed == OTHER_POD else "kept")
    if listed is None:
        assert f"{path} can be read only by podman, which is not installed" in leak.evidence


@pytest.mark.parametrize("runtime", ["containerd", "nerdctl"])
def test_a_process_of_the_container_keeps_its_attachment(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    foreign.make_state(runtime)
    foreign.record(runtime)
    monkeypatch.setattr(process_table, "find_mentioning", {POD: [4711]}.get)
    leak = foreign.judge(runtime)
    assert (leak.action, len(leak.proofs)) == ("kept", 2)
    assert leak.evidence.endswith(", but process 4711 belongs to the container or works for it")


@pytest.mark.parametrize(
    "mention",
    [
        "/default/c-2\n",
        "/default-c/2/",
        "\0-namespace\0default\0-id\0c-2\0",
        "CNI_CONTAINERID=default-c-2\0",
    ],
)
def test_a_process_of_a_task_of_ctr_names_the_whole_container(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch, mention: str
) -> None:
    foreign.make_state("ctr")
    foreign.record("ctr")
    monkeypatch.setattr(process_table, "find_mentioning", lambda text, ignored: [4711] if text == mention else [])
    leak = foreign.judge("ctr")
    assert (leak.action, leak.evidence.rpartition(", but ")[2]) == (
        "kept",
        "process 4711 belongs to the container or works for it",
    )


@pytest.mark.parametrize("path", ["default/c-2", "default-c/2"])
@pytest.mark.parametrize("state", ["run/containerd", "run/k3s/containerd"])
def test_ctr_lists_a_task_wherever_the_container_id_is_divided(foreign: ForeignRuntimes, path: str, state: str) -> None:
    foreign.make_state("ctr")
    foreign.make_directory(f"{state}/io.containerd.runtime.v2.task/{path}")
    foreign.record("ctr")
    assert foreign.judge("ctr").action == "kept"


def test_an_attachment_of_ctr_does_not_belong_to_containerd(foreign: ForeignRuntimes) -> None:
    foreign.make_state("ctr")
    foreign.record("ctr")
    assert foreign.judge("containerd").evidence.endswith("another runtime, ctr, and owners does not name ctr")


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [("ctr", "are not like those of a known runtime"), ("docker", ", podman, and owners does not name podman")],
)
def test_a_record_without_a_network_namespace_is_not_one_of_ctr_or_docker(
    foreign: ForeignRuntimes, runtime: str, reason: str
) -> None:
    """Other runtimes write the same."""
    foreign.make_state(runtime)
    foreign.record(runtime, netns="", cniArgs=[])
    assert reason in foreign.judge(runtime).evidence


def test_a_single_proof_is_not_enough_to_delete_an_attachment(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime has lost a container that runs."""
    foreign.make_state("containerd")
    foreign.record("containerd")
    foreign.netns.add(NETNS["containerd"])
    monkeypatch.setattr(process_table, "find_by_netns", {NETNS["containerd"]: [4711]}.get)
    leak = foreign.judge("containerd")
    assert (leak.action, leak.proofs) == ("kept", (f"containerd does not list the container {POD}",))
    assert leak.evidence.endswith(f", but process 4711 is in its network namespace {NETNS['containerd']}")


def test_an_attachment_with_one_proof_and_no_counter_evidence_is_kept(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd")
    foreign.netns.add(NETNS["containerd"])
    monkeypatch.setattr(foreign_loss, "search_processes", lambda *dummy: foreign_loss.ContainerSearch())
    leak = foreign.judge("containerd")
    assert (leak.action, leak.proofs) == ("kept", (f"containerd does not list the container {POD}",))
    assert leak.evidence.endswith(", but this is the only proof that the attachment is lost")


def test_a_running_container_causes_no_finding(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd", POD)
    foreign.record("containerd")
    foreign.netns.add(NETNS["containerd"])
    assert foreign.gc.collect(owners=["containerd"], min_age=0) == []


UNKNOWN_RUNTIME: dict[str, t.Any] = {"containerId": "blue", "netns": "", "cniArgs": []}


def test_a_lost_attachment_of_an_unknown_runtime_is_reported_with_the_reason(foreign: ForeignRuntimes) -> None:
    """libcni before 1.2 names the network namespace only in the result."""
    foreign.make_state("containerd")
    sandbox = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "/run/netns/blue"}]}
    path = foreign.record("containerd", **{**UNKNOWN_RUNTIME, "result": sandbox})
    gone = "its network namespace /run/netns/blue is gone"
    leak = foreign.judge("containerd")
    assert (leak.action, leak.proofs, path.exists()) == ("kept", (gone,), True)
    assert f"{gone}, but the record belongs to another runtime, and its container ID" in leak.evidence
    assert foreign.judge().evidence.endswith(f"{gone}, but the record belongs to another runtime")
    foreign.netns.add("/run/netns/blue")
    assert [leak for owners in ((), CONTAINERS) for leak in foreign.gc.collect(owners=owners)] == []


@pytest.mark.parametrize(
    ("runtime", "keys", "reason"),
    [
        ("containerd", UNKNOWN_RUNTIME, "are not like those of a known runtime"),
        ("podman", {"netns": ""}, "owners does not name podman"),
        ("containerd", {"netns": ""}, "containerd is not running"),
    ],
)
def test_an_attachment_without_a_network_namespace_is_reported_unless_it_shows_life(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch, runtime: str, keys: dict[str, t.Any], reason: str
) -> None:
    foreign.make_state(runtime)
    foreign.uptime = None
    foreign.record(runtime, **keys)
    assert foreign.gc.collect(min_age=0) == []
    leak = foreign.judge("containerd")
    idle = "no process belongs to the container or is in its network namespace"
    assert (leak.action, leak.proofs, reason in leak.evidence) == ("kept", (idle,), True)
    addresses = live_namespaces.NetnsAddresses({"10.1.0.2": "/run/netns/blue"}, {})
    unreadable = live_namespaces.NetnsAddresses({}, {"/proc/1/ns/net": CniError(Code.IO_FAILURE, "denied")})
    for known in (addresses, unreadable):
        with monkeypatch.context() as patch:
            patch.setattr(live_namespaces, "addresses", lambda known=known: known)
            assert foreign.gc.collect(owners=["containerd"]) == []
    monkeypatch.setattr(process_table, "find_mentioning", lambda text, ignored: [4711])
    assert foreign.gc.collect(owners=["containerd"]) == []


@pytest.mark.parametrize("is_up", [True, False])
def test_a_namespace_without_a_process_is_reported_if_the_lists_of_its_runtime_prove_nothing(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch, is_up: bool
) -> None:
    """The service is down, or the state directory is one that only an argument of the service sets."""
    foreign.uptime = 3600.0 if is_up else None
    if not is_up:
        foreign.make_state("containerd")
    foreign.record("containerd")
    foreign.netns.add(NETNS["containerd"])
    leak = foreign.judge("containerd", "podman") if is_up else foreign.judge("containerd")
    reason = "it is unknown which containers containerd has" if is_up else "containerd is not running"
    assert (leak.action, len(leak.proofs), f", but {reason}" in leak.evidence) == ("kept", 1, True)
    monkeypatch.setattr(process_table, "find_by_netns", lambda path: [4711])
    assert foreign.gc.collect(owners=["containerd", "podman"]) == []


def test_a_path_of_a_process_that_leads_to_the_network_namespace_of_the_node_is_gone(foreign: ForeignRuntimes) -> None:
    """Another process has got the number of the container's."""
    path = f"/proc/{os.getpid()}/ns/net"
    foreign.netns.add(path)
    foreign.make_state("nerdctl")
    foreign.record("nerdctl", netns=path)
    leak = foreign.judge("nerdctl")
    assert leak.proofs[0] == f"its network namespace {path} is gone: the path leads to that of the node"
    assert leak.action == "deleted"
    assert foreign.netns_of_del() == [("b", ""), ("a", "")]


def test_a_network_namespace_without_container_and_process_is_deleted_when_it_is_old(foreign: ForeignRuntimes) -> None:
    """containerd lists a sandbox only some time after ADD."""
    foreign.make_state("containerd")
    foreign.netns.add(NETNS["containerd"])
    foreign.record("containerd", age=1800)
    leak = foreign.judge("containerd", min_age=0)
    assert (leak.action, len(leak.proofs)) == ("kept", 2)
    assert leak.evidence.endswith("exists, and the record is younger than 3600 s")
    foreign.record("containerd", age=-7200)
    assert foreign.judge("containerd", min_age=0).evidence.endswith("exists, and the record's time is in the future")
    foreign.record("containerd")
    assert foreign.judge("containerd", min_age=0).action == "deleted"
    assert foreign.netns_of_del() == [("b", NETNS["containerd"]), ("a", NETNS["containerd"])]


def test_a_young_record_is_kept(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd", age=10)
    leak = foreign.judge("containerd")
    assert (leak.action, leak.evidence.rpartition(", but ")[2]) == ("kept", "it is younger than 60 s")


def test_a_file_that_is_no_longer_a_namespace_proves_the_loss_of_the_namespace(
    foreign: ForeignRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd")
    monkeypatch.setattr("os.path.lexists", lambda path, real=os.path.lexists: path == NETNS["containerd"] or real(path))
    leak = foreign.judge("containerd")
    assert (leak.action, leak.proofs[0]) == (
        "deleted",
        f"its network namespace {NETNS['containerd']} is not a network namespace any more",
    )


def test_a_lease_that_is_older_than_the_boot_is_kept_for_a_container_that_will_start_again(
    foreign: ForeignRuntimes,
) -> None:
    """After a boot, the namespace is gone and nothing runs. Podman and Nomad start the container under the same ID."""
    for runtime in ("podman", "nomad"):
        foreign.make_state(runtime, CONTAINERS[runtime])
        foreign.record(runtime, network=runtime, age=400 * DAYS)
        found = foreign.gc.collect(runtime, owners=[runtime])
        assert actions(found) == {f"record {runtime}-{CONTAINERS[runtime]}-eth0": "kept"}
        assert (foreign.gc.leases / runtime / "10.1.0.2").exists()


def test_a_lost_attachment_in_valid_attachments_is_kept(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd")
    leak = foreign.judge("containerd", valid=[("net", POD, "eth0")])
    assert (leak.action, leak.evidence.rpartition(", but ")[2]) == ("kept", "valid_attachments lists it")


def test_a_record_that_fits_two_runtimes_needs_both_names(foreign: ForeignRuntimes) -> None:
    """Old releases of Podman wrote the record that containerd writes."""
    foreign.make_state("containerd")
    foreign.make_state("podman")
    foreign.record("containerd")
    leak = foreign.judge("containerd")
    assert leak.evidence.endswith("another runtime, containerd or podman, and owners does not name podman")
    assert foreign.judge("containerd", "podman").action == "deleted"


@pytest.mark.parametrize(
    ("runtime", "keys"),
    [
        ("containerd", {"containerId": "blue"}),
        ("containerd", {"netns": "/run/netns/blue"}),
        ("crio", {"cniArgs": [["K8S_POD_INFRA_CONTAINER_ID", OTHER_POD]]}),
        ("crio", {"cniArgs": []}),
        ("containerd", {"networkName": "nomad"}),
    ],
)
def test_a_record_that_no_known_runtime_writes_is_kept(
    foreign: ForeignRuntimes, runtime: str, keys: dict[str, t.Any]
) -> None:
    foreign.make_state(runtime)
    foreign.record(runtime, network=keys.get("networkName", "net"), **keys)
    leak = foreign.judge(*CONTAINERS)
    assert (leak.action, "are not like those of a known runtime" in leak.evidence) == ("kept", True)


def test_the_lease_of_a_deleted_attachment_has_no_owner(foreign: ForeignRuntimes) -> None:
    """The plugins of the fake node free no address."""
    foreign.make_state("containerd")
    foreign.record("containerd")
    done = actions(foreign.gc.collect(owners=["containerd"]))
    assert done == {f"record net-{POD}-eth0": "deleted", "lease 10.1.0.2": "removed"}
    assert foreign.gc.collect(owners=["containerd"]) == []


def raise_error(call: object) -> None:
    raise OSError("out of order")


@pytest.mark.parametrize("place", ["cache", "multus"])
def test_a_lost_attachment_with_a_record_in_another_directory_is_deleted(foreign: ForeignRuntimes, place: str) -> None:
    foreign.make_state("containerd")
    source = foreign.record("containerd")
    path = pathlib.Path(foreign.gc.node.paths.state_dir, place, "results", source.name)
    path.parent.mkdir(parents=True)
    source.rename(path)
    assert not [leak for leak in foreign.gc.collect() if leak.kind == "record"]
    leak = foreign.judge("containerd")
    assert (leak.action, leak.subject, path.exists()) == ("deleted", str(path), False)
    assert not (foreign.gc.leases / "net" / "10.1.0.2").exists()


def test_a_del_that_failed_for_a_record_in_another_directory_is_repeated_only_while_the_proofs_hold(
    foreign: ForeignRuntimes,
) -> None:
    foreign.make_state("containerd")
    source = foreign.record("containerd")
    path = pathlib.Path(foreign.gc.node.paths.state_dir, "multus", "results", source.name)
    path.parent.mkdir(parents=True)
    source.rename(path)
    working = foreign.gc.node.executor.plugins["a"]
    foreign.gc.node.executor.plugins["a"] = raise_error
    assert actions(foreign.gc.collect(owners=["containerd"]))[f"record net-{POD}-eth0"] == "failed"
    foreign.gc.node.executor.plugins["a"] = working
    foreign.make_state("containerd", POD)
    foreign.gc.node.executor.calls.clear()
    assert actions(foreign.gc.collect(owners=["containerd"])) == {f"record net-{POD}-eth0": "kept"}
    assert (foreign.netns_of_del(), path.exists()) == ([], True)


def test_a_record_in_another_directory_is_kept_if_the_usual_directory_has_one_too(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    source = foreign.record("containerd")
    path = pathlib.Path(foreign.gc.node.paths.state_dir, "multus", "results", source.name)
    path.parent.mkdir(parents=True)
    path.write_bytes(source.read_bytes())
    os.utime(path, (time.time() - DAYS,) * 2)
    os.utime(source)
    found = [leak for leak in foreign.gc.collect(owners=["containerd"]) if leak.kind == "record"]
    assert [leak.evidence.rpartition(", but ")[2] for leak in found] == [
        "it is younger than 60 s",
        f"{source} records it too",
    ]


def test_a_failed_del_keeps_the_record_and_the_next_run_repeats_it(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    path = foreign.record("containerd")
    working = foreign.gc.node.executor.plugins["a"]

    foreign.gc.node.executor.plugins["a"] = raise_error
    (leak,) = (leak for leak in foreign.gc.collect(owners=["containerd"]) if leak.kind == "record")
    assert (leak.action, path.exists()) == ("failed", True)
    foreign.gc.node.executor.plugins["a"] = working
    foreign.uptime = None
    assert actions(foreign.gc.collect(owners=["containerd"]))[f"intent net-{POD}-eth0"] == "kept"
    foreign.uptime = 3600.0
    assert actions(foreign.gc.collect(owners=["containerd"]))[f"intent net-{POD}-eth0"] == "deleted"
    assert not path.exists()


def documented_program() -> str:
    """Return the Python program with which docs/reliability.md puts files back."""
    page = pathlib.Path(__file__).parents[6] / "docs" / "reliability.md"
    (text,) = re.findall(r"python3 - \S+ <<'END'\n(.*?)\nEND\n", page.read_text(encoding="utf-8"), re.DOTALL)
    return str(text)


def test_the_documented_program_restores_a_record_and_its_lease(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    path = foreign.record("containerd")
    path.chmod(0o640)
    lease = foreign.gc.leases / "net" / "10.1.0.2"
    content = path.read_bytes(), lease.read_bytes()
    leak = foreign.judge("containerd")
    assert not lease.exists()
    command = [sys.executable, "-", leak.saved]
    subprocess.run(command, input=documented_program(), check=True, text=True)
    assert (path.read_bytes(), lease.read_bytes()) == content
    assert path.stat().st_mode & 0o777 == 0o640
    again = subprocess.run(command, input=documented_program(), check=False, text=True, capture_output=True)
    assert "FileExistsError" in again.stderr


def test_nothing_is_deleted_if_it_cannot_be_kept(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    path = foreign.record("containerd")
    (foreign.gc.node.cache_dir / "cni.node").mkdir()
    (foreign.gc.node.cache_dir / "cni.node" / "removed").touch()
    (leak,) = (leak for leak in foreign.gc.collect(owners=["containerd"]) if leak.kind == "record")
    assert (leak.action, leak.saved, "cni.node/removed" in str(leak.error)) == ("failed", "", True)
    assert (foreign.netns_of_del(), path.exists()) == ([], True)


def test_a_link_in_place_of_a_state_directory_lists_the_container(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    sandboxes = foreign.root / "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes"
    sandboxes.mkdir()
    (sandboxes / POD).symlink_to("/nonexistent")
    foreign.record("containerd")
    assert foreign.judge("containerd").action == "kept"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("etc/nomad.d/nomad.hcl", 'data_dir  = "/srv/nomad"\n'),
        ("etc/nomad.d/nomad.json", '{"region": "a", "data_dir": "/srv/nomad"}'),
    ],
)
def test_a_configured_state_directory_is_read(foreign: ForeignRuntimes, file: str, text: str) -> None:
    foreign.make_directory(os.path.dirname(file))
    (foreign.root / file).write_text(text, encoding="ascii")
    foreign.make_state("nomad")
    foreign.record("nomad")
    foreign.make_directory(f"srv/nomad/alloc/{ALLOCATION}")
    assert foreign.judge("nomad").action == "kept"
    (foreign.root / f"srv/nomad/alloc/{ALLOCATION}").rmdir()
    assert foreign.judge("nomad").action == "deleted"


def test_docker_lists_a_container_in_its_configured_directory(foreign: ForeignRuntimes) -> None:
    (foreign.make_directory("etc/docker") / "daemon.json").write_text('{"data-root": "/srv/docker"}', encoding="ascii")
    foreign.make_state("docker")
    foreign.record("docker")
    container = foreign.make_directory(f"srv/docker/containers/{POD}")
    assert foreign.judge("docker").action == "kept"
    container.rmdir()
    assert foreign.judge("docker").action == "deleted"


def test_a_network_without_a_file_is_taken_from_its_records_with_its_lease_directory(
    foreign: ForeignRuntimes, tmp_path: pathlib.Path
) -> None:
    """Nomad's own network has no file, and its leases are not in the default directory."""
    data_dir = tmp_path / "var/run/cni"
    ipam = {"type": "host-local", "dataDir": str(data_dir)}
    config = {"cniVersion": "1.0.0", "name": "nomad", "plugins": [{"type": "a", "ipam": ipam}]}
    foreign.record("nomad", network="nomad", config=base64.b64encode(json.dumps(config).encode()).decode())
    foreign.netns.add(NETNS["nomad"])
    foreign.make_state("nomad", ALLOCATION)
    for name, container in (("172.26.64.2", ALLOCATION), ("172.26.64.3", UUID)):
        lease = data_dir / "nomad" / name
        lease.parent.mkdir(parents=True, exist_ok=True)
        lease.write_text(f"{container}\r\neth0", encoding="ascii")
        os.utime(lease, (time.time() - DAYS,) * 2)
    assert foreign.gc.collect_as_predicted() == {"lease 172.26.64.3": "removed"}
    assert (data_dir / "nomad" / "172.26.64.2").exists()


def test_leases_of_nomad_are_found_after_its_last_record_is_gone(foreign: ForeignRuntimes) -> None:
    """Nomad was killed during its only ADD."""
    lease = foreign.make_directory("var/run/cni/nomad") / "172.26.64.2"
    lease.write_text(f"{ALLOCATION}\r\neth0", encoding="ascii")
    os.utime(lease, (time.time() - DAYS,) * 2)
    (foreign.make_directory("var/run/cni/tuning") / "saved").touch()
    assert foreign.gc.collect_as_predicted()["lease 172.26.64.2"] == "removed"
    assert not lease.exists()


def test_crio_lists_pods_in_a_second_file(foreign: ForeignRuntimes) -> None:
    foreign.make_directory("run/crio")
    path = foreign.make_directory("var/lib/containers/storage/overlay-containers") / "volatile-containers.json"
    foreign.record("crio")
    for container, action in ((POD, "kept"), (OTHER_POD, "deleted")):
        path.write_text(json.dumps([{"id": container}]), encoding="utf-8")
        assert foreign.judge("crio").action == action


def test_containerd_without_pods_has_an_empty_list(foreign: ForeignRuntimes) -> None:
    foreign.make_directory("run/containerd/io.containerd.grpc.v1.cri")
    foreign.record("containerd")
    assert foreign.judge("containerd").action == "deleted"


@pytest.mark.parametrize(
    "path",
    [
        "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/{}",
        "var/lib/rancher/rke2/agent/containerd/io.containerd.grpc.v1.cri/sandboxes/{}",
        "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{}",
        "run/containerd/io.containerd.sandbox.controller.v1.shim/k8s.io/{}",
    ],
)
def test_containerd_lists_a_pod_in_each_of_its_directories(foreign: ForeignRuntimes, path: str) -> None:
    foreign.make_state("containerd")
    foreign.make_directory(path.format(POD))
    foreign.record("containerd")
    assert foreign.judge("containerd").action == "kept"
