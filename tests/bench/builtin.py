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
from ansible_collections.cni.node.plugins.module_utils._node.trial import netns as trial_netns
from ansible_collections.cni.node.tests.bench import bench_fleet, bench_networks, looping
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
    "the example: bridge, host-local, tuning, portmap": {
        "ADD": Target(0.15),
        "CHECK": Target(0.10),
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
# Half of the task is the start of a module, which is measured beside it.
FASTER = Target(20, at_least=True)
BUILTIN, LIBCNI, BARE = "the engine, built-in plugins", "libcni, executables", "bare netlink: links, addresses, routes"


def chapter(bench: Bench) -> str:
    leases = bench.node.leases
    networks = (bench_networks.example(leases), bench_networks.plain(leases))
    parts = [f"Seconds for {bench.effort.few} attachments, {bench.workers} workers, rounds: {bench.effort.rounds}"]
    for network, (name, targets) in zip(networks, TARGETS.items()):
        parts += _compare(bench, network, name, targets)
    return "\n\n".join(
        [
            *parts,
            *_measure_growth(bench),
            *_measure_leases(bench, networks[1]),
            *_measure_restoration(bench, networks[1]),
            *_measure_loop(bench),
        ]
    )


def _compare(bench: Bench, network: JsonObject, name: str, targets: t.Mapping[str, Target]) -> list[str]:
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
    shares = {
        who: {command: measured[BUILTIN][command] / measured[who][command] for command in COMMANDS}
        for who in (LIBCNI, BARE)
    }
    rows = [
        [*judged_row(command, [shares[LIBCNI][command]], target), shares[BARE][command]]
        for command, target in targets.items()
    ]
    return [
        f"{name[0].upper()}{name[1:]}",
        table(["", *COMMANDS], [[who, *series.values()] for who, series in measured.items()]),
        table(["", "share of the time of libcni", "target", "times bare netlink"], rows),
    ]


def _measure_growth(bench: Bench) -> list[str]:
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
    rows: list[list[t.Any]] = []
    growth: dict[int, dict[str, list[Series]]] = {size: {} for size in (many, crowd)}
    for who in contestants:
        each = {
            size: {name: series * (1000 / size) for name, series in measured[f"{size}, {who}"].items()}
            for size in sizes
        }
        rows += ([f"{size}, {who}", *series.values(), ""] for size, series in each.items())
        for size, ratios in growth.items():
            ratios[who] = [each[size][name] / each[few][name] for name in COMMANDS]
    own, bare = contestants
    rows += [
        judged_row(f"{many} to {few}, {own}", growth[many][own], GROWTH),
        *([f"{size} to {few}, {bare}", *ratios[bare], ""] for size, ratios in growth.items()),
        [f"{crowd} to {few}, {own}", *growth[crowd][own], ""],
        judged_row(
            "of that of bare netlink",
            [ours / theirs for ours, theirs in zip(growth[crowd][own], growth[crowd][bare])],
            GROWTH_OF_BARE,
        ),
    ]
    return [
        f"Milliseconds per attachment to ptp with host-local, by attachments of the call, rounds: {effort.rounds}",
        table(["attachments", *COMMANDS, "target"], rows),
    ]


def _measure_leases(bench: Bench, network: JsonObject) -> list[str]:
    node, few = bench.node, bench.effort.few
    items = node.attachments(network, few)
    engine = EngineProcess(node, bench.workers, "always")
    turns = {"none": False, f"{LEASES}": True}
    series = {
        name: Series(tuple(values)) * (1000 / few)
        for name, values in interleaved(
            bench.effort.short_rounds,
            {name: functools.partial(_leased_turn, engine, items, network, leased) for name, leased in turns.items()},
        ).items()
    }
    without, leased = series.values()
    return [
        f"Milliseconds per ADD to bridge with host-local, by other leases, rounds: {bench.effort.short_rounds}",
        table(
            ["other leases", "ADD", "target"],
            [
                *([name, value, ""] for name, value in series.items()),
                judged_row("difference", [leased - without], LEASED),
            ],
        ),
    ]


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
    return [
        f"Seconds to restore {count} attachments to bridge with host-local, with their namespaces, rounds: {bench.effort.rounds}",
        table(["", "", "target"], [judged_row("as at boot", [Series(tuple(seconds))], RESTORATION)]),
    ]


def _measure_loop(bench: Bench) -> list[str]:
    """Measure one task against a loop, with the connection of the first task, but without the start of the playbook."""
    network = looping.NETWORKS["bridge with host-local"]
    playbooks = (looping.START, looping.TASK, looping.LOOP)
    with bench_fleet.running(bench, 1) as hosts:
        took = looping.measure(bench, hosts, network, playbooks, pipelining=True, builtin="always")
    start, task, loop = (took[playbook] for playbook in playbooks)
    return [
        f"{bench.effort.few} attachments to bridge with host-local over SSH with pipelining, rounds: {bench.effort.rounds}",
        table(
            ["", "times faster", "target", "seconds, one task", "without attachments", "loop of tasks"],
            [
                [*judged_row("the task alone", [loop.task / task.task], FASTER), task.task, start.task, loop.task],
                ["whole playbooks", loop.whole / task.whole, "", task.whole, start.whole, loop.whole],
            ],
        ),
    ]


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
