# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: one task of this collection against a task that loops over a command, over SSH."""

from __future__ import annotations

import dataclasses
import functools
import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_fleet, bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FASTER = Target(15, at_least=True)
# Of the task alone, because a playbook takes a second to start and to connect.
BUILTIN_FASTER = Target(40, at_least=True)
TASK, BUILTIN, AT_ONCE, LOOP = "attach", "attach, built-in plugins", "at_once", "loop"
# The variables of a contestant's playbook, and its file.
CONTESTANTS = {
    TASK: ("attach", {"bench_builtin": "missing"}),
    BUILTIN: ("attach", {"bench_builtin": "always"}),
    AT_ONCE: ("at_once", {}),
    LOOP: ("loop", {}),
}
LEASES = "/var/lib/cni/networks"
NETWORKS = {
    "bridge with host-local": bench_networks.plain(LEASES),
    "bridge with host-local, tuning, portmap": bench_networks.example(LEASES),
}
PIPELINING = {"Ansible's default": False, "with pipelining": True}


@dataclasses.dataclass(frozen=True)
class _Times:
    """Seconds of the whole playbook, and of its task."""

    whole: Series
    task: Series


def chapter(bench: Bench) -> str:
    against_loop, against_libcni, builtin = [], [], []
    with bench_fleet.running(bench, 1) as hosts:
        for name, network in NETWORKS.items():
            for setting, pipelining in PIPELINING.items():
                took = _measure(bench, hosts, network, pipelining=pipelining)
                task, at_once, loop = took[TASK].whole, took[AT_ONCE].whole, took[LOOP].whole
                against_loop.append([name, *judged_row(setting, [loop / task], FASTER), str(task), str(loop)])
                against_libcni.append([name, setting, str(loop / at_once), str(task / at_once), str(at_once)])
                own, of_loop = took[BUILTIN], took[LOOP].task
                builtin.append(
                    [
                        name,
                        *judged_row(setting, [of_loop / own.task], BUILTIN_FASTER),
                        loop / own.whole,
                        own.task,
                        of_loop,
                    ]
                )
    return "\n\n".join(
        [
            f"{bench.effort.few} attachments, whole playbooks, rounds: {bench.effort.rounds}",
            table(["network", "SSH", "times faster", "target", "seconds, one task", "seconds, loop"], against_loop),
            "One command for all of them instead:",
            table(["network", "SSH", "times faster", "the task to it", "seconds, one command"], against_libcni),
            "One task with built-in plugins, and the time of the task alone:",
            table(
                ["network", "SSH", "times faster", "target", "whole playbooks", "seconds, one task", "seconds, loop"],
                builtin,
            ),
        ]
    )


def _measure(bench: Bench, hosts: pathlib.Path, network: JsonObject, *, pipelining: bool) -> dict[str, _Times]:
    containers = [f"bench{number:04d}" for number in range(bench.effort.few)]
    variables = {
        **bench_fleet.provisioning(),
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [],
        "bench_attachments": bench_networks.items(network, containers, "/run/netns"),
        "bench_workers": bench.workers,
    }
    options = ["--inventory", str(hosts)]
    bench_playbook.play("fleet", variables, options)

    def turn(playbook: str, further: JsonObject) -> tuple[float, float]:
        bench_playbook.play("detached", variables, options)
        played = bench_playbook.play(playbook, {**variables, **further}, options, pipelining=pipelining)
        return played.seconds, sum(played.tasks["Attach"])

    given = interleaved(
        bench.effort.rounds, {name: functools.partial(turn, *each) for name, each in CONTESTANTS.items()}
    )
    bench_playbook.play("detached", variables, options)
    return {name: _Times(*(Series(tuple(each)) for each in zip(*turns))) for name, turns in given.items()}
