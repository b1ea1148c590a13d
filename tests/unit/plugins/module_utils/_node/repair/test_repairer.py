# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair writes what an attachment lacks, reports it, and leaves everything else alone."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink, traffic_control
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.repair.conftest import MakeRecordedNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.repair.recorded_node import (
    EVERYTHING,
    FORWARDING,
    RecordedNode,
)

RULES, INTERFACES = frozenset({Resource.RULES}), frozenset({Resource.INTERFACES})
LOST_RULES = ("the masquerade rule of 10.1.0.2 is gone", "the masquerade rule of fd00:1::2 is gone")
LOST_FORWARDING = f"{FORWARDING} of the node is 0, not 1"
LOST_LINK = "interface VETH0 of the node is down"
DRIFT: dict[str, tuple[str, ...]] = {
    "link": (LOST_LINK,),
    "forwarding": (LOST_FORWARDING,),
    "lease": ("the lease of 10.1.0.2 in {0.leases} is gone",),
    "rules": LOST_RULES,
}
LOSSES = [names for number in range(len(DRIFT) + 1) for names in itertools.combinations(DRIFT, number)]


def lose(node: RecordedNode, names: t.Iterable[str]) -> None:
    for name in names:
        getattr(node, f"lose_{name}")()


def drift_of(node: RecordedNode, names: t.Iterable[str]) -> set[str]:
    return {message.format(node) for name in names for message in DRIFT[name]}


@pytest.mark.parametrize("names", LOSSES, ids="+".join)
def test_any_loss_is_reported_and_repaired(recorded_node: RecordedNode, names: tuple[str, ...]) -> None:
    before = recorded_node.state()
    lose(recorded_node, names)
    (repaired,) = recorded_node.repair()
    assert set(repaired.drift) == set(repaired.repaired) == drift_of(recorded_node, names)
    assert (repaired.left, repaired.reason, repaired.error) == ((), "", None)
    assert repaired.changed is bool(names)
    assert recorded_node.state() == before
    assert recorded_node.repair() == [Repair(recorded_node.records[0])]


@pytest.mark.parametrize("resources", [frozenset[Resource](), RULES, INTERFACES, EVERYTHING], ids=len)
@pytest.mark.parametrize("names", LOSSES, ids="+".join)
def test_check_mode_predicts_the_repair_and_writes_nothing(
    recorded_node: RecordedNode, names: tuple[str, ...], resources: frozenset[Resource]
) -> None:
    lose(recorded_node, names)
    before = recorded_node.state()
    predicted = recorded_node.repair(resources=resources, dry_run=True)
    assert recorded_node.state() == before
    assert predicted == recorded_node.repair(resources=resources)


@pytest.mark.parametrize(("resources", "kept"), [(RULES, ["link", "forwarding", "lease"]), (INTERFACES, ["rules"])])
def test_drift_of_resources_that_are_not_selected_is_reported_and_stays(
    recorded_node: RecordedNode, resources: frozenset[Resource], kept: list[str]
) -> None:
    lose(recorded_node, DRIFT)
    (repaired,) = recorded_node.repair(resources=resources)
    assert set(repaired.drift) == drift_of(recorded_node, DRIFT)
    assert set(repaired.left) == drift_of(recorded_node, kept)
    (after,) = recorded_node.repair(dry_run=True)
    assert set(after.drift) == drift_of(recorded_node, kept)


def test_only_what_is_missing_is_written(recorded_node: RecordedNode) -> None:
    lose(recorded_node, ["forwarding"])
    (repaired,) = recorded_node.repair()
    assert repaired.changes == (f"repaired: {LOST_FORWARDING}",)
    assert recorded_node.writes == [f"{FORWARDING} = 1"]


def test_rules_are_reported_as_commands(recorded_node: RecordedNode) -> None:
    rules = [f"-t nat {rule}" for rule in recorded_node.firewall.rules()]
    lose(recorded_node, ["rules"])
    (repaired,) = recorded_node.repair()
    assert sorted(change.partition(" ")[2] for change in repaired.changes) == rules
    assert {change.partition(" ")[0] for change in repaired.changes} == {"iptables", "ip6tables"}


def test_an_attachment_whose_delete_has_begun_is_left_alone(recorded_node: RecordedNode) -> None:
    lose(recorded_node, DRIFT)
    recorded_node.begun.add(recorded_node.records[0].attachment.key)
    before = recorded_node.state()
    (result,) = recorded_node.repair()
    assert (result.reason, result.changes) == ("an operation on it has begun", ())
    assert set(result.left) == drift_of(recorded_node, DRIFT)
    assert recorded_node.state() == before


