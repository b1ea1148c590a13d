# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the time in which the rules of many attachments are repaired after all have been lost."""

from __future__ import annotations

import subprocess

from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

IN_ALL = Target(2.0)
PERCENT = Target(2.0)


def chapter(bench: Bench) -> str:
    node, many = bench.node, bench.effort.many
    node.clean()
    items = node.attachments(bench_networks.ruled(node.leases), many)
    engine = EngineProcess(node, bench.workers)
    added = engine.run("ADD", items)
    repaired, again = [], []
    for _round in range(bench.effort.short_rounds):
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        repaired.append(engine.run("REPAIR", items))
        again.append(engine.run("REPAIRED", items))
    recreated = engine.run("DEL", items) + added
    node.clean()
    share = Series(tuple(100 * seconds / recreated for seconds in repaired))
    return "\n\n".join(
        [
            f"{many} attachments to bridge with `ipMasq` and host-local, and a port mapped by portmap, "
            f"rounds: {bench.effort.short_rounds}",
            table(
                ["", "", "target"],
                [
                    judged_row("repair after `nft flush ruleset`, seconds", [Series(tuple(repaired))], IN_ALL),
                    judged_row("the same, in percent of DEL and ADD", [share], PERCENT),
                    ["a second repair, which finds nothing, seconds", Series(tuple(again)), ""],
                    ["DEL and ADD, once, seconds", Series((recreated,)), ""],
                ],
            ),
        ]
    )
