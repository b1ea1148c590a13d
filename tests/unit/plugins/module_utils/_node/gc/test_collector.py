# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which records, leases and files are leaks. Leaks in the kernel are tested in tests/integration."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.gc.file_leaks import LeaseFinder
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryCall
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture, actions


def test_attached_containers_have_no_leak(gc: GcFixture) -> None:
    gc.attach("blue", "green")
    assert gc.collect_as_predicted(min_age=0) == {}


def test_an_attachment_is_deleted_when_its_namespace_is_gone(gc: GcFixture) -> None:
    gc.attach("blue", "green")
    gc.node.drop_namespace("blue")
    # The plugins of the fake node free no address, so that is left for the next run.
    (leak,) = gc.collect(dry_run=True)
    assert (leak.kind, leak.action) == ("record", "deleted")
    assert actions(gc.collect()) == {"record net-blue-eth0": "deleted", "lease 10.1.0.4": "removed"}
    assert gc.collect_as_predicted() == {}


def test_a_locked_network_fails_and_the_others_are_collected(gc: GcFixture) -> None:
    gc.attach("blue")
    gc.lease("10.1.9.1", "lost\r\neth0")
    gc.lease("10.1.9.2", "lost\r\neth0", network="other")
    with gc.node.runtime().exclusion.lock_attachment(gc.node.attachment("blue")):
        leaks = gc.collect()
    assert {(leak.kind, leak.network): leak.action for leak in leaks} == {
        ("network", "net"): "failed",
        ("lease", "other"): "removed",
        ("lease directory", "other"): "kept",
    }
    assert "network net is in use by another process" in str(leaks[0].error)
    assert gc.collect_as_predicted()["lease 10.1.9.1"] == "removed"


def test_only_one_run_collects_at_a_time(gc: GcFixture) -> None:
    gc.attach("blue")
    seen: list[str] = []

    def collect_once_more(call: MemoryCall) -> None:
        if call.command == "DEL":
            with pytest.raises(CniError) as caught:
                gc.collect()
            seen.append(str(caught.value))

    gc.node.executor.plugins["a"] = collect_once_more
    gc.node.drop_namespace("blue")
    gc.collect()
    assert "leak collection is in use by another process" in seen[0]


@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_an_interrupted_operation_is_completed(gc: GcFixture, command: str) -> None:
    gc.attach("blue")
    intent = json.loads(gc.node.record_file().read_text(encoding="utf-8"))
    intent["cni.node"]["command"] = command
    gc.node.intent_file().write_text(json.dumps(intent), encoding="utf-8")
    expected = "removed" if command == "ADD" else "deleted"
    assert actions(gc.collect())["intent net-blue-eth0"] == expected
    assert (gc.node.record() is not None, gc.node.intent()) == (command == "ADD", None)


def test_an_interrupted_attachment_that_is_listed_as_valid_is_kept(gc: GcFixture) -> None:
    gc.attach("blue")
    gc.node.record_file().rename(gc.node.intent_file())
    valid = [("net", "blue", "eth0")]
    assert gc.collect_as_predicted(valid=valid) == {"intent net-blue-eth0": "kept"}
    assert actions(gc.collect(valid=[]))["intent net-blue-eth0"] == "deleted"


def test_an_empty_intent_beside_a_record_counts_as_a_del(gc: GcFixture) -> None:
    gc.attach("blue")
    gc.node.intent_file().write_bytes(b"")
    assert actions(gc.collect())["intent net-blue-eth0"] == "deleted"
    assert (gc.node.record_file().exists(), gc.node.intent_file().exists()) == (False, False)


def test_the_directory_of_intents_goes_with_the_last_interrupted_removal(gc: GcFixture) -> None:
    gc.node.make_namespace("blue")
    gc.node.ensure(gc.node.attachment("blue"))
    intent = json.loads(gc.node.record_file().read_text(encoding="utf-8"))
    intent["cni.node"]["command"] = "DEL"
    gc.node.intent_file().write_text(json.dumps(intent), encoding="utf-8")
    assert gc.collect_as_predicted(min_age=0) == {"intent net-blue-eth0": "deleted", "directory intents": "removed"}