def test_rules_written_while_a_delete_began_are_removed_again(recorded_node: RecordedNode) -> None:
    """Neither rules nor leases may outlive the attachment."""
    lose(recorded_node, ["lease", "rules"])
    recorded_node.firewall.on_write = lambda: recorded_node.begun.add(recorded_node.records[0].attachment.key)
    (result,) = recorded_node.repair()
    assert (result.reason, result.changes) == ("an operation on it has begun", ())
    assert recorded_node.firewall.rules() == []
    assert [path.name for path in recorded_node.leases.iterdir() if path.name[0].isdigit()] == []


def test_a_lease_is_not_written_to_any_directory_that_a_record_names(
    recorded_node: RecordedNode, tmp_path: pathlib.Path
) -> None:
    (record,) = recorded_node.records
    keys = json.loads(record.config)
    keys["plugins"][0]["ipam"]["dataDir"] = str(tmp_path / "etc")
    elsewhere = record._replace(config=json.dumps(keys).encode())
    (result,) = recorded_node.repair(elsewhere)
    assert (result.left, result.changes) == (result.drift, ())
    assert f"the lease of 10.1.0.2 in {tmp_path}/etc/{record.attachment.network} is gone" in result.drift
    assert not (tmp_path / "etc").exists()


def test_undoing_a_repair_succeeds_if_a_delete_removes_the_rules_meanwhile(recorded_node: RecordedNode) -> None:
    """The rules are listed, the delete removes them, and the commands that remove them fail."""
    lose(recorded_node, ["rules"])
    firewall, key = recorded_node.firewall, recorded_node.records[0].attachment.key

    class Begun(set[Key]):
        def __contains__(self, each: object) -> bool:
            if super().__contains__(each):
                firewall.on_list = firewall.flush
            return super().__contains__(each)

    def begin_delete() -> None:
        recorded_node.begun = Begun([key])
        firewall.write_error = ("-D", CniError(Code.IO_FAILURE, "iptables-restore failed"))

    firewall.on_write = begin_delete
    (result,) = recorded_node.repair()
    assert (result.reason, result.error) == ("an operation on it has begun", None)
    assert firewall.rules() == []


def test_rules_that_outlive_the_attachment_are_an_error(recorded_node: RecordedNode) -> None:
    lose(recorded_node, ["rules"])

    def begin_delete() -> None:
        recorded_node.begun.add(recorded_node.records[0].attachment.key)
        recorded_node.firewall.list_error = CniError(Code.IO_FAILURE, "iptables-save failed")

    recorded_node.firewall.on_write = begin_delete
    (result,) = recorded_node.repair()
    assert result.reason == "an operation on it has begun"
    assert str(result.error) == "the repair could not be undone: iptables-save failed"


