# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the processor time of attachments with firewall rules, by their number, beside a bridge without rules."""

from __future__ import annotations

import functools
import pathlib
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.contestants import COMMANDS, EngineProcess, start_over
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

BACKENDS = ("iptables", "nftables")
NO_RULES = "no rules"
# With IPv6, each container sends packets to all ports of the bridge as soon as its interface is up.
WITH_IPV6 = {f"{name}, with IPv6": name for name in ("iptables", NO_RULES)}
IPV6_SWITCHES = [pathlib.Path("/proc/sys/net/ipv6/conf", name, "disable_ipv6") for name in ("all", "default")]
GROWTH = Target(1.3)


def chapter(bench: Bench) -> str:
    node, effort = bench.node, bench.effort
    node.clean()
    engine = EngineProcess(node, bench.workers, "always")
    sizes = (effort.few, effort.many)
    networks = {backend: bench_networks.ruled(node.leases, backend) for backend in BACKENDS}
    networks[NO_RULES] = bench_networks.plain(node.leases)
    networks |= {name: networks[same] for name, same in WITH_IPV6.items()}
    items = {name: node.attachments(network, effort.many) for name, network in networks.items()}
    turns = {
        f"{name}, {size}": functools.partial(_turn, engine, items[name][:size], ipv6=name in WITH_IPV6)
        for name in networks
        for size in sizes
    }
    try:
        measured = by_key(interleaved(effort.rounds, turns))
    finally:
        # Later chapters make their own, with IPv6.
        containers = [item["container_id"] for item in items[NO_RULES]]
        trial_netns.ensure(NODE_PATHS, containers, present=False, dry_run=False)
        node.clean()
    few, many = sizes
    rows: list[list[t.Any]] = [[name, *series.values(), ""] for name, series in measured.items()]
    for name in networks:
        growth = [measured[f"{name}, {many}"][command] / measured[f"{name}, {few}"][command] for command in COMMANDS]
        row = judged_row(f"{name}, {many} to {few}", growth, GROWTH)
        rows.append(row if name in BACKENDS else [row[0], *growth, ""])
    return "\n\n".join(
        [
            "Milliseconds of processor time per attachment to bridge with `ipMasq` and host-local, and a port mapped by "
            f"portmap, in containers without IPv6, by backend and attachments of the call, rounds: {effort.rounds}",
            table(["attachments", *COMMANDS, "target"], rows),
        ]
    )


def _turn(engine: EngineProcess, items: t.Sequence[JsonObject], *, ipv6: bool) -> dict[str, float]:
    start_over(engine.node, engine, items)
    _set_ipv6(items, ipv6)
    try:
        return {command: engine.measure(command, items)[1] * 1000 / len(items) for command in COMMANDS}
    finally:
        engine.node.clean()
        subprocess.run(["nft", "flush", "ruleset"], check=True)


def _set_ipv6(items: t.Sequence[JsonObject], is_enabled: bool) -> None:
    """Enable or disable IPv6 in the containers."""

    def write() -> None:
        for switch in filter(pathlib.Path.exists, IPV6_SWITCHES):
            switch.write_text("0" if is_enabled else "1", encoding="ascii")

    for item in items:
        netns.run_inside(item["netns"], write)
