# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which services run, and for how long, with systemd or without."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import process_table, program

_PROPERTIES = ("Id", "LoadState", "ActiveState", "ActiveEnterTimestampMonotonic", "NeedDaemonReload")
# Fields of /proc/PID/stat after the name of the program, which may contain spaces and parentheses.
_START_FIELD = 19


def uptime(units: t.Sequence[str], programs: t.Collection[str]) -> float | None:
    """Return for how many seconds a service has been running, or None if it is not running.

    Its systemd units decide, if systemd has one of them, otherwise its processes. The youngest unit or process counts.

    Args:
        units: The units that may run the service.
        programs: Names of its processes; only those of this user count, as others can choose any name.
    """
    started = _unit_uptimes(units)
    if started is not None and not started:
        return None
    return min([*(started or ()), *_process_uptimes(programs)], default=None)


def unit_states(units: t.Sequence[str]) -> dict[str, bool]:
    """Return whether each of the units is active, without those that systemd does not have; none if it is not running."""
    return {state["Id"]: _is_active(state) for state in _show(units)}


def list_idle_units(units: t.Sequence[str]) -> set[str]:
    """Return those of the units that are not active, or that systemd has not read since their file changed.

    Units that systemd does not have are left out; if it is not running, all are.
    """
    return {
        state.get("Id", "") for state in _show(units) if not _is_active(state) or state.get("NeedDaemonReload") == "yes"
    }


def _unit_uptimes(units: t.Sequence[str]) -> list[float] | None:
    """Return the uptime of each active unit; None if systemd is not running or has none of the units."""
    loaded = _show(units)
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    started = [int(state.get("ActiveEnterTimestampMonotonic") or 0) / 1e6 for state in loaded if _is_active(state)]
    return [now - seconds for seconds in started] if loaded else None


def _show(units: t.Sequence[str]) -> list[dict[str, str]]:
    """Return the properties of those of the units that systemd has."""
    systemctl = program.find("systemctl")
    if systemctl is None or not units:
        return []
    try:
        shown = program.output([systemctl, "show", f"--property={','.join(_PROPERTIES)}", *units])
    except CniError:  # this system was started without systemd
        return []
    states = [dict(line.split("=", 1) for line in block.split("\n") if "=" in line) for block in shown.split("\n\n")]
    return [state for state in states if state.get("LoadState") == "loaded"]


def _is_active(state: t.Mapping[str, str]) -> bool:
    return state.get("ActiveState") == "active"


def _process_uptimes(programs: t.Collection[str]) -> t.Iterator[float]:
    """Yield the uptime of each process of this user that runs one of the programs."""
    now, ticks = time.clock_gettime(time.CLOCK_BOOTTIME), os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace", newline="\n") as stream:
                command, dummy, fields = stream.read().partition("(")[2].rpartition(")")
            if command in programs and process_table.is_own(int(name)):
                yield now - int(fields.split()[_START_FIELD]) / ticks
