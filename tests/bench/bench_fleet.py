# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: two runs that provision a new fleet over SSH, compared with a playbook of built-in modules."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.bench_playbook import TimedPlaybook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table
from ansible_collections.cni.node.tests.fleet import archives, life
from ansible_collections.cni.node.tests.fleet.main import inventory
from ansible_collections.cni.node.tests.fleet.place import places

FORKS = 10
NO_OP, GROWTH, CALLS = Target(0.5), Target(1.1), Target(10)
FLEET = pathlib.Path("/run/bench-fleet")
LIBCNI = "/usr/local/bin/libcni-runner"
OURS, THEIRS = "the roles", "built-in modules"
PLAYBOOKS = {OURS: "fleet", THEIRS: "fleet_by_hand"}
# Built-in modules are slow: larger fleets would take an hour and give the same ratio.
SIDE_BY_SIDE = 10


def chapter(bench: Bench) -> str:
    played = {
        size: {name: _measure(bench, size, PLAYBOOKS[name]) for name in _contestants(size)}
        for size in bench.effort.fleets
    }
    rows = [
        [size, name, *(f"{run.seconds / size:.2f}" for run in runs), *(run.calls / size for run in runs)]
        for size, contestants in played.items()
        for name, runs in contestants.items()
    ]
    shares = {
        size: _seconds(contestants[OURS][1]) / _seconds(contestants[THEIRS][1])
        for size, contestants in played.items()
        if THEIRS in contestants
    }
    each = {size: _seconds(contestants[OURS][1]) * (1 / size) for size, contestants in played.items()}
    first, last = min(each), max(each)
    calls = Series((played[first][OURS][1].calls / first,))
    judged = [
        judged_row(f"second run, {size} nodes, share of the time", [share], NO_OP) for size, share in shares.items()
    ]
    judged.append(judged_row(f"second run, time per node, {last} nodes to {first}", [each[last] / each[first]], GROWTH))
    judged.append(judged_row("remote calls for each node, second run", [calls], CALLS))
    head = [
        "nodes",
        "by",
        "s per node, first run",
        "s per node, second",
        "calls per node, first",
        "calls per node, second",
    ]
    return "\n\n".join(
        [
            f"Forks: {FORKS}; the connection is SSH with pipelining; whole playbooks, rounds: 1",
            table(head, rows),
            table(["the roles, against built-in modules", "", "target"], judged),
        ]
    )


def _contestants(size: int) -> list[str]:
    return list(PLAYBOOKS) if size <= SIDE_BY_SIDE else [OURS]


def _measure(bench: Bench, size: int, name: str) -> tuple[TimedPlaybook, TimedPlaybook]:
    with running(bench, size) as hosts:
        options = ["--inventory", str(hosts), "--forks", str(FORKS)]
        variables = provisioning()
        return bench_playbook.play(name, variables, options), bench_playbook.play(name, variables, options)


@contextlib.contextmanager
def running(bench: Bench, size: int) -> t.Iterator[pathlib.Path]:
    """Yield the inventory of a new fleet; all nodes are in the group `fleet` and have libcni-runner."""
    life.up(FLEET, size)
    try:
        for place in places(FLEET):
            shutil.copy(bench.libcni, f"/proc/{life.pid_of(place)}/root{LIBCNI}")
        hosts = FLEET / "inventory.json"
        facts = inventory(FLEET)
        fleet = {"hosts": facts["_meta"]["hostvars"], "vars": facts["fleet"]["vars"]}
        hosts.write_text(json.dumps({"fleet": fleet}), encoding="utf-8")
        yield hosts
    finally:
        life.down(FLEET)


def provisioning() -> JsonObject:
    """Return the variables of both playbooks: a network, two attachments and the plugins' source."""
    archive, digest, *dummy = archives.make(FLEET / "archives")
    libcni = [
        LIBCNI,
        "-conf-dir",
        "/etc/cni/net.d",
        "-bin-dir",
        "/opt/cni/bin",
        "-cache-dir",
        "/var/lib/cni",
    ]
    return {
        "cni_node_conflists": [{"config": {**bench_networks.plain("/var/lib/cni/networks"), "name": "plain"}}],
        "cni_node_attachments": [{"network": "plain", "netns": "red"}, {"network": "plain", "netns": "blue"}],
        "cni_node_plugins_version": "",
        "cni_node_plugins_source": str(archive),
        "cni_node_plugins_checksum": f"sha256:{digest.read_text(encoding='utf-8').split()[0]}",
        "bench_libcni": libcni,
        "bench_gateway": "10.2.0.1",
    }


def _seconds(run: TimedPlaybook) -> Series:
    return Series((run.seconds,))
