# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a service is running, and for how long: by systemd, or else by its processes."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import process_table, service

UNITS = ("a.service", "b.service")


@pytest.fixture
def systemctl(program_dir: pathlib.Path) -> t.Callable[..., None]:
    """Return a function that makes a systemctl which shows these units."""

    def make(*states: tuple[str, str, float], status: int = 0) -> None:
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        blocks = [
            f"LoadState={load}\nActiveState={active}\nActiveEnterTimestampMonotonic={int((now - uptime) * 1e6)}"
            for load, active, uptime in states
        ]
        script = "#!/bin/sh\n/bin/cat <<.\n" + "\n\n".join(blocks) + f"\n.\nexit {status}\n"
        (program_dir / "systemctl").write_text(script, encoding="ascii")
        (program_dir / "systemctl").chmod(0o755)

    return make


@pytest.fixture
def program(tmp_path: pathlib.Path) -> t.Iterator[str]:
    """Run a program of a name of its own, and return the name."""
    name = f"prog (1) {os.getpid() % 100000}"[:15]
    shutil.copy(shutil.which("sleep") or "", tmp_path / name)
    with subprocess.Popen([tmp_path / name, "60"]) as process:
        yield name
        process.kill()


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([("loaded", "active", 100.0), ("not-found", "inactive", 0.0)], 100),
        ([("loaded", "active", 100.0), ("loaded", "active", 10.0)], 10),
        ([("loaded", "activating", 100.0), ("not-found", "inactive", 0.0)], None),
        ([("loaded", "inactive", 0.0), ("loaded", "failed", 0.0)], None),
    ],
)
def test_units_of_systemd_tell_the_uptime(
    systemctl: t.Callable[..., None], states: list[tuple[str, str, float]], expected: float | None
) -> None:
    systemctl(*states)
    uptime = service.uptime(UNITS, ["no such program"])
    assert (None if uptime is None else round(uptime / 10) * 10) == expected


def test_a_stopped_unit_is_not_running_although_a_process_has_the_name(
    systemctl: t.Callable[..., None], program: str
) -> None:
    systemctl(("loaded", "inactive", 0.0))
    assert service.uptime(UNITS, [program]) is None


def test_the_youngest_process_counts_beside_an_active_unit(systemctl: t.Callable[..., None], program: str) -> None:
    systemctl(("loaded", "active", 1000.0))
    uptime = service.uptime(UNITS, [program])
    assert uptime is not None
    assert -1 < uptime < 60


@pytest.mark.parametrize("state", [("not-found", "inactive", 0.0), None])
def test_processes_tell_the_uptime_without_a_unit(
    systemctl: t.Callable[..., None], program: str, state: tuple[str, str, float] | None
) -> None:
    systemctl(*([state] if state else []), status=0 if state else 1)
    uptime = service.uptime(UNITS, [program])
    assert uptime is not None
    assert -1 < uptime < 60
    assert service.uptime(UNITS, ["no such program"]) is None


def test_processes_tell_the_uptime_without_systemd(program_dir: pathlib.Path, program: str) -> None:
    assert list(program_dir.glob("systemctl")) == []
    assert service.uptime(UNITS, [program]) is not None


def test_a_process_of_another_user_does_not_count(
    program_dir: pathlib.Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_table, "is_own", lambda pid: False)
    assert list(program_dir.glob("systemctl")) == []
    assert service.uptime(UNITS, [program]) is None


def test_units_that_do_not_run_as_their_file_says_are_idle(program_dir: pathlib.Path) -> None:
    states = {
        "a.service": "LoadState=loaded\nActiveState=active\nNeedDaemonReload=no",
        "b.service": "LoadState=loaded\nActiveState=active\nNeedDaemonReload=yes",
        "c.service": "LoadState=loaded\nActiveState=failed\nNeedDaemonReload=no",
        "d.service": "LoadState=masked\nActiveState=inactive\nNeedDaemonReload=no",
    }
    shown = "\n\n".join(f"Id={name}\n{text}" for name, text in states.items())
    (program_dir / "systemctl").write_text(f"#!/bin/sh\n/bin/cat <<.\n{shown}\n.\n", encoding="ascii")
    (program_dir / "systemctl").chmod(0o755)
    assert service.list_idle_units(list(states)) == {"b.service", "c.service"}
    (program_dir / "systemctl").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    assert service.list_idle_units(list(states)) == set()
