# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the time of a check that finds no drift in links, addresses, routes and rules of real attachments."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

EACH = Target(1.0)


def chapter(bench: Bench) -> str:
    plain, plugins = _measure_commands(bench, bench_networks.plain(bench.node.leases), "DRIFT", "CHECK")
    (ruled,) = _measure_commands(bench, bench_networks.ruled(bench.node.leases), "DRIFT")
    return "\n\n".join(
        [
            f"Milliseconds per attachment, {bench.effort.many} attachments to bridge with host-local, "
            f"rounds: {bench.effort.short_rounds}",
            table(
                ["", "ms", "target"],
                [
                    judged_row("`check: drift`", [plain], EACH),
                    judged_row("the same with `ipMasq`, and a port mapped by portmap", [ruled], EACH),
                    [f"`check: always`, once, {bench.workers} workers", plugins, ""],
                ],
            ),
        ]
    )


def _measure_commands(bench: Bench, network: JsonObject, often: str, *once: str) -> list[Series]:
    """Return the milliseconds per attachment of each command."""
    node, many = bench.node, bench.effort.many
    node.clean()
    items = node.attachments(network, many)
    engine = EngineProcess(node, bench.workers)
    engine.run("ADD", items)
    turns = interleaved(bench.effort.short_rounds, {often: lambda: engine.run(often, items)})[often]
    series_list = [Series(tuple(turns)), *(Series((engine.run(command, items),)) for command in once)]
    engine.run("DEL", items)
    node.clean()
    return [series * (1000 / many) for series in series_list]
