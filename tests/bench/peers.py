# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the engine compared with libcni on a real network."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.bench.contestants import (
    COMMANDS,
    Contestant,
    EngineProcess,
    LibcniProcess,
    LibcniProcesses,
    cycle,
)
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

ALIKE, IN_TURN = Target(1.05), Target(0.7)

Measured = dict[str, dict[str, Series]]


def chapter(bench: Bench) -> str:
    workers, program, memory = bench.workers, bench.libcni, bench.node
    disk = memory.with_cache(bench.disk / "cache")
    engine, alike = f"the engine, {workers} workers", f"libcni, one process, {workers} workers"
    in_turn, processes = "libcni, one process, one after another", "libcni, a process for each call, one after another"

    def close(node: BenchNode) -> Measured:
        both: dict[str, Contestant] = {
            engine: EngineProcess(node, workers),
            alike: LibcniProcess(node, program, workers),
        }
        return _measured(bench, node, both, bench.effort.many_rounds)

    in_memory, on_disk = close(memory), close(disk)
    others: dict[str, Contestant] = {
        engine: EngineProcess(memory, workers),
        in_turn: LibcniProcess(memory, program, 1),
        processes: LibcniProcesses(memory, program),
    }
    alone = _measured(bench, memory, others, bench.effort.rounds)
    return "\n\n".join(
        [
            f"Seconds for {bench.effort.few} attachments with the records in memory, rounds: {bench.effort.many_rounds}",
            _seconds(in_memory),
            _shares(in_memory, engine, {alike: ALIKE}),
            f"The same with the records on a disk, rounds: {bench.effort.many_rounds}",
            _seconds(on_disk),
            _shares(on_disk, engine, {alike: ALIKE}),
            f"With the records in memory, rounds: {bench.effort.rounds}",
            _seconds(alone),
            _shares(alone, engine, {in_turn: IN_TURN, processes: IN_TURN}),
        ]
    )


def _measured(bench: Bench, node: BenchNode, contestants: t.Mapping[str, Contestant], rounds: int) -> Measured:
    items = node.attachments(bench_networks.example(node.leases), bench.effort.few)
    turns = {name: cycle(node, contestant, items) for name, contestant in contestants.items()}
    return by_key(interleaved(rounds, turns))


def _seconds(measured: Measured) -> str:
    return table(["", *COMMANDS], [[name, *series.values()] for name, series in measured.items()])


def _shares(measured: Measured, engine: str, targets: t.Mapping[str, Target]) -> str:
    rows = [
        judged_row(name, [measured[engine][command] / measured[name][command] for command in COMMANDS], target)
        for name, target in targets.items()
    ]
    return table(["share of the time of", *COMMANDS, "target"], rows)
