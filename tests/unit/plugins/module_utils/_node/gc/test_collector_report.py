# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every leak that was found or collected is reported, whatever error follows."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import netns_identity
from ansible_collections.cni.node.plugins.module_utils._node.gc import records
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import FINDERS
from ansible_collections.cni.node.plugins.module_utils._node.gc.file_leaks import LeaseFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.own_files import OwnFiles
from ansible_collections.cni.node.plugins.module_utils._node.gc.records import RecordCollector
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import LeaseDirectory
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture, actions

METHODS = (
    *((finder, method) for finder in FINDERS for method in ("snapshot", "find")),
    (LeaseFinder, "snapshot"),
    (LeaseFinder, "find"),
    (OwnFiles, "collect"),
    (RecordCollector, "read_owners"),
)


def breaks(*dummy: t.Any, **options: t.Any) -> t.NoReturn:
    raise RuntimeError("nothing is prepared for this")


def breaks_at(number: int, method: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    calls = []

    def replacement(*given: t.Any, **options: t.Any) -> t.Any:
        calls.append(given)
        return breaks() if len(calls) == number else method(*given, **options)

    return replacement


def failures(leaks: t.Iterable[Leak]) -> dict[str, str]:
    """Return the messages of errors by subject."""
    errors = {leak.subject: leak.error for leak in leaks if leak.error is not None}
    assert {error.code for error in errors.values()} <= {Code.INTERNAL}
    return {subject: error.msg for subject, error in errors.items()}


UNEXPECTED = "unexpected RuntimeError: nothing is prepared for this"


def test_a_firewall_that_cannot_be_listed_is_reported_and_keeps_addresses_without_a_record(
    gc: GcFixture, program_dir: pathlib.Path
) -> None:
    for tool in ("iptables-save", "nft"):
        (program_dir / tool).write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        (program_dir / tool).chmod(0o755)
    gc.node.make_namespace("blue")
    assert gc.node.ensure(gc.node.attachment("blue")).action == "added"
    gc.node.drop_namespace("blue")
    gc.lease("10.1.9.1", "lost\r\neth0")
    leaks = gc.collect("net")
    assert [(leak.kind, leak.subject, leak.action) for leak in leaks[:2]] == [
        (Kind.CHAIN, "iptables", "kept"),
        (Kind.CHAIN, "nft", "kept"),
    ]
    assert actions(leaks[2:]) == {"record net-blue-eth0": "deleted", "lease 10.1.9.1": "kept"}
    assert "a rule of the firewall may lead to its address: iptables-save failed" in leaks[-1].evidence


@pytest.mark.parametrize(("finder", "method"), METHODS)
def test_an_unexpected_error_of_one_finder_keeps_the_report_of_the_others(
    gc: GcFixture, monkeypatch: pytest.MonkeyPatch, finder: type[t.Any], method: str
) -> None:
    gc.attach("blue", "green")
    gc.node.drop_namespace("blue")
    monkeypatch.setattr(finder, method, breaks)
    leaks = gc.collect()
    assert actions(leaks)["record net-blue-eth0"] == "deleted"
    assert ("lease 10.1.0.4" in actions(leaks)) is (finder is not LeaseFinder)
    assert list(failures(leaks).values()) == [UNEXPECTED]


def test_leaks_that_were_removed_before_an_unexpected_error_are_reported(
    gc: GcFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [gc.lease(f"10.1.9.{number}", "lost\r\neth0") for number in range(1, 5)]
    gc.node.write("other")
    other = gc.lease("10.1.9.1", "lost\r\neth0", network="other")
    # The first call is for the lock of host-local.
    monkeypatch.setattr(LeaseFinder, "reason_to_keep", breaks_at(3, LeaseFinder.reason_to_keep))
    leaks = gc.collect("net", "other")
    assert [leak.subject for leak in leaks if leak.collected] == [str(paths[0]), str(other)]
    assert [path.exists() for path in (*paths, other)] == [False, True, True, True, False]
    assert failures(leaks) == {"net": UNEXPECTED}


def test_a_record_that_cannot_be_checked_stays_an_owner(gc: GcFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.attach("blue", "green", "yellow")
    for name in ("blue", "green", "yellow"):
        gc.node.drop_namespace(name)
    monkeypatch.setattr(records, "netns_identity", lambda path: breaks() if "green" in path else netns_identity(path))
    leaks = gc.collect()
    assert failures(leaks) == {"attachment of green (eth0) to network net": UNEXPECTED}
    assert actions(leak for leak in leaks if not leak.error) == {
        "record net-blue-eth0": "deleted",
        "lease 10.1.0.4": "removed",
        "record net-yellow-eth0": "deleted",
        "lease 10.1.0.6": "removed",
    }


def test_a_leak_that_cannot_be_removed_does_not_stop_the_others(gc: GcFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (gc.lease(f"10.1.9.{number}", "lost\r\neth0") for number in (1, 2))
    monkeypatch.setattr(LeaseDirectory, "free", breaks_at(1, LeaseDirectory.free))
    leaks = gc.collect("net")
    assert [leak.action for leak in leaks] == ["failed", "removed"]
    assert (first.exists(), second.exists()) == (True, False)
