# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contestants: each runs ADD, CHECK and DEL for items and returns the seconds of a command."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_engine
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.support.libcni import Libcni, Report
from ansible_collections.cni.node.tests.support.libraries import describe_checkout, install

COMMANDS = ("ADD", "CHECK", "DEL")
# portmap up to 1.1 expects IPv6 rules for IPv4 mappings. The engine ignores this error, libcni reports it.
FALSE_ALARM = "could not check ipv6 dnat"


class Contestant(t.Protocol):
    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        """Return the seconds that the command took; raise an error if an item failed."""


@dataclasses.dataclass(frozen=True)
class EngineProcess:
    """The engine with all items in one process, with executables or with built-in plugins."""

    node: BenchNode
    workers: int
    builtin: str = "never"

    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        return self.measure(command, items)[0]

    def measure(self, command: str, items: t.Sequence[JsonObject]) -> tuple[float, float]:
        """Return the seconds that the command took, and the processor seconds of the process and of all that it has run."""
        node = self.node
        before = _processor_seconds()
        directories = [str(node.conf_dir), ":".join(node.plugin_dirs), str(node.cache_dir)]
        argv = [sys.executable, bench_engine.__file__, *directories, str(self.workers), self.builtin, command]
        # Modules, too, run from the library, whose packages Python finds sooner than those of a collection.
        environ = {**os.environ, "PYTHONPATH": install(describe_checkout()).path}
        done = subprocess.run(
            argv, input=json.dumps(list(items)), check=False, capture_output=True, text=True, env=environ
        )
        if done.returncode != 0:
            raise RuntimeError(f"engine, {command}: {done.stderr}")
        return float(done.stdout), _processor_seconds() - before


def _processor_seconds() -> float:
    """Return the time of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclasses.dataclass(frozen=True)
class LibcniProcess:
    """libcni with all items in one process."""

    node: BenchNode
    program: pathlib.Path
    workers: int

    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        return succeeded(libcni(self.node, self.program).run(command, items, workers=self.workers)).total_seconds


def libcni(node: BenchNode, program: pathlib.Path) -> Libcni:
    return Libcni(program, str(node.conf_dir), node.plugin_dirs, str(node.cache_dir))


def succeeded(report: Report) -> Report:
    errors = [error["text"] for error in report.errors if error and FALSE_ALARM not in error["text"]]
    if errors:
        raise RuntimeError(f"libcni: {len(errors)} of {len(report.errors)} items failed: {errors[0]}")
    return report


def cycle(
    node: BenchNode, contestant: Contestant, items: t.Sequence[JsonObject], commands: t.Iterable[str] = COMMANDS
) -> t.Callable[[], dict[str, float]]:
    """Return one turn: the commands in their order, on a clean node."""

    def turn() -> dict[str, float]:
        start_over(node, contestant, items)
        try:
            return {command: contestant.run(command, items) for command in commands}
        finally:
            node.clean()

    return turn


def start_over(node: BenchNode, contestant: Contestant, items: t.Sequence[JsonObject]) -> None:
    """Clean the node, then add and delete one attachment.

    portmap creates chains that stay; two plugins that create them at the same time may fail.
    """
    node.clean()
    for command in ("ADD", "DEL"):
        contestant.run(command, items[:1])
