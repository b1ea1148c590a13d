# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: one task of this collection against a task that loops over a command, over SSH."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_fleet, bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FASTER = Target(15, at_least=True)
TASK, AT_ONCE, LOOP, START = "attach", "at_once", "loop", "start"
LEASES = "/var/lib/cni/networks"
NETWORKS = {
    "bridge with host-local": bench_networks.plain(LEASES),
    "bridge with host-local, tuning, portmap": bench_networks.example(LEASES),
}
PIPELINING = {"Ansible's default": False, "with pipelining": True}


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of a whole playbook, and of its task."""

    whole: Series
    task: Series


def chapter(bench: Bench) -> str:
    against_loop, against_libcni = [], []
    with bench_fleet.running(bench, 1) as hosts:
        for name, network in NETWORKS.items():
            for setting, pipelining in PIPELINING.items():
                took = measure(bench, hosts, network, (TASK, AT_ONCE, LOOP), pipelining=pipelining)
                task, at_once, loop = (took[playbook].whole for playbook in (TASK, AT_ONCE, LOOP))
                against_loop.append([name, *judged_row(setting, [loop / task], FASTER), str(task), str(loop)])
                against_libcni.append([name, setting, str(loop / at_once), str(task / at_once), str(at_once)])
    return "\n\n".join(
        [
            f"{bench.effort.few} attachments, whole playbooks, rounds: {bench.effort.rounds}",
            table(["network", "SSH", "times faster", "target", "seconds, one task", "seconds, loop"], against_loop),
            "One command for all of them instead:",
            table(["network", "SSH", "times faster", "the task to it", "seconds, one command"], against_libcni),
        ]
    )


def measure(
    bench: Bench,
    hosts: pathlib.Path,
    network: JsonObject,
    playbooks: t.Iterable[str],
    *,
    pipelining: bool,
    builtin: str = "missing",
) -> dict[str, Times]:
    """Let playbooks attach in turn. `START` only starts the module.

    Args:
        hosts: The inventory.
        builtin: When the task uses built-in plugins.
    """
    containers = [f"bench{number:04d}" for number in range(bench.effort.few)]
    variables = {
        **bench_fleet.provisioning(),
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [],
        "bench_attachments": bench_networks.items(network, containers, "/run/netns"),
        "bench_workers": bench.workers,
        "bench_builtin": builtin,
    }
    play = functools.partial(bench_playbook.play, variables=variables, options=["--inventory", str(hosts)])
    play("fleet")

    def turn(name: str) -> tuple[float, float]:
        play("detached")
        played = play(name, pipelining=pipelining)
        return played.seconds, sum(played.tasks["Attach"])

    given = interleaved(bench.effort.rounds, {name: functools.partial(turn, name) for name in playbooks})
    play("detached")
    return {name: Times(*(Series(tuple(each)) for each in zip(*turns))) for name, turns in given.items()}
