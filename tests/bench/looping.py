# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: one task of this collection, against a task that loops over a command."""

from __future__ import annotations

from ansible_collections.cni.node.tests.bench import networks, playbook
from ansible_collections.cni.node.tests.bench.contestants import Engine, start_over
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.networks import Json
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FASTER = Target(15, at_least=True)


def chapter(bench: Bench) -> str:
    leases = bench.node.leases
    measured = {
        "bridge with host-local": networks.plain(leases),
        "bridge with host-local, tuning, portmap": networks.example(leases),
    }
    rows = []
    for name, network in measured.items():
        task, loop = _measure(bench, network)
        rows.append([*judged_row(name, [loop / task], FASTER), str(task), str(loop)])
    head = ["network", "times faster", "target", "seconds, one task", "seconds, loop"]
    return f"{bench.effort.few} attachments, whole playbooks, rounds: {bench.effort.long_rounds}\n\n{table(head, rows)}"


def _measure(bench: Bench, network: Json) -> tuple[Series, Series]:
    items = bench.node.attachments(network, bench.effort.few)
    engine = Engine(bench.node, bench.workers)

    def turn(name: str) -> float:
        start_over(bench.node, engine, items)
        seconds = playbook.play(name, playbook.variables(bench, items)).seconds
        engine.run("DEL", items)
        return seconds

    given = interleaved(bench.effort.long_rounds, {"attach": lambda: turn("attach"), "loop": lambda: turn("loop")})
    bench.node.clean()
    return Series(tuple(given["attach"])), Series(tuple(given["loop"]))
