# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: built-in plugins, side by side with libcni and the plugins of the distribution, and with bare netlink."""

from __future__ import annotations

import functools
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.bare_netlink import BareNetlink
from ansible_collections.cni.node.tests.bench.contestants import (
    COMMANDS,
    Contestant,
    EngineProcess,
    LibcniProcess,
    cycle,
    start_over,
)
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

# The share of libcni's time that each command may take.
TARGETS: dict[str, dict[str, Target]] = {
    "the example": {
        "ADD": Target(0.15),
        "CHECK": Target(0.08),
        "DEL": Target(0.05),
    },
    # Of DEL, bare netlink alone takes a third.
    "bridge with host-local": {"ADD": Target(0.40), "CHECK": Target(0.15), "DEL": Target(0.25)},
}


# Milliseconds that other leases may add to ADD.
LEASED = Target(1.0)
# The growth of the time of an attachment: with many, and with a crowd for which the kernel takes longer as well, in
# relation to bare netlink.
GROWTH, GROWTH_OF_BARE = Target(1.5), Target(1.0)
LEASES = 20_000
NETWORK_SIZE = 1_000
RESTORED, RESTORATION = 500, Target(5.0)
BUILTIN, LIBCNI, BARE = "built-in plugins", "libcni", "bare netlink"


def chapter(bench: Bench) -> str:
    node, effort = bench.node, bench.effort
    networks = (bench_networks.example(node.leases), bench_networks.plain(node.leases))
    rows = [row for network, name in zip(networks, TARGETS) for row in _compare(bench, network, name)]
    head = [
        "",
        "share of the time of libcni",
        "target",
        "times bare netlink",
        "built-in plugins",
        "libcni",
        "bare netlink",
    ]
    others = [_measure_leases(bench, networks[1]), _measure_restoration(bench, networks[1])]
    return "\n\n".join(
        [
            f"Seconds for {effort.few} attachments, {bench.workers} workers, rounds: {effort.rounds}",
            table(head, rows),
            f"Milliseconds per attachment to ptp with host-local, by attachments of the call, rounds: {effort.rounds}",
            _measure_growth(bench),
            f"Bridge with host-local, rounds: {effort.rounds}",
            table(["", "", "target"], others),
        ]
    )


def _compare(bench: Bench, network: JsonObject, name: str) -> list[list[t.Any]]:
    node, workers = bench.node, bench.workers
    contestants: dict[str, Contestant] = {
        BUILTIN: EngineProcess(node, workers, "always"),
        LIBCNI: LibcniProcess(node, bench.libcni, workers),
        BARE: BareNetlink(),
    }
    items = node.attachments(network, bench.effort.few)
    measured = by_key(
        interleaved(bench.effort.rounds, {who: cycle(node, each, items) for who, each in contestants.items()})
    )
    rows = []
    for command, target in TARGETS[name].items():
        ours, libcni, bare = (measured[who][command] for who in contestants)
        rows.append([*judged_row(f"{name}, {command}", [ours / libcni], target), ours / bare, ours, libcni, bare])
    return rows


def _measure_growth(bench: Bench) -> str:
    """Measure attachments to networks of ptp, which have no more than `NETWORK_SIZE` each.

    The kernel's own work for a port of a bridge grows with the number of ports, and that for an address with the number of
    links that have it.
    """
    node, effort = bench.node, bench.effort
    sizes = (effort.few, effort.many, effort.crowd)
    items = [
        item
        for first in range(0, effort.crowd, NETWORK_SIZE)
        for item in node.attachments(
            bench_networks.point_to_point(node.leases, first // NETWORK_SIZE), min(first + NETWORK_SIZE, effort.crowd)
        )[first:]
    ]
    contestants: dict[str, Contestant] = {
        "built-in plugins": EngineProcess(node, bench.workers, "always"),
        "bare netlink": BareNetlink(bridge=""),
    }
    turns = {f"{size}, {who}": cycle(node, each, items[:size]) for who, each in contestants.items() for size in sizes}
    try:
        measured = by_key(interleaved(effort.rounds, turns))
    finally:
        containers = [item["container_id"] for item in items[effort.few :]]
        trial_netns.ensure(NODE_PATHS, containers, present=False, dry_run=False)
    few, many, crowd = sizes
    own, bare = contestants
    each = {
        who: {size: [measured[f"{size}, {who}"][name] * (1000 / size) for name in COMMANDS] for size in sizes}
        for who in contestants
    }

    def growth(who: str, size: int) -> list[Series]:
        return [last / first for last, first in zip(each[who][size], each[who][few])]

    rows: list[list[t.Any]] = [[f"{size}, {own}", *each[own][size], ""] for size in sizes]
    rows += [
        judged_row(f"{many} to {few}", growth(own, many), GROWTH),
        judged_row(
            f"{crowd} to {few}, share of the growth of bare netlink",
            [ours / theirs for ours, theirs in zip(growth(own, crowd), growth(bare, crowd))],
            GROWTH_OF_BARE,
        ),
    ]
    return table(["attachments", *COMMANDS, "target"], rows)


def _measure_leases(bench: Bench, network: JsonObject) -> list[str]:
    """Measure ADD beside many leases of others, which host-local keeps in a file each."""
    node, few = bench.node, bench.effort.few
    items = node.attachments(network, few)
    engine = EngineProcess(node, bench.workers, "always")
    turns = {"none": False, f"{LEASES}": True}
    series = {
        name: Series(tuple(values)) * (1000 / few)
        for name, values in interleaved(
            bench.effort.rounds,
            {name: functools.partial(_leased_turn, engine, items, network, leased) for name, leased in turns.items()},
        ).items()
    }
    without, leased = series.values()
    return judged_row(f"{LEASES} leases of others, milliseconds more for each ADD", [leased - without], LEASED)


def _measure_restoration(bench: Bench, network: JsonObject) -> list[str]:
    """Measure the restoration of attachments whose namespaces, links and rules are gone; leases and records stay."""
    node, count = bench.node, min(RESTORED, bench.effort.many)
    node.clean()
    items = node.attachments(network, count)
    containers = [item["container_id"] for item in items]
    engine = EngineProcess(node, bench.workers, "always")
    engine.run("PERSIST", items)
    seconds = []
    try:
        for _round in range(bench.effort.rounds):
            trial_netns.ensure(NODE_PATHS, containers, present=False, dry_run=False)
            subprocess.run(["ip", "link", "delete", network["plugins"][0]["bridge"]], check=True)
            seconds.append(engine.run("RESTORE", items))
        engine.run("DEL", items)
    finally:
        trial_netns.ensure(NODE_PATHS, containers[bench.effort.few :], present=False, dry_run=False)
        node.clean()
    return judged_row(
        f"restoring {count} attachments with their namespaces, seconds", [Series(tuple(seconds))], RESTORATION
    )


def _leased_turn(engine: EngineProcess, items: t.Sequence[JsonObject], network: JsonObject, leased: bool) -> float:
    """Return the seconds of ADD on a node with other leases, at the far end of the range."""
    node = engine.node
    start_over(node, engine, items)
    try:
        if leased:
            node.write_leases(network, LEASES)
        seconds = engine.run("ADD", items)
        engine.run("DEL", items)
        return seconds
    finally:
        node.clean()