def test_an_unreadable_intent_is_reported_and_kept(gc: GcFixture) -> None:
    gc.attach("blue")
    gc.node.intent_file().with_name("net-red-eth0").write_bytes(b"{")
    gc.node.intent_file().with_name("lost-red-eth0").write_bytes(b"{")
    assert gc.collect_as_predicted(min_age=0) == {"intent net-red-eth0": "kept", "intent lost-red-eth0": "kept"}


def test_an_unreadable_record_keeps_the_leases_of_its_network(gc: GcFixture) -> None:
    gc.lease("10.1.9.1", "lost\r\neth0")
    gc.lease("10.1.9.2", "lost\r\neth0", network="other")
    gc.attach("blue")
    gc.node.record_file().with_name("net-red-eth0").write_bytes(b"")
    actions = gc.collect_as_predicted()
    assert (actions["record net-red-eth0"], actions["lease 10.1.9.1"], actions["lease 10.1.9.2"]) == (
        "kept",
        "kept",
        "removed",
    )


def test_a_lease_is_kept_while_a_namespace_has_the_name_of_its_container(gc: GcFixture) -> None:
    gc.node.make_namespace("red")
    gc.lease("10.1.9.1", "red\r\neth0")
    assert gc.collect_as_predicted() == {"lease 10.1.9.1": "kept"}
    gc.node.drop_namespace("red")
    assert gc.collect_as_predicted() == {"lease 10.1.9.1": "removed"}


@pytest.mark.parametrize("content", ["../../etc\r\neth0", "a\0b", "two words", "x" * 10 + "/y"])
def test_a_lease_without_a_container_id_is_kept(gc: GcFixture, content: str) -> None:
    gc.lease("10.1.9.1", content)
    assert gc.collect_as_predicted(min_age=0) == {"lease 10.1.9.1": "kept"}


def test_a_lease_directory_is_kept_while_the_default_conf_dir_has_its_network(
    gc: GcFixture, tmp_path: pathlib.Path
) -> None:
    (gc.leases / "other").mkdir(parents=True)
    (gc.leases / "other" / "lock").touch()
    usual = pathlib.Path(gc.node.paths.conf_dir)
    usual.mkdir(parents=True)
    gc.node.write("other").rename(usual / "10-other.conflist")
    assert gc.collect_as_predicted(min_age=0) == {"lease directory other": "kept"}
    (usual / "10-other.conflist").unlink()
    assert gc.collect_as_predicted(min_age=0) == {"lease directory other": "removed"}


def test_a_lease_directory_is_kept_while_runtimes_read_its_network(gc: GcFixture) -> None:
    for name in ("other", "third"):
        (gc.leases / name).mkdir(parents=True)
        (gc.leases / name / "lock").touch()
    file = gc.node.conf_dir / "20-other.conf"
    file.write_text('{"cniVersion": "1.0.0", "name": "other", "type": "bridge"}', encoding="utf-8")
    done = gc.collect_as_predicted(min_age=0)
    assert done == {"lease directory other": "kept", "lease directory third": "removed"}


def test_a_foreign_file_keeps_a_lease_directory(gc: GcFixture) -> None:
    gc.lease("notes.txt", "mine", network="other")
    assert gc.collect_as_predicted(min_age=0) == {}


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("place", ["cache", "multus"])
def test_attachments_that_another_runtime_records_meanwhile_are_valid(
    gc: GcFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, version: str, place: str
) -> None:
    gc.node.write(cniVersion=version)
    gc.attach("blue")
    records = pathlib.Path(gc.node.paths.state_dir, place, "results")
    records.mkdir(parents=True, exist_ok=True)

    def record(*dummy: object) -> dict[t.Hashable, t.Any]:
        document = json.loads(gc.node.record_file().read_text(encoding="utf-8"))
        del document["cni.node"]
        (records / "net-pod-eth0").write_text(json.dumps({**document, "containerId": "pod"}), encoding="utf-8")
        return {}

    (gc.leases / "net").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(LeaseFinder, "snapshot", record)
    gc.node.executor.calls.clear()
    assert gc.collect() == []
    assert [call for call in gc.node.executor.calls if call.command == "DEL"] == []
    requested = [request["cni.dev/valid-attachments"] for request in gc.node.executor.requests("GC")]
    valid = [{"containerID": name, "ifname": "eth0"} for name in ("blue", "pod")]
    assert requested == ([valid] * 2 if version == "1.1.0" else [])


