# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the service that repairs whenever something is lost, with one and with many attachments."""

from __future__ import annotations

import functools
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table
from ansible_collections.cni.node.tests.integration.engine.watcher import list_damages, make_unrelated_changes, watch
from ansible_collections.cni.node.tests.support import libraries

IN_TIME, SMALL, ASLEEP, LITTLE = Target(2), Target(25), Target(0), Target(1)
BRIDGE, GATEWAY, ADDRESS = "cni2", "10.4.0.1/16", "10.4.0.2/16"
# Those that are measured with many attachments, too.
RULES, LINK = "nft flush ruleset", "ip link del"
# Seconds after which a bridge has reported each new port once more, and seconds in which the service has nothing to do.
LAST_REPORT, IDLE = 16, 10

# The values of a turn, by name.
Values = dict[str, float]


def chapter(bench: Bench) -> str:
    libraries.install(libraries.describe_checkout())
    node, rounds, few = bench.node, bench.effort.short_rounds, bench.effort.few
    node.clean()
    network = bench_networks.ruled(node.leases)
    network["plugins"].append({"type": "firewall", "backend": "iptables"})
    sizes = (1, 10, few, 3 * few)
    items = node.attachments(network, sizes[-1])
    engine = EngineProcess(node, bench.workers, "always")
    damages = list_damages(BRIDGE, GATEWAY, items[0]["container_id"], ADDRESS)
    _add(engine, items[:1])
    (costs,) = by_key(interleaved(rounds, {"": functools.partial(_measure_costs, node)})).values()
    single = _measure_damages(node, damages, 1, rounds)
    several = [single]
    for fewer, more in zip(sizes, sizes[1:]):
        _add(engine, items[fewer:more])
        several.append(_measure_damages(node, {name: damages[name] for name in (RULES, LINK)}, more, rounds))
    engine.run("DEL", items)
    node.clean()
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    return "\n\n".join(
        [
            "Seconds until the journal has all repairs, and of processor time. Attachments to bridge with `ipMasq`, a port mapped "
            f"by portmap, and firewall, rounds: {rounds}",
            table(
                ["seconds after, with one attachment", "", "target"],
                [judged_row(f"`{name}`", [values["repair"]], IN_TIME) for name, values in single.items()],
            ),
            table(["attachments", *map(str, sizes), "target"], _describe_sizes(several)),
            table(
                ["with one attachment", "", "target"],
                [
                    judged_row(f"wake-ups in {IDLE} idle seconds", [costs["wake-ups"]], ASLEEP),
                    judged_row(f"processor time in {IDLE} idle seconds", [costs["idle"]], ASLEEP),
                    judged_row(
                        "processor time for 10,000 changes of other links, addresses and rules",
                        [costs["unrelated"]],
                        LITTLE,
                    ),
                ],
            ),
        ]
    )


def _describe_sizes(several: t.Sequence[t.Mapping[str, t.Mapping[str, Series]]]) -> list[list[t.Any]]:
    """Return a row for each value.

    Args:
        several: For each number of attachments, the values by damage.
    """

    def values(damage: str, name: str) -> list[Series]:
        return [each[damage][name] for each in several]

    return [
        judged_row("seconds after `nft flush ruleset`", values(RULES, "repair"), IN_TIME),
        judged_row("seconds after `ip link del` of the bridge", values(LINK, "repair"), IN_TIME),
        ["its processor time, with a comparison after it", *values(LINK, "processor"), ""],
        ["processor time of a comparison", *values(LINK, "comparison"), ""],
        judged_row("MiB of the process that stays", values(LINK, "memory"), SMALL),
    ]


def _add(engine: EngineProcess, items: t.Sequence[JsonObject]) -> None:
    engine.run("ADD", items)
    time.sleep(LAST_REPORT)


def _measure_damages(
    node: BenchNode, damages: t.Mapping[str, t.Sequence[t.Sequence[str]]], attachments: int, rounds: int
) -> dict[str, dict[str, Series]]:
    turns = {
        name: functools.partial(_measure_damage, node, commands, attachments) for name, commands in damages.items()
    }
    return by_key(interleaved(rounds, turns))


def _measure_damage(node: BenchNode, commands: t.Sequence[t.Sequence[str]], attachments: int) -> Values:
    """Start the service, let it compare once, and let it repair all attachments."""
    with watch(str(node.cache_dir)) as watcher:
        watcher.await_idle()
        before = watcher.seconds()
        subprocess.run(["ip", "link", "set", BRIDGE, "alias", "changed"], check=True)
        watcher.await_idle()
        compared = watcher.seconds()
        started = time.monotonic()
        for command in commands:
            subprocess.run(command, check=True)
        while len(watcher.lines) < attachments:
            watcher.await_line("repaired: ")
        seconds = time.monotonic() - started
        watcher.await_idle()
        return {
            "repair": seconds,
            "processor": sum(watcher.seconds()) - sum(compared),
            "comparison": compared[1] - before[1],
            "memory": watcher.resident() / 1024,
        }


def _measure_costs(node: BenchNode) -> Values:
    with watch(str(node.cache_dir)) as watcher:
        watcher.await_idle()
        seconds, switches = sum(watcher.seconds()), watcher.switches()
        time.sleep(IDLE)
        idle, wakeups = sum(watcher.seconds()) - seconds, watcher.switches() - switches
        seconds = sum(watcher.seconds())
        for _round in range(5):
            make_unrelated_changes()
        watcher.await_idle()
        return {"idle": idle, "wake-ups": wakeups, "unrelated": sum(watcher.seconds()) - seconds}
