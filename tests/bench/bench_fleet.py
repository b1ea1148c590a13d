# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: `cni.node.provision` of converged nodes over SSH, beside a playbook of built-in modules that does the same."""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import shutil
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.bench_playbook import TimedPlaybook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, table
from ansible_collections.cni.node.tests.fleet import archives, life
from ansible_collections.cni.node.tests.fleet.main import inventory
from ansible_collections.cni.node.tests.fleet.place import places

FORKS = 10
# Fewer nodes than that are measured more often: their runs are short, and vary more.
MANY, TIMES = 10, 4
# Of the playbook by hand.
TIME, PROCESSOR = Target(0.5), Target(1.0)
FLEET = pathlib.Path("/run/bench-fleet")
LIBCNI = "/usr/local/bin/libcni-runner"
PLUGINS = "/opt/cni/bin"
OURS, BY_HAND = "cni.node.provision", "by_hand"


def chapter(bench: Bench) -> str:
    rows: list[list[t.Any]] = []
    calls = {}
    for size in bench.effort.fleets:
        with running(bench, size) as hosts:
            played = _measure(hosts, bench.effort.rounds * (1 if size >= MANY else TIMES))
        ours, theirs = (Series(tuple(run.seconds for run in runs)) for runs in played.values())
        used, used_by_hand = (Series(tuple(run.processor_seconds / size for run in runs)) for runs in played.values())
        calls = {name: f"{runs[0].calls / size:g}" for name, runs in played.items()}
        shares = (TIME.judged(ours / theirs), PROCESSOR.judged(used / used_by_hand))
        rows.append([size, *shares, ours, theirs, used, used_by_hand])
    head = [
        *("nodes", "time, share of by hand", "processor time, share"),
        *("seconds", "by hand", "processor seconds for each node", "by hand"),
    ]
    return "\n\n".join(
        [
            f"Converged nodes, forks: {FORKS}, rounds: {bench.effort.rounds}, below {MANY} nodes "
            f"{bench.effort.rounds * TIMES}; remote calls for each node: {calls[OURS]}, by hand: {calls[BY_HAND]}",
            table(head, [*rows, ["target", TIME, PROCESSOR, "", "", "", ""]]),
        ]
    )


def _measure(hosts: pathlib.Path, rounds: int) -> dict[str, list[TimedPlaybook]]:
    options = ["--inventory", str(hosts), "--forks", str(FORKS)]
    turns = {
        OURS: functools.partial(bench_playbook.play, OURS, provisioning(), options),
        BY_HAND: functools.partial(bench_playbook.play, BY_HAND, _by_hand(), options),
    }
    # Plugins come to the nodes before, for both; then each prepares its own network and attachments.
    bench_playbook.play(OURS, {**provisioning(), **_plugins()}, options)
    for turn in turns.values():
        turn()
    return interleaved(rounds, turns)


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


def prepare(hosts: pathlib.Path, network: JsonObject) -> None:
    """Provision nodes with the plugins and a network that has no attachments."""
    variables = {
        **provisioning(),
        **_plugins(),
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [],
    }
    bench_playbook.play(OURS, variables, ["--inventory", str(hosts)])


def libcni(conf_dir: str = "/etc/cni/net.d", cache_dir: str = "/var/lib/cni") -> list[str]:
    """Return the command that runs libcni on a node."""
    return [LIBCNI, "-conf-dir", conf_dir, "-bin-dir", PLUGINS, "-cache-dir", cache_dir]


def provisioning() -> JsonObject:
    """Return the variables of `provision`: kernel settings, a network, two attachments and its test."""
    return {
        "cni_node_concerns": ["kernel", "networks", "attachments"],
        "cni_node_conflists": [{"config": bench_networks.plain("/var/lib/cni/networks")}],
        "cni_node_attachments": [{"network": "plain", "netns": "red"}, {"network": "plain", "netns": "blue"}],
        "cni_node_builtin": "never",
    }


def _plugins() -> JsonObject:
    archive, digest, *dummy = archives.make(FLEET / "archives")
    return {
        "cni_node_concerns": ["kernel", "plugins", "networks", "attachments"],
        "cni_node_plugins_version": "",
        "cni_node_plugins_source": str(archive),
        "cni_node_plugins_checksum": f"sha256:{digest.read_text(encoding='utf-8').split()[0]}",
    }


def _by_hand() -> JsonObject:
    """Return the variables of the other playbook, whose network and attachments `provision` does not know."""
    conf_dir, cache_dir = "/etc/cni", "/var/lib/hand"
    network = bench_networks.by_hand(f"{cache_dir}/networks")
    return {
        "bench_network": network,
        "bench_attachments": bench_networks.items(network, ["green", "brown"], "/run/netns"),
        "bench_conf_dir": conf_dir,
        "bench_cache_dir": cache_dir,
        "bench_libcni": libcni(conf_dir, cache_dir),
        "bench_gateway": "10.5.0.1",
    }
