# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: every module on a node that needs no change."""

from __future__ import annotations

from ansible_collections.cni.node.tests.bench import bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.bare import query_versions
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess, LibcniProcess, start_over
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

OVER_PING = Target(0.15)
COUNT = 20
PING, CHECKED, ASKED = "Ping", "Module attachments, check: always", "Module node_info"


def chapter(bench: Bench) -> str:
    network = bench_networks.example(bench.node.leases)
    items = bench.node.attachments(network, COUNT)
    engine = EngineProcess(bench.node, bench.workers)
    start_over(bench.node, engine, items)
    played = bench_playbook.play(
        "modules",
        {
            **bench_playbook.variables(bench, items),
            "bench_network": network,
            "bench_installed": str(bench.node.top / "installed"),
        },
    )
    # The first round changes the node.
    tasks = {name: Series(tuple(seconds[1:])) for name, seconds in played.tasks.items()}
    ping = tasks.pop(PING)
    libcni = LibcniProcess(bench.node, bench.libcni, bench.workers)
    checks = Series(tuple(libcni.run("CHECK", items) for dummy in ping.values))
    versions = Series(tuple(query_versions(bench.node, bench.workers) for dummy in ping.values))
    engine.run("DEL", items)
    bench.node.clean()
    rows = [[PING, ping, "", ""]]
    rows += [[name, series, *judged_row("", [series - ping], OVER_PING)[1:]] for name, series in tasks.items()]
    for task, what, plugins in ((CHECKED, "CHECK alone, by libcni", checks), (ASKED, "VERSION alone", versions)):
        rows.append([f"The plugins' {what}", plugins, "", ""])
        rows.append([f"{task}, without it", "", *judged_row("", [tasks[task] - ping - plugins], OVER_PING)[1:]])
    title = f"{COUNT} attachments, one play, rounds: {len(ping.values)}"
    return f"{title}\n\n{table(['task', 'seconds', 'over ping', 'target'], rows)}"
