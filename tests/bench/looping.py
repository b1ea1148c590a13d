# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: one task of this collection against a task that loops over a command, over SSH."""

from __future__ import annotations

import functools
import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_fleet, bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FASTER = Target(15, at_least=True)
LEASES = "/var/lib/cni/networks"
NETWORKS = {
    "bridge with host-local": bench_networks.plain(LEASES),
    "the example": bench_networks.example(LEASES),
}
# When the task uses built-in plugins.
TASKS = {"built-in plugins": "always", "executables": "never"}
LOOP, AT_ONCE = "loop", "one command"


def chapter(bench: Bench) -> str:
    rows = []
    with bench_fleet.running(bench, 1) as hosts:
        for name, network in NETWORKS.items():
            took = _measure(bench, hosts, network)
            loop, at_once = took[LOOP], took[AT_ONCE]
            for task in TASKS:
                rows.append([*judged_row(f"{name}, {task}", [loop / took[task]], FASTER), took[task], loop, at_once])
    return "\n\n".join(
        [
            f"{bench.effort.few} attachments over SSH with pipelining, whole playbooks, rounds: {bench.effort.rounds}",
            table(["", "times faster", "target", "seconds, one task", "loop", "one command for all"], rows),
        ]
    )


def _measure(bench: Bench, hosts: pathlib.Path, network: JsonObject) -> dict[str, Series]:
    """Let playbooks attach in turn, and return the seconds of each."""
    containers = [f"bench{number:04d}" for number in range(bench.effort.few)]
    variables = {
        "bench_attachments": bench_networks.items(network, containers, "/run/netns"),
        "bench_libcni": bench_fleet.libcni(),
        "bench_workers": bench.workers,
    }
    options = ["--inventory", str(hosts)]
    bench_fleet.prepare(hosts, network)

    def turn(name: str, builtin: str = "") -> float:
        bench_playbook.play("detached", variables, options)
        return bench_playbook.play(name, {**variables, "bench_builtin": builtin}, options).seconds

    turns = {
        **{task: functools.partial(turn, "attach", builtin) for task, builtin in TASKS.items()},
        LOOP: functools.partial(turn, "loop"),
        AT_ONCE: functools.partial(turn, "at_once"),
    }
    given = interleaved(bench.effort.rounds, turns)
    bench_playbook.play("detached", variables, options)
    return {name: Series(tuple(seconds)) for name, seconds in given.items()}