CONTAINERS = ("a", "bb", "ccc", "dddd")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    recorded=st.sets(st.sampled_from(CONTAINERS)),
    foreign=st.sets(st.sampled_from(CONTAINERS)),
    leased=st.sets(st.sampled_from(CONTAINERS)),
    young=st.sets(st.sampled_from(CONTAINERS)),
    lost=st.sets(st.sampled_from(CONTAINERS)),
)
def test_no_owner_loses_its_lease(
    gc: GcFixture, recorded: set[str], foreign: set[str], leased: set[str], young: set[str], lost: set[str]
) -> None:
    for container in CONTAINERS:
        gc.node.ensure(gc.node.attachment(container), present=False)
    gc.attach(*sorted(recorded))
    for container in recorded & foreign:
        record = gc.node.record_file().with_name(f"net-{container}-eth0")
        document = json.loads(record.read_text(encoding="utf-8"))
        del document["cni.node"]
        record.write_text(json.dumps(document), encoding="utf-8")
    paths = {
        container: gc.lease(f"10.1.9.{len(container)}", f"{container}\r\neth0", age=1 if container in young else 3600)
        for container in leased
    }
    for container in lost:
        (gc.node.netns / container).unlink(missing_ok=True)
    alive = {path.name for path in gc.node.netns.iterdir()}
    gc.collect()
    protected = (recorded & foreign) | (recorded - lost) | young | alive
    assert {container for container, path in paths.items() if path.exists()} == leased & protected
    for path in paths.values():
        path.unlink(missing_ok=True)
    for container in CONTAINERS:
        (gc.node.netns / container).unlink(missing_ok=True)
        gc.node.record_file().with_name(f"net-{container}-eth0").unlink(missing_ok=True)


def test_disable_gc_keeps_the_leases_of_a_network(gc: GcFixture) -> None:
    gc.lease("10.1.9.1", "lost\r\neth0")
    gc.node.write(disableGC=True)
    assert gc.collect_as_predicted() == {"lease 10.1.9.1": "kept"}
    assert actions(gc.collect()) == {"lease 10.1.9.1": "kept"}
    gc.node.write()
    assert actions(gc.collect()) == {"lease 10.1.9.1": "removed"}