@pytest.mark.parametrize("command", ["ADD", "DEL", "CHECK"])
def test_a_container_for_which_a_plugin_changes_something_is_left_alone(
    recorded_node: RecordedNode, command: str
) -> None:
    lose(recorded_node, ["rules"])
    variables = {"CNI_COMMAND": command, "CNI_CONTAINERID": recorded_node.records[0].attachment.container_id}
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env={**os.environ, **variables, **recorded_node.mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as plugin:
        assert plugin.stdout is not None
        assert plugin.stdout.readline()
        (result,) = recorded_node.repair()
        plugin.communicate(b"\n")
    busy = command != "CHECK"
    assert result.reason == ("a plugin is running for its container" if busy else "")
    assert bool(recorded_node.firewall.rules()) is not busy


def test_another_link_in_the_place_of_the_interface_keeps_the_attachment_from_being_repaired(
    recorded_node: RecordedNode,
) -> None:
    lose(recorded_node, DRIFT)
    recorded_node.kernel.state["c1"]["links"]["eth0"]["kind"] = "dummy"
    before = recorded_node.state()
    for dry_run in (True, False):
        (result,) = recorded_node.repair(dry_run=dry_run)
        assert result.reason == "interface eth0 is another link than the recorded one"
        assert (result.left, result.changes) == (result.drift, ())
    assert recorded_node.state() == before


def test_rules_that_cannot_be_listed_do_not_count_as_missing(recorded_node: RecordedNode) -> None:
    lose(recorded_node, ["forwarding"])
    recorded_node.firewall.list_error = CniError(Code.IO_FAILURE, "iptables-save failed")
    expected = "its rules cannot be compared: iptables-save failed"
    for dry_run in (True, False):
        (result,) = recorded_node.repair(dry_run=dry_run)
        assert (result.drift, result.left, result.reason) == ((LOST_FORWARDING,), (), expected)
    (result,) = recorded_node.repair()
    assert (result.drift, result.reason) == ((), expected)


def test_an_attachment_that_fails_does_not_keep_another_from_being_repaired(
    make_recorded_node: MakeRecordedNode,
) -> None:
    node = make_recorded_node("ptp/two-containers")
    before = node.firewall.rules()
    lose(node, ["rules"])
    failure = CniError(Code.IO_FAILURE, "no such target")
    node.firewall.write_error = f'id: \\"{node.records[0].attachment.container_id}\\"', failure
    first, second = node.repair()
    assert (first.error, first.changes, first.left) == (failure, (), first.drift)
    assert (second.error, second.left) == (None, ())
    node.firewall.write_error = None
    node.repair()
    assert node.firewall.rules() == before


def test_a_rule_that_cannot_be_read_does_not_prevent_the_repair_of_others(recorded_node: RecordedNode) -> None:
    before = recorded_node.state()
    recorded_node.lose_rules()
    record = recorded_node.records[0]
    part, *others = firewall_state(RecordedRequests(record))
    odd = part._replace(iptables=t.cast(t.Any, (5,)))
    ((failed, error),) = firewall_repair.write_missing([odd, part, *others])
    assert failed is odd
    assert str(error).startswith("unexpected AttributeError: ")
    assert recorded_node.state() == before


def test_an_attachment_that_cannot_be_compared_is_an_error_of_its_own(
    make_recorded_node: MakeRecordedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_recorded_node("ptp/two-containers")
    take, gone = rtnetlink.snapshot, node.records[0].attachment.netns

    def snapshot(path: str, **keys: t.Any) -> t.Any:
        if path == gone:
            raise CniError(Code.IO_FAILURE, "cannot enter")
        return take(path, **keys)

    monkeypatch.setattr(rtnetlink, "snapshot", snapshot)
    lose(node, ["forwarding"])
    first, second = node.repair()
    assert (str(first.error), first.changes) == ("cannot enter", ())
    assert second.changes == (f"repaired: {LOST_FORWARDING}",)


def test_rates_without_the_library_are_drift_that_names_it(
    make_recorded_node: MakeRecordedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_control, "is_available", lambda: False)
    node = make_recorded_node("bandwidth/both")
    assert [result.lacks_library for result in node.repair()] == [False]
    node.kernel.drop("host", "tc", lambda line: "qdisc" in line)
    lose(node, ["forwarding"])
    (result,) = node.repair()
    assert result.lacks_library
    assert result.left
    assert result.repaired == (LOST_FORWARDING,)
    (result,) = node.repair(resources=RULES)
    assert not result.lacks_library


def test_a_repair_waits_for_another_one_only_if_it_would_write(recorded_node: RecordedNode) -> None:
    lock = str(recorded_node.locks / "repair")
    with hold_lock(lock, exclusive=True, timeout=10, what="the repair of attachments"):
        recorded_node.repair(timeout=0.01)
        lose(recorded_node, ["forwarding"])
        recorded_node.repair(timeout=0.01, dry_run=True)
        recorded_node.repair(timeout=0.01, resources=RULES)
        (result,) = recorded_node.repair(timeout=0.01)
        assert (result.is_deferred, result.error and result.error.code) == (True, Code.TRY_AGAIN)
        assert (result.left, result.changes) == (result.drift, ())
    assert recorded_node.writes == []


def test_resources_that_another_repair_has_written_are_not_reported_as_changes(recorded_node: RecordedNode) -> None:
    present, listings, compared = dict(recorded_node.firewall.tables), [4, 6], threading.Event()

    def count_listing() -> None:
        listings.pop()
        if not listings:
            recorded_node.firewall.on_list = lambda: None
            compared.set()

    lose(recorded_node, ["rules"])
    recorded_node.firewall.on_list = count_listing
    lock = str(recorded_node.locks / "repair")
    results: list[Repair] = []
    repair = threading.Thread(target=lambda: results.extend(recorded_node.repair()))
    with hold_lock(lock, exclusive=True, timeout=10, what="the repair of attachments"):
        repair.start()
        assert compared.wait(10)
        recorded_node.firewall.tables.update(present)
    repair.join(10)
    assert results == [Repair(recorded_node.records[0])]


def test_consequences_of_a_missing_bridge_are_not_listed_as_changes(recorded_node: RecordedNode) -> None:
    del recorded_node.kernel.state["host"]["links"]["cni0"]
    del recorded_node.host_end["master"]
    (result,) = recorded_node.repair(dry_run=True)
    assert result.drift == ("interface cni0 of the node is gone",)
    assert result.changes == ("repaired: interface cni0 of the node is gone",)
