# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments of other runtimes that the user names: what is shown of them, and what keeps them."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, process_table
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc.test_foreign_records import (
    POD,
    ForeignRuntimes,
    raise_error,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture, actions

LOST = ("net", "blue", "eth0")
NETNS = "/run/netns/blue-1"
GONE = f"its network namespace {NETNS} is gone"
IDLE = "no process belongs to the container or is in its network namespace"


@pytest.fixture
def foreign(gc: GcFixture, monkeypatch: pytest.MonkeyPatch) -> ForeignRuntimes:
    return ForeignRuntimes(gc, monkeypatch)


def record_unknown(foreign: ForeignRuntimes, container_id: str = "blue", **keys: t.Any) -> pathlib.Path:
    """Write a record and a lease of a runtime that is not known."""
    return foreign.record("docker", **{"containerId": container_id, "netns": NETNS, "cniArgs": [], **keys})


def release(foreign: ForeignRuntimes, **options: t.Any) -> Leak:
    """Return the only finding about a record after the release of LOST was confirmed."""
    return foreign.judge(**{"release": [LOST], "confirm": True, **options})


def reason(leak: Leak) -> str:
    return leak.evidence.rpartition(", but ")[2] if leak.action == "kept" else ""


@pytest.mark.parametrize("confirm", [False, True])
def test_a_named_attachment_is_released_only_with_confirmation(foreign: ForeignRuntimes, confirm: bool) -> None:
    path = record_unknown(foreign)
    lease = foreign.gc.leases / "net" / "10.1.0.2"
    os.utime(path, (0, 0))
    leak = release(foreign, confirm=confirm)
    assert leak.proofs == (
        GONE,
        IDLE,
        "it has the address 10.1.0.2",
        f"it has the lease {lease}",
        "its record was last changed at 1970-01-01T00:00:00Z",
        "it is named for release although the record belongs to another runtime",
    )
    assert all(proof in leak.evidence for proof in leak.proofs)
    assert (leak.action, path.exists(), lease.exists()) == (
        ("deleted", False, False) if confirm else ("kept", True, True)
    )
    assert reason(leak) == ("" if confirm else "its release needs confirm: true")
    assert bool(leak.saved) == confirm
    assert foreign.netns_of_del() == ([("b", ""), ("a", "")] if confirm else [])


def test_a_named_attachment_has_the_reason_for_doubt_among_its_proofs(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd")
    foreign.uptime = None
    leak = foreign.judge("containerd", release=[("net", POD, "eth0")], confirm=True)
    assert leak.proofs[-1].startswith("it is named for release although containerd is not running")
    assert leak.action == "deleted"


def use_namespace(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    foreign.netns.add(NETNS)


def use_process(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(process_table, "find_mentioning", lambda text, ignored: [4711] if text == "\0blue\0" else [])


def use_address(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    used = live_namespaces.NetnsAddresses({"10.1.0.2": "/proc/7/ns/net"}, {})
    patch.setattr(live_namespaces, "addresses", lambda: used)


def hide_namespace(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    hidden = live_namespaces.NetnsAddresses({}, {"/proc/7/ns/net": CniError(Code.IO_FAILURE, "no permission")})
    patch.setattr(live_namespaces, "addresses", lambda: hidden)


def name_namespace(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    foreign.gc.node.make_namespace("blue")


def record_address_again(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    foreign.netns.add("/run/netns/red")
    record_unknown(foreign, "red", netns="/run/netns/red")


def record_namespace_again(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    path = record_unknown(foreign, "red", network="other", result={"cniVersion": "1.0.0"})
    os.utime(path)


def record_again(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    source = foreign.gc.node.cache_dir / "results" / "net-blue-eth0"
    path = pathlib.Path(foreign.gc.node.paths.state_dir, "multus", "results", source.name)
    path.parent.mkdir(parents=True)
    path.write_bytes(source.read_bytes())


def break_record(foreign: ForeignRuntimes, patch: pytest.MonkeyPatch) -> None:
    (foreign.gc.node.cache_dir / "results" / "net-red-eth0").write_text("{", encoding="ascii")


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (use_namespace, f"its network namespace {NETNS} exists"),
        (use_process, "process 4711 belongs to the container or works for it"),
        (use_address, "10.1.0.2 is in use in the network namespace /proc/7/ns/net"),
        (hide_namespace, "10.1.0.2 may be in use in a network namespace that cannot be inspected: no permission"),
        (name_namespace, "there is a network namespace named blue"),
        (record_address_again, "the attachment of red (eth0) to network net has its address, too"),
        (
            record_namespace_again,
            f"the attachment of red (eth0) to network other has the network namespace {NETNS}, too",
        ),
        (record_again, "more than one file records it"),
        (break_record, "a record that cannot be read may have its address: {results}/net-red-eth0"),
    ],
)
def test_a_named_attachment_that_may_be_in_use_is_kept_with_the_reason(
    foreign: ForeignRuntimes,
    monkeypatch: pytest.MonkeyPatch,
    use: t.Callable[[ForeignRuntimes, pytest.MonkeyPatch], None],
    expected: str,
) -> None:
    path = record_unknown(foreign)
    use(foreign, monkeypatch)
    options: dict[str, t.Any] = {"release": [LOST], "confirm": True}
    predicted = foreign.gc.collect(dry_run=True, **options)
    done = foreign.gc.collect(**options)
    assert [vars(leak) for leak in predicted] == [vars(leak) for leak in done]
    reasons = [reason(leak) for leak in done if leak.subject == str(path)]
    assert reasons == [expected.format(results=foreign.gc.node.cache_dir / "results")]
    assert (path.exists(), foreign.netns_of_del()) == (True, [])


def test_a_named_attachment_that_its_runtime_lists_is_kept(foreign: ForeignRuntimes) -> None:
    """Podman will start the container again."""
    foreign.make_state("podman", POD)
    foreign.record("podman")
    leak = release(foreign, release=[("net", POD, "eth0")])
    assert reason(leak) == f"podman lists the container: {foreign.root}/var/lib/containers/storage/db.sql"


def test_a_young_record_and_a_valid_attachment_are_not_released(foreign: ForeignRuntimes) -> None:
    record_unknown(foreign, age=10)
    assert reason(release(foreign)) == "it is younger than 60 s"
    assert reason(release(foreign, min_age=0, valid=[LOST])) == "valid_attachments lists it"


def test_attachments_with_the_same_network_namespace_are_released_together(foreign: ForeignRuntimes) -> None:
    record_unknown(foreign)
    record_unknown(foreign, network="other")
    done = foreign.gc.collect(release=[LOST, ("other", "blue", "eth0")], confirm=True)
    assert [leak.action for leak in done if leak.kind == "record"] == ["deleted", "deleted"]


def test_an_attachment_that_is_proven_lost_needs_no_confirmation(foreign: ForeignRuntimes) -> None:
    foreign.make_state("containerd")
    foreign.record("containerd")
    leak = foreign.judge("containerd", release=[("net", POD, "eth0")])
    assert (leak.action, len(leak.proofs)) == ("deleted", 3)


def test_a_named_record_in_another_directory_is_released_and_the_others_there_are_not_looked_at(
    foreign: ForeignRuntimes,
) -> None:
    directory = pathlib.Path(foreign.gc.node.paths.state_dir, "multus", "results")
    directory.mkdir(parents=True)
    for container in ("blue", "red"):
        source = record_unknown(foreign, container, netns=f"/run/netns/{container}-1", result={"cniVersion": "1.0.0"})
        source.rename(directory / source.name)
    leak = release(foreign)
    assert (leak.action, leak.subject) == ("deleted", str(directory / "net-blue-eth0"))
    assert [path.name for path in directory.iterdir()] == ["net-red-eth0"]


def test_a_release_that_failed_is_repeated_only_by_name(foreign: ForeignRuntimes) -> None:
    path = record_unknown(foreign)
    working = foreign.gc.node.executor.plugins["a"]
    foreign.gc.node.executor.plugins["a"] = raise_error
    named: dict[str, t.Any] = {"release": [LOST], "confirm": True}
    assert actions(foreign.gc.collect(**named))["record net-blue-eth0"] == "failed"
    foreign.gc.node.executor.plugins["a"] = working
    assert actions(foreign.gc.collect())["intent net-blue-eth0"] == "kept"
    assert actions(foreign.gc.collect(**{**named, "confirm": False}))["intent net-blue-eth0"] == "kept"
    assert actions(foreign.gc.collect(**named))["intent net-blue-eth0"] == "deleted"
    assert not path.exists()