@pytest.mark.parametrize("configured", [True, False])
def test_disable_gc_keeps_resources_that_do_not_name_their_network(
    gc: GcFixture, program_dir: pathlib.Path, configured: bool
) -> None:
    """Without a configuration file, the recorded configuration counts."""
    gc.node.write(disableGC=True)
    gc.attach("blue")
    if not configured:
        (gc.node.conf_dir / "10-net.conflist").unlink()
    rule = "-A CNI-FORWARD -{} 10.1.9.1/32 {}-j ACCEPT"
    rules = [rule.format("d", "-m conntrack --ctstate RELATED,ESTABLISHED "), rule.format("s", "")]
    script = "#!/bin/sh\n/bin/cat <<.\n*filter\n" + "\n".join(rules) + "\nCOMMIT\n.\n"
    (program_dir / "iptables-save").write_text(script, encoding="ascii")
    (program_dir / "iptables-save").chmod(0o755)
    (leak,) = (leak for leak in gc.collect() if leak.kind == "rule")
    assert (leak.action, "network net, which it may belong to, sets disableGC" in leak.evidence) == ("kept", True)


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "long"])
def test_only_a_short_regular_file_is_a_lease(gc: GcFixture, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = gc.lease("10.1.9.1", "a" * 5000)
    if kind != "long":
        lease.unlink()
    if kind == "fifo":
        os.mkfifo(lease)
    elif kind == "directory":
        lease.mkdir()
    elif kind == "socket":
        monkeypatch.chdir(lease.parent)  # the path of a socket has 107 bytes at most
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(lease.name)
    assert gc.collect_as_predicted(min_age=0) == {}
    assert lease.exists()


@pytest.mark.parametrize("content", ["secret", "secret\r\neth0", ""])
def test_a_symbolic_link_is_not_a_lease_and_its_target_is_neither_reported_nor_removed(
    gc: GcFixture, tmp_path: pathlib.Path, content: str
) -> None:
    target = tmp_path / "token"
    target.write_text(content, encoding="ascii")
    link = gc.link("10.1.9.1", target)
    assert gc.collect_as_predicted(min_age=0) == {}
    assert (link.is_symlink(), target.exists()) == (True, True)


def test_the_content_of_a_lease_is_not_reported_unless_it_names_an_interface(gc: GcFixture) -> None:
    gc.lease("10.1.9.1", "lost\r\na secret of many words")
    (leak,) = gc.collect()
    assert (leak.action, "secret" in leak.evidence) == ("kept", False)


@pytest.mark.parametrize("name", ["lock", "last_reserved_ip.0"])
def test_a_symbolic_link_keeps_a_lease_directory(gc: GcFixture, tmp_path: pathlib.Path, name: str) -> None:
    gc.link(name, tmp_path / "elsewhere", network="other")
    assert gc.collect_as_predicted(min_age=0) == {}


def test_a_lock_that_is_a_symbolic_link_is_refused(gc: GcFixture, tmp_path: pathlib.Path) -> None:
    lease = gc.lease("10.1.9.1", "lost\r\neth0")
    gc.link("lock", tmp_path / "elsewhere")
    (failed,) = gc.collect()
    assert (failed.action, "cannot open the lock" in str(failed.error)) == ("failed", True)
    assert (lease.exists(), (tmp_path / "elsewhere").exists()) == (True, False)


@pytest.mark.parametrize("above", [False, True])
def test_a_lease_directory_may_be_below_a_symbolic_link_but_not_be_one(
    gc: GcFixture, tmp_path: pathlib.Path, above: bool
) -> None:
    lease = gc.lease("10.1.9.1", "lost\r\neth0")
    data_dir = tmp_path / "elsewhere"
    if above:
        data_dir.symlink_to(gc.leases)
    else:
        data_dir.mkdir()
        (data_dir / "net").symlink_to(gc.leases / "net")
    with lease_directory.hold(str(data_dir / "net")) as directory:
        assert [lease.container_id for lease in directory.leases()] == ["lost"] if directory else not above
    assert lease.exists()


def test_a_lease_is_removed_from_the_directory_in_which_it_was_read(gc: GcFixture, tmp_path: pathlib.Path) -> None:
    mine, precious = gc.lease("10.1.9.1", "lost\r\neth0"), gc.lease("10.1.9.1", "a\r\neth0", network="other")
    with lease_directory.hold(str(mine.parent)) as directory:
        assert directory is not None
        (lease,) = directory.leases()
        mine.parent.rename(tmp_path / "moved")
        mine.parent.symlink_to(precious.parent)
        with directory.lock(0):
            directory.free(lease)
        directory.remove()
    assert (precious.exists(), mine.parent.is_symlink()) == (True, True)
    assert not (tmp_path / "moved" / "10.1.9.1").exists()


def test_a_lease_that_was_rewritten_meanwhile_is_kept(gc: GcFixture) -> None:
    path = gc.lease("10.1.9.1", "lost\r\neth0")
    with lease_directory.hold(str(path.parent)) as directory:
        assert directory is not None
        (lease,) = directory.leases()
        path.write_text("new\r\neth0", encoding="ascii")
        assert f"{path} was changed after it was read" in str(error_of(directory.free, lease))
        path.unlink()
        directory.free(lease)


@pytest.mark.parametrize("name", [os.fsdecode(b"\xff"), "a b", ".hidden"])
def test_a_directory_without_a_network_name_is_ignored(gc: GcFixture, name: str) -> None:
    lease = gc.lease("10.1.9.1", "lost\r\neth0", network=name)
    assert gc.collect_as_predicted(min_age=0) == {}
    assert lease.exists()


def test_a_comment_with_a_path_leads_to_no_other_directory(gc: GcFixture, program_dir: pathlib.Path) -> None:
    lease = gc.lease("10.1.9.1", "lost\r\neth0", network="../precious")
    comment = 'name: \\"../precious\\" id: \\"x\\"'
    rule = f'-A POSTROUTING -s 10.1.9.1/32 -m comment --comment "{comment}" -j CNI-0a1b2c3d4e5f6a7b8c9d0e1f'
    (program_dir / "iptables-save").write_text(
        f"#!/bin/sh\n/bin/cat <<'.'\n*nat\n{rule}\nCOMMIT\n.\n", encoding="ascii"
    )
    (program_dir / "iptables-save").chmod(0o755)
    gc.collect(min_age=0)
    assert lease.exists()
