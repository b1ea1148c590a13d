# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the engine compared with libcni on a real network, both with the executables of the reference plugins."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.contestants import (
    COMMANDS,
    Contestant,
    EngineProcess,
    LibcniProcess,
    cycle,
)
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

ALIKE, IN_TURN = Target(1.05), Target(0.7)


def chapter(bench: Bench) -> str:
    workers, program, memory, rounds = bench.workers, bench.libcni, bench.node, bench.effort.short_rounds
    disk = memory.with_cache(bench.disk / "cache")
    engine, on_disk = "the engine", "the engine, records on a disk"
    alike, alike_on_disk = f"libcni, {workers} workers", f"libcni, {workers} workers, records on a disk"
    contestants: dict[str, Contestant] = {
        engine: EngineProcess(memory, workers),
        alike: LibcniProcess(memory, program, workers),
        on_disk: EngineProcess(disk, workers),
        alike_on_disk: LibcniProcess(disk, program, workers),
        "libcni, one after another": LibcniProcess(memory, program, 1),
    }
    # The namespaces and the network's file are the same for all.
    items = memory.attachments(bench_networks.example(memory.leases), bench.effort.few)
    nodes = {name: disk if name in (on_disk, alike_on_disk) else memory for name in contestants}
    turns = {name: cycle(nodes[name], contestant, items) for name, contestant in contestants.items()}
    measured = by_key(interleaved(rounds, turns))
    rows: list[list[t.Any]] = [[f"{name}, seconds", *measured[name].values(), ""] for name in (engine, alike)]
    for name in list(contestants)[1:]:
        if name == on_disk:
            continue
        ours = measured[on_disk if name == alike_on_disk else engine]
        target = ALIKE if name in (alike, alike_on_disk) else IN_TURN
        shares = [ours[command] / measured[name][command] for command in COMMANDS]
        rows.append(judged_row(f"share of the time of {name}", shares, target))
    title = f"{bench.effort.few} attachments, {workers} workers of the engine, rounds: {rounds}"
    return f"{title}\n\n{table(['', *COMMANDS, 'target'], rows)}"
