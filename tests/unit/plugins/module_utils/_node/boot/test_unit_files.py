# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of units that are killed or fail at any call of systemctl are finished by the next run."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import service
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files
from ansible_collections.cni.node.plugins.module_utils._node.boot.dhcp_units import DhcpUnits
from ansible_collections.cni.node.plugins.module_utils._node.boot.repair_units import (
    CHANGE,
    RepairSettings,
    RepairUnits,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.tests.support.error_of import error_of

LIBRARY = Library("/opt/cni/lib/cni.node", "0" * 64)
RELOADS = RepairSettings("/var/lib/cni", "1min")
WATCHES = RELOADS._replace(events=frozenset((CHANGE,)))
RESTORE, REPAIR, DHCP = "restore", "repair", "dhcp"
# What a run wants first, and then; the second run is interrupted.
STEPS = {
    "restoration is set up": (RESTORE, None, "/a"),
    "restoration changes": (RESTORE, "/a", "/b"),
    "restoration is removed": (RESTORE, "/a", None),
    "repair is set up": (REPAIR, None, RELOADS),
    "an interval changes": (REPAIR, RELOADS, RELOADS._replace(interval="30s")),
    "a service that watches changes": (REPAIR, WATCHES, WATCHES._replace(owners=("podman",))),
    "a service replaces a timer": (REPAIR, RELOADS, WATCHES),
    "repair is removed": (REPAIR, RELOADS, None),
    "a daemon is set up": (DHCP, None, "/opt/cni/bin/dhcp"),
    "a daemon changes": (DHCP, "/opt/cni/bin/dhcp", "/usr/lib/cni/dhcp"),
    "a daemon is removed": (DHCP, "/opt/cni/bin/dhcp", None),
}


class Killed(BaseException):
    """The end of a run."""


class FakeSystemd:
    """Knows the units that systemd has read, and that run; the call of systemctl with the number `stop_at` raises `fault`."""

    def __init__(self, paths: NodePaths) -> None:
        self._paths = paths
        self.calls: list[str] = []
        self.stop_at: int | None = None
        self.fault: BaseException = Killed()
        self.read: dict[str, str] = {}
        self.run: dict[str, str] = {}

    def systemctl(self, dummy: NodePaths, verb: str, *units: str) -> None:
        if len(self.calls) == self.stop_at:
            self.stop_at = None
            raise self.fault
        self.calls.append(" ".join((verb, *units)))
        if verb == "daemon-reload":
            self.read = self.files()
        elif verb == "stop":
            self.run = {name: text for name, text in self.run.items() if name not in units}
        else:
            self.run = {**self.run, **{name: self.read[name] for name in units}}

    def files(self) -> dict[str, str]:
        """Return the units and the targets of links on disk, by their names in the directory of units."""
        top = pathlib.Path(self._paths.unit_dir)
        paths = [path for path in top.rglob("*") if path.is_symlink() or path.is_file()]
        return {
            str(path.relative_to(top)): os.readlink(path) if path.is_symlink() else path.read_text(encoding="utf-8")
            for path in paths
        }

    def list_idle(self, units: t.Sequence[str]) -> set[str]:
        files = self.files()
        return {name for name in units if name not in self.run or self.read.get(name) != files.get(name)}


@pytest.fixture
def systemd(paths: NodePaths, monkeypatch: pytest.MonkeyPatch) -> FakeSystemd:
    os.makedirs(paths.systemd_dir)
    fake = FakeSystemd(paths)
    monkeypatch.setattr(unit_files, "systemctl", fake.systemctl)
    monkeypatch.setattr(service, "list_idle_units", fake.list_idle)
    return fake


def settle(paths: NodePaths, kind: str, wanted: t.Any) -> list[FileChange]:
    """Plan and carry out what a run wants of one kind of unit."""
    if kind == RESTORE:
        restoration = SystemdUnit(paths)
        changes = restoration.plan_changes([wanted] if wanted else [], LIBRARY)
        restoration.carry_out(changes)
    elif kind == REPAIR:
        repair = RepairUnits(paths, LIBRARY)
        changes = repair.plan_changes(wanted)
        repair.carry_out(changes)
    else:
        daemon = DhcpUnits(paths)
        changes = daemon.plan_changes(wanted)
        daemon.carry_out(changes)
    return [change for change in changes if change.path != paths.dhcp_socket]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("fault", [Killed(), CniError(Code.IO_FAILURE, "systemctl failed")], ids=["killed", "failed"])
def test_the_next_run_finishes_an_interrupted_one(
    paths: NodePaths, systemd: FakeSystemd, step: str, fault: BaseException
) -> None:
    kind, first, second = STEPS[step]
    settle(paths, kind, first)
    systemd.calls.clear()
    settle(paths, kind, second)
    wanted, number = (systemd.files(), systemd.read, systemd.run), len(systemd.calls)
    assert wanted[0] == wanted[1]
    for position in range(number):
        settle(paths, kind, first)
        systemd.calls.clear()
        systemd.stop_at, systemd.fault = position, fault
        with pytest.raises(type(fault)):
            settle(paths, kind, second)
        assert settle(paths, kind, second) != [] or kind == DHCP
        assert (systemd.files(), systemd.read, systemd.run) == wanted
        assert settle(paths, kind, second) == []
        assert not os.path.exists(paths.reload_mark)


def test_a_run_for_other_units_only_reloads_what_a_killed_one_left(paths: NodePaths, systemd: FakeSystemd) -> None:
    settle(paths, REPAIR, WATCHES)
    systemd.calls.clear()
    systemd.stop_at = 0
    changed = WATCHES._replace(owners=("podman",))
    with pytest.raises(Killed):
        settle(paths, REPAIR, changed)
    pending = settle(paths, RESTORE, None)
    assert [(change.path, change.action) for change in pending] == [(paths.reload_mark, "reloaded")]
    assert systemd.calls == ["daemon-reload"]
    assert settle(paths, RESTORE, None) == []
    assert [change.action for change in settle(paths, REPAIR, changed)] == ["started"]
    assert systemd.run == {"cni-node-watch.service": systemd.files()["cni-node-watch.service"]}


def test_an_error_says_what_was_changed_before_it(paths: NodePaths, systemd: FakeSystemd) -> None:
    settle(paths, REPAIR, RELOADS)
    systemd.calls.clear()
    systemd.stop_at, systemd.fault = 1, CniError(Code.IO_FAILURE, "systemctl daemon-reload failed", "no connection")
    error = error_of(settle, paths, REPAIR, RELOADS._replace(interval="never"))
    timer = "cni-node-repair.timer"
    files = f"{paths.unit_dir}/{timer}, {paths.unit_dir}/timers.target.wants/{timer}"
    assert error.msg == "systemctl daemon-reload failed"
    assert error.details == (
        f"no connection\nbefore that, this run has stopped {timer} and changed {files}; run it again"
    )


def test_a_node_without_a_running_systemd_has_nothing_to_reload(paths: NodePaths) -> None:
    settle(paths, RESTORE, "/a")
    assert not os.path.exists(paths.reload_mark)
