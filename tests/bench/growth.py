# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: thousands of attachments on one node, and many thousand leases beside them."""

from __future__ import annotations

import functools
import ipaddress
import pathlib

from ansible_collections.cni.node.plugins.module_utils._node import namespaces
from ansible_collections.cni.node.tests.bench import networks
from ansible_collections.cni.node.tests.bench.contestants import Engine
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.networks import Json
from ansible_collections.cni.node.tests.bench.series import by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FLAT = Target(1.1)
LEASES, NETWORKS = 20_000, 10
COMMANDS = {"`check: never`": "NOTHING", "`check: drift`": "DRIFT"}


def chapter(bench: Bench) -> str:
    node, crowd, rounds = bench.node, bench.effort.crowd, bench.effort.short_rounds
    node.clean()
    # host-local reads every lease of a network for each address that it gives.
    several = [networks.point_to_point(node.leases, number) for number in range(NETWORKS)]
    each = [node.attachments(network, crowd) for network in several]
    items = [each[place % NETWORKS][place] for place in range(crowd)]
    engine = Engine(node, bench.workers)
    engine.run("ADD", items)
    try:
        sizes = (crowd // 50, crowd // 5, crowd)
        by_size = by_key(
            interleaved(rounds, {str(size): functools.partial(_turn, engine, items[:size]) for size in sizes})
        )
        for number, network in enumerate(several):
            _lease(pathlib.Path(node.leases, network["name"]), f"10.{100 + number}.255.254", LEASES // NETWORKS)
        with_leases = by_key(interleaved(rounds, {"all": functools.partial(_turn, engine, items)}))["all"]
    finally:
        # Faster than DEL, which nobody measures here: the interfaces go with them.
        namespaces.ensure([item["container_id"] for item in items], present=False, dry_run=False)
        node.clean()
    few, many = by_size[str(sizes[1])], by_size[str(crowd)]
    return "\n\n".join(
        [
            f"Milliseconds per attachment to {NETWORKS} networks of ptp with host-local, by attachments of the call, rounds: {rounds}",
            table(
                ["attachments", *COMMANDS, "target"],
                [
                    *([size, *series.values(), ""] for size, series in by_size.items()),
                    [f"{crowd}, {LEASES} leases more", *with_leases.values(), ""],
                    judged_row(f"{crowd} to {sizes[1]}", [many[name] / few[name] for name in COMMANDS], FLAT),
                    judged_row("with leases to without", [with_leases[name] / many[name] for name in COMMANDS], FLAT),
                ],
            ),
        ]
    )


def _turn(engine: Engine, items: list[Json]) -> dict[str, float]:
    return {name: engine.run(command, items) * 1000 / len(items) for name, command in COMMANDS.items()}


def _lease(directory: pathlib.Path, last: str, count: int) -> None:
    """As host-local keeps them, from the other end of the range than it gives them."""
    for number in range(count):
        (directory / str(ipaddress.ip_address(last) - number)).write_text(f"other{number}\r\neth0", encoding="utf-8")
