# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins against libcni with the plugins of the distribution, side by side in one run."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
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

# The share of libcni's time that each command may take.
TARGETS: dict[str, dict[str, Target]] = {
    "the example: bridge, host-local, tuning, portmap": {
        "ADD": Target(0.15),
        "CHECK": Target(0.10),
        "DEL": Target(0.05),
    },
    "bridge with host-local": {"ADD": Target(0.40), "CHECK": Target(0.15), "DEL": Target(0.10)},
}


def chapter(bench: Bench) -> str:
    networks = (bench_networks.example(bench.node.leases), bench_networks.plain(bench.node.leases))
    parts = [f"Seconds for {bench.effort.few} attachments, {bench.workers} workers, rounds: {bench.effort.rounds}"]
    for network, (name, targets) in zip(networks, TARGETS.items()):
        parts += _measure(bench, network, name, targets)
    return "\n\n".join(parts)


def _measure(bench: Bench, network: JsonObject, name: str, targets: t.Mapping[str, Target]) -> list[str]:
    node, workers = bench.node, bench.workers
    builtin, libcni = "the engine, built-in plugins", "libcni, executables"
    contestants: dict[str, Contestant] = {
        builtin: EngineProcess(node, workers, "always"),
        libcni: LibcniProcess(node, bench.libcni, workers),
    }
    items = node.attachments(network, bench.effort.few)
    measured = by_key(
        interleaved(bench.effort.rounds, {who: cycle(node, each, items) for who, each in contestants.items()})
    )
    rows = [
        judged_row(command, [measured[builtin][command] / measured[libcni][command]], target)
        for command, target in targets.items()
    ]
    return [
        f"{name[0].upper()}{name[1:]}",
        table(["", *COMMANDS], [[who, *series.values()] for who, series in measured.items()]),
        table(["share of the time of libcni", "share", "target"], rows),
    ]
