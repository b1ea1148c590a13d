# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: thousands of attachments on one node, and many thousand other leases."""

from __future__ import annotations

import functools

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FLAT = Target(1.1)
LEASES, NETWORKS = 20_000, 10
COMMANDS = {"`check: never`": "NOTHING", "`check: drift`": "DRIFT"}


def chapter(bench: Bench) -> str:
    # Many rounds, because turns are short and differ little.
    node, crowd, rounds = bench.node, bench.effort.crowd, 2 * bench.effort.short_rounds
    node.clean()
    # Several networks, because host-local reads every lease of a network for each address that it allocates.
    several = [bench_networks.point_to_point(node.leases, number) for number in range(NETWORKS)]
    each = [node.attachments(network, crowd) for network in several]
    items = [each[place % NETWORKS][place] for place in range(crowd)]
    engine = EngineProcess(node, bench.workers)
    sizes = (crowd // 50, crowd // 5, crowd)
    turns = {str(size): functools.partial(_turn, engine, items[:size]) for size in sizes}
    few, many, leased = str(sizes[1]), str(crowd), f"{crowd}, {LEASES} leases more"
    turns[leased] = functools.partial(_leased_turn, engine, items, several)
    engine.run("ADD", items)
    try:
        series_by_name = by_key(interleaved(rounds, turns))
    finally:
        # Faster than DEL, which is not measured here: the kernel removes the interfaces with their namespaces.
        containers = [item["container_id"] for item in items]
        trial_netns.ensure(NODE_PATHS, containers, present=False, dry_run=False)
        node.clean()
    return "\n\n".join(
        [
            f"Milliseconds per attachment to {NETWORKS} networks of ptp with host-local, by attachments of the call, rounds: {rounds}",
            table(
                ["attachments", *COMMANDS, "target"],
                [
                    *([name, *series.values(), ""] for name, series in series_by_name.items()),
                    _ratio(f"{many} to {few}", series_by_name[many], series_by_name[few]),
                    _ratio("with leases to without", series_by_name[leased], series_by_name[many]),
                ],
            ),
        ]
    )


def _ratio(name: str, these: dict[str, Series], those: dict[str, Series]) -> list[str]:
    return judged_row(name, [these[command] / those[command] for command in COMMANDS], FLAT)


def _turn(engine: EngineProcess, items: list[JsonObject]) -> dict[str, float]:
    return {name: engine.run(command, items) * 1000 / len(items) for name, command in COMMANDS.items()}


def _leased_turn(engine: EngineProcess, items: list[JsonObject], several: list[JsonObject]) -> dict[str, float]:
    """Run a turn with other leases, at the far end of each range."""
    leases = [lease for network in several for lease in engine.node.write_leases(network, LEASES // NETWORKS)]
    try:
        return _turn(engine, items)
    finally:
        for lease in leases:
            lease.unlink()
