# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The units that repair attachments without a playbook."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import service
from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_units, unit_files, watch_unit
from ansible_collections.cni.node.plugins.module_utils._node.boot.repair_units import (
    CHANGE,
    NEVER,
    RELOAD,
    RepairSettings,
    RepairUnits,
    check_interval,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit

LIBRARY = Library("/opt/cni/lib/cni.node", "0" * 64)
SETTINGS = RepairSettings("/var/lib/cni", "1min")
SERVICE, RELOAD_SERVICE, TIMER = "cni-node-repair.service", "cni-node-repair-reload.service", "cni-node-repair.timer"


@pytest.fixture
def units(paths: NodePaths) -> RepairUnits:
    return RepairUnits(paths, LIBRARY)


@pytest.fixture
def systemctl(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls of systemctl."""
    calls: list[str] = []
    monkeypatch.setattr(unit_files, "systemctl", lambda dummy, *arguments: calls.append(" ".join(arguments)))
    return calls


def settle(units: RepairUnits, settings: RepairSettings | None) -> dict[str, str]:
    changes = units.plan_changes(settings)
    units.carry_out(changes)
    assert units.plan_changes(settings) == []
    return {os.path.basename(change.path): change.action for change in changes}


def lines(paths: NodePaths, name: str) -> list[str]:
    return (pathlib.Path(paths.unit_dir) / name).read_text(encoding="utf-8").splitlines()


def files_below(root: pathlib.Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if not path.is_dir() or path.is_symlink()]


def test_the_units_are_written_once_and_removed_completely(
    root: pathlib.Path, units: RepairUnits, systemctl: list[str]
) -> None:
    created = settle(units, SETTINGS)
    assert set(created) == {SERVICE, RELOAD_SERVICE, TIMER}
    assert set(created.values()) == {"created"}
    assert systemctl == ["daemon-reload", f"restart {RELOAD_SERVICE} {TIMER}"]
    systemctl.clear()
    assert settle(units, None) == dict.fromkeys(created, "removed")
    assert systemctl == [f"stop {TIMER} {RELOAD_SERVICE}", "daemon-reload"]
    assert files_below(root) == []
    assert settle(units, None) == {}


def test_the_service_runs_whenever_a_firewall_starts(units: RepairUnits, paths: NodePaths) -> None:
    settle(units, SETTINGS)
    wanted_by = sorted(path.parent.name for path in pathlib.Path(paths.unit_dir).glob(f"*.wants/{SERVICE}"))
    assert wanted_by == sorted(f"{name}.wants" for name in (*repair_units.FIREWALLS, "multi-user.target"))
    text = lines(paths, SERVICE)
    (after,) = (line for line in text if line.startswith("After="))
    assert {"cni-node-restore.service", *repair_units.FIREWALLS} < set(after[len("After=") :].split())
    # Otherwise it would stay active, and neither a timer nor Wants= would start it again.
    assert not [line for line in text if line.startswith("RemainAfterExit=")]
    assert "Type=oneshot" in text
    # Six reloads within ten seconds are allowed.
    assert "StartLimitIntervalSec=0" in text


def test_a_reload_of_a_firewall_reaches_the_service(units: RepairUnits, paths: NodePaths) -> None:
    settle(units, SETTINGS)
    text = lines(paths, RELOAD_SERVICE)
    firewalls = " ".join(repair_units.FIREWALLS)
    # systemd passes a reload on to active units only, in the order of After=.
    assert {f"ReloadPropagatedFrom={firewalls}", f"After={firewalls}", "RemainAfterExit=yes"} < set(text)
    (reload,) = (line for line in text if line.startswith("ExecReload="))
    assert reload.endswith(f"/systemctl start --no-block {SERVICE}")


def test_the_service_repairs_what_the_task_selects(units: RepairUnits, paths: NodePaths) -> None:
    settings = SETTINGS._replace(networks=("a", "b"), resources=("rules",), cache_dir="/var/a b")
    settle(units, settings)
    (command,) = (line for line in lines(paths, SERVICE) if line.startswith("ExecStart="))
    assert command.endswith(f' -I {LIBRARY.path} repair --network a --network b --resource rules "/var/a b"')


def test_the_timer_follows_the_interval(units: RepairUnits, paths: NodePaths, systemctl: list[str]) -> None:
    settle(units, SETTINGS)
    systemctl.clear()
    assert settle(units, SETTINGS._replace(interval="30s")) == {TIMER: "changed"}
    assert systemctl == ["daemon-reload", f"restart {TIMER}"]
    assert {"OnBootSec=30s", "OnUnitActiveSec=30s"} < set(lines(paths, TIMER))
    systemctl.clear()
    assert settle(units, SETTINGS._replace(interval=NEVER)) == {TIMER: "removed"}
    assert systemctl == [f"stop {TIMER}", "daemon-reload"]
    assert not list(pathlib.Path(paths.unit_dir).rglob(TIMER))


def test_another_release_changes_the_service_alone(units: RepairUnits, paths: NodePaths, systemctl: list[str]) -> None:
    settle(units, SETTINGS)
    systemctl.clear()
    other = RepairUnits(paths, Library(LIBRARY.top, "1" * 64))
    assert settle(other, SETTINGS) == {SERVICE: "changed"}
    assert systemctl == ["daemon-reload"]


WATCH = "cni-node-watch.service"


def list_wants(paths: NodePaths) -> set[str]:
    return {f"{path.parent.name}/{path.name}" for path in pathlib.Path(paths.unit_dir).glob("*.wants/*")}


@pytest.mark.parametrize(
    ("events", "names"),
    [
        ({"boot"}, {SERVICE}),
        ({"reload"}, {SERVICE, RELOAD_SERVICE, TIMER}),
        ({"boot", "reload"}, {SERVICE, RELOAD_SERVICE, TIMER}),
        ({"change"}, {WATCH}),
        ({"boot", "change"}, {SERVICE, WATCH}),
        ({"boot", "reload", "change"}, {SERVICE, RELOAD_SERVICE, WATCH}),
    ],
)
def test_each_event_has_its_units(
    root: pathlib.Path, units: RepairUnits, paths: NodePaths, events: set[str], names: set[str]
) -> None:
    settings = SETTINGS._replace(events=frozenset(events))
    assert set(settle(units, settings)) == names
    wants = list_wants(paths)
    assert ("multi-user.target.wants/cni-node-repair.service" in wants) == ("boot" in events)
    assert ("firewalld.service.wants/cni-node-repair.service" in wants) == ("reload" in events)
    assert (f"multi-user.target.wants/{WATCH}" in wants) == ("change" in events)
    settle(units, SETTINGS)
    settle(units, settings)
    assert list_wants(paths) == wants
    settle(units, None)
    assert files_below(root) == []


def test_the_service_that_watches_is_restarted_when_its_unit_changes(units: RepairUnits, systemctl: list[str]) -> None:
    settings = SETTINGS._replace(events=frozenset(("change",)))
    settle(units, settings)
    assert systemctl == ["daemon-reload", f"restart {WATCH}"]
    systemctl.clear()
    settle(units, settings._replace(owners=("podman",)))
    assert systemctl == ["daemon-reload", f"restart {WATCH}"]
    systemctl.clear()
    settle(units, None)
    assert systemctl == [f"stop {WATCH}", "daemon-reload"]


def test_the_service_that_watches_gets_what_the_task_selects(units: RepairUnits, paths: NodePaths) -> None:
    settings = SETTINGS._replace(
        networks=("a",), owners=("podman",), resources=("rules",), cache_dir="/var/a b", events=frozenset(("change",))
    )
    settle(units, settings)
    text = lines(paths, WATCH)
    (command,) = (line for line in text if line.startswith("ExecStart="))
    assert command.endswith(f' -I {LIBRARY.path} watch --network a --owner podman --resource rules "/var/a b"')
    (writable,) = (line for line in text if line.startswith("ReadWritePaths="))
    assert writable == f'ReadWritePaths=-/run -{paths.state_dir} "-/var/a b"'


def test_each_capability_has_a_reason(units: RepairUnits, paths: NodePaths) -> None:
    settle(units, SETTINGS._replace(events=frozenset(("change",))))
    text = lines(paths, WATCH)
    (bounds,) = (line for line in text if line.startswith("CapabilityBoundingSet="))
    reasons = [line.split()[1].rstrip(":") for line in text if line.startswith("# CAP_")]
    assert sorted(bounds.partition("=")[2].split()) == sorted(reasons)


def test_units_that_do_not_run_are_started_by_the_next_run(
    units: RepairUnits, paths: NodePaths, systemctl: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS._replace(events=frozenset((RELOAD, CHANGE)))
    settle(units, settings)
    os.makedirs(paths.systemd_dir)
    idle = {RELOAD_SERVICE, watch_unit.SERVICE, SERVICE}
    monkeypatch.setattr(service, "list_idle_units", idle.intersection)
    changes = units.plan_changes(settings)
    assert [(os.path.basename(change.path), change.action) for change in changes] == [
        (RELOAD_SERVICE, "started"),
        (watch_unit.SERVICE, "started"),
    ]
    systemctl.clear()
    units.carry_out(changes)
    assert systemctl == ["daemon-reload", f"restart {RELOAD_SERVICE} {watch_unit.SERVICE}"]
    # Their files are written or removed anyway.
    removed = units.plan_changes(None)
    assert {change.action for change in removed} == {"removed"}


def test_restoration_and_repair_are_independent(unit: SystemdUnit, units: RepairUnits) -> None:
    unit.carry_out(unit.plan_changes(["/var/lib/cni"], LIBRARY))
    settle(units, SETTINGS)
    unit.carry_out(unit.plan_changes([], None))
    assert units.plan_changes(SETTINGS) == []
    unit.carry_out(unit.plan_changes(["/var/lib/cni"], LIBRARY))
    settle(units, None)
    assert unit.plan_changes(["/var/lib/cni"], LIBRARY) == []


@pytest.mark.parametrize("interval", ["1min", "30s", "5", "1h 30min", "1h30m", "2 days", NEVER])
def test_a_time_span_of_systemd_is_accepted(interval: str) -> None:
    assert check_interval(interval) == interval


@pytest.mark.parametrize("interval", ["", "0", "0min", "soon", "1min\nExecStart=/bin/false", "-1min", "1 %i", "1min "])
def test_any_other_interval_is_refused(interval: str) -> None:
    with pytest.raises(CniError, match="expected: a time span of systemd"):
        check_interval(interval)
