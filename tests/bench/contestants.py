# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is measured: each takes items through ADD, CHECK and DEL and says how many seconds each command took."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys
import time
import typing as t

from ansible_collections.cni.node.tests.bench import bench_engine
from ansible_collections.cni.node.tests.bench.bench_networks import Json
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.support.libcni import Libcni, Report

COMMANDS = ("ADD", "CHECK", "DEL")
# portmap 1.1 and before look for rules of IPv6 that IPv4 does not need. The engine knows better, libcni reports it.
FALSE_ALARM = "could not check ipv6 dnat"


class Contestant(t.Protocol):
    def run(self, command: str, items: t.Sequence[Json]) -> float:
        """The seconds that took; fails where one item failed."""


@dataclasses.dataclass(frozen=True)
class EngineProcess:
    node: BenchNode
    workers: int

    def run(self, command: str, items: t.Sequence[Json]) -> float:
        node = self.node
        directories = [str(node.conf_dir), ":".join(node.plugin_dirs), str(node.cache_dir)]
        argv = [sys.executable, "-m", bench_engine.__name__, *directories, str(self.workers), command]
        done = subprocess.run(argv, input=json.dumps(list(items)), check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"engine, {command}: {done.stderr}")
        return float(done.stdout)


@dataclasses.dataclass(frozen=True)
class LibcniProcess:
    """All items in one process."""

    node: BenchNode
    program: pathlib.Path
    workers: int

    def run(self, command: str, items: t.Sequence[Json]) -> float:
        return succeeded(libcni(self.node, self.program).run(command, items, workers=self.workers)).total_seconds


@dataclasses.dataclass(frozen=True)
class LibcniProcesses:
    """A process for each item, one after another, as a script over cnitool would."""

    node: BenchNode
    program: pathlib.Path

    def run(self, command: str, items: t.Sequence[Json]) -> float:
        runner = libcni(self.node, self.program)
        started = time.monotonic()
        reports = [runner.run(command, [item]) for item in items]
        seconds = time.monotonic() - started
        for report in reports:
            succeeded(report)
        return seconds


def libcni(node: BenchNode, program: pathlib.Path) -> Libcni:
    return Libcni(program, str(node.conf_dir), node.plugin_dirs, str(node.cache_dir))


def succeeded(report: Report) -> Report:
    errors = [error["text"] for error in report.errors if error and FALSE_ALARM not in error["text"]]
    if errors:
        raise RuntimeError(f"libcni: {len(errors)} of {len(report.errors)} items failed: {errors[0]}")
    return report


def cycle(node: BenchNode, contestant: Contestant, items: t.Sequence[Json]) -> t.Callable[[], dict[str, float]]:
    """One turn: through all commands, with the node as it was found."""

    def turn() -> dict[str, float]:
        start_over(node, contestant, items)
        try:
            return {command: contestant.run(command, items) for command in COMMANDS}
        finally:
            node.clean()

    return turn


def start_over(node: BenchNode, contestant: Contestant, items: t.Sequence[Json]) -> None:
    """A clean node on which one attachment has come and gone.

    portmap makes chains that are there for good, and two of them at a time may fail in it.
    """
    node.clean()
    for command in ("ADD", "DEL"):
        contestant.run(command, items[:1])
