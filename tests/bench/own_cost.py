# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the engine's own time, without the plugins' processes."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.bare import Bare
from ansible_collections.cni.node.tests.bench.contestants import COMMANDS, EngineProcess, LibcniProcess, cycle
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

PER_CALL, GROWTH = Target(1.0), Target(1.1)


def chapter(bench: Bench) -> str:
    effort = bench.effort
    # Enough calls to make one-time loading negligible.
    count, rounds = effort.many // 2, effort.many_rounds
    measured = {
        "one plugin that does nothing": bench_networks.noop(1),
        "three plugins that do nothing": bench_networks.noop(3),
        "loopback": bench_networks.loopback(),
    }
    engine_rows: list[t.Sequence[object]] = []
    libcni_rows: list[t.Sequence[object]] = []
    for name, network in measured.items():
        engine, libcni = _over_bare(bench, network, count, rounds)
        engine_rows.append(judged_row(name, engine, PER_CALL))
        libcni_rows.append([name, *libcni])
    kernel_reads = _measure_kernel_reads(bench, bench_networks.loopback(), count, rounds)
    engine_rows.append(["of which reads the kernel, per attachment", "", kernel_reads, "", ""])
    return "\n\n".join(
        [
            "Milliseconds per plugin call of the engine, over the bare processes, "
            f"{count} attachments, rounds: {rounds}",
            table(["network", *COMMANDS, "target"], engine_rows),
            "The same of libcni:",
            table(["network", *COMMANDS], libcni_rows),
            f"Milliseconds per attachment in total, one plugin that does nothing, by attachments per call, rounds: {rounds}",
            _growth(bench, rounds),
        ]
    )


def _over_bare(bench: Bench, network: JsonObject, count: int, rounds: int) -> tuple[list[Series], list[Series]]:
    node, items = bench.node, bench.node.attachments(network, count)
    turns = {
        "engine": cycle(node, EngineProcess(node, 1), items),
        "libcni": cycle(node, LibcniProcess(node, bench.libcni, 1), items),
        "bare": cycle(node, Bare(node, network, 1), items),
    }
    measured = by_key(interleaved(rounds, turns))
    calls = count * len(network["plugins"])

    def over_bare(name: str) -> list[Series]:
        return [(measured[name][command] - measured["bare"][command]) * (1000 / calls) for command in COMMANDS]

    return over_bare("engine"), over_bare("libcni")


def _measure_kernel_reads(bench: Bench, network: JsonObject, count: int, rounds: int) -> Series:
    """Return the milliseconds of the kernel comparison per attachment: the time of `drift` less that of `never`."""
    node = bench.node
    items, engine = node.attachments(network, count), EngineProcess(node, 1)
    node.clean()
    engine.run("ADD", items)
    turns = {command: functools.partial(engine.run, command, items) for command in ("DRIFT", "NOTHING")}
    given = interleaved(rounds, turns)
    engine.run("DEL", items)
    node.clean()
    return (Series(tuple(given["DRIFT"])) - Series(tuple(given["NOTHING"]))) * (1000 / count)


def _growth(bench: Bench, rounds: int) -> str:
    node, many = bench.node, bench.effort.many
    items = node.attachments(bench_networks.noop(1), many)
    sizes = (many // 100, many // 10, many)
    turns = {str(size): cycle(node, EngineProcess(node, 1), items[:size]) for size in sizes}
    measured = by_key(interleaved(rounds, turns))
    each = {size: [measured[str(size)][command] * (1000 / size) for command in COMMANDS] for size in sizes}
    rows: list[t.Sequence[object]] = [[size, *series, ""] for size, series in each.items()]
    growth = [last / before for last, before in zip(each[sizes[2]], each[sizes[1]])]
    return table(["attachments", *COMMANDS, "target"], [*rows, judged_row(f"{sizes[2]} to {sizes[1]}", growth, GROWTH)])
