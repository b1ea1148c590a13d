# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: one task of this collection, against a task that loops over a command, on a node over SSH."""

from __future__ import annotations

import functools
import pathlib

from ansible_collections.cni.node.tests.bench import fleet, networks, playbook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.networks import Json
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

FASTER = Target(15, at_least=True)
LEASES = "/var/lib/cni/networks"
NETWORKS = {
    "bridge with host-local": networks.plain(LEASES),
    "bridge with host-local, tuning, portmap": networks.example(LEASES),
}
PIPELINING = {"Ansible's default": False, "with pipelining": True}


def chapter(bench: Bench) -> str:
    rows = []
    with fleet.running(1) as hosts:
        for name, network in NETWORKS.items():
            for setting, pipelining in PIPELINING.items():
                task, loop = _measure(bench, hosts, network, pipelining=pipelining)
                rows.append([name, *judged_row(setting, [loop / task], FASTER), str(task), str(loop)])
    head = ["network", "SSH", "times faster", "target", "seconds, one task", "seconds, loop"]
    return f"{bench.effort.few} attachments, whole playbooks, rounds: {bench.effort.rounds}\n\n{table(head, rows)}"


def _measure(bench: Bench, hosts: pathlib.Path, network: Json, *, pipelining: bool) -> tuple[Series, Series]:
    containers = [f"bench{number:04d}" for number in range(bench.effort.few)]
    variables = {
        **fleet.provisioning(bench),
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [],
        "bench_attachments": networks.items(network, containers, "/run/netns"),
    }
    play = functools.partial(playbook.play, variables=variables, options=["--inventory", str(hosts)])
    play("fleet")

    def turn(name: str) -> float:
        play("detached")
        return play(name, pipelining=pipelining).seconds

    given = interleaved(bench.effort.rounds, {"attach": lambda: turn("attach"), "loop": lambda: turn("loop")})
    play("detached")
    return Series(tuple(given["attach"])), Series(tuple(given["loop"]))
