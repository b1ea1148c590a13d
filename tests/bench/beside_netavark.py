# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: built-in plugins beside netavark, which podman runs for each container."""

from __future__ import annotations

import dataclasses
import hashlib
import ipaddress
import json
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.bench.contestants import Contestant, EngineProcess, cycle
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import by_key, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

PROGRAM = "/usr/lib/podman/netavark"
# netavark has no CHECK.
OPERATIONS = {"ADD": "setup", "DEL": "teardown"}
SUBNET = ipaddress.ip_network("10.9.0.0/16")
SHARE = Target(0.15)


@dataclasses.dataclass(frozen=True)
class Netavark:
    """netavark for one container after the other, because podman holds a lock meanwhile."""

    node: BenchNode

    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        argv = [PROGRAM, "--config", str(self.node.top), OPERATIONS[command]]
        started = time.monotonic()
        for number, item in enumerate(items):
            _run([*argv, item["netns"]], _describe(item, number))
        return time.monotonic() - started


def _run(argv: t.Sequence[str], given: JsonObject) -> None:
    done = subprocess.run(argv, input=json.dumps(given), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"netavark: {done.stdout}{done.stderr}")


def _describe(item: JsonObject, number: int) -> JsonObject:
    """Return what podman would say of the network of `bench_networks.ruled`. It assigns the addresses itself."""
    identifier = hashlib.sha256(item["container_id"].encode()).hexdigest()
    bridge = {
        "name": "bench",
        "id": hashlib.sha256(b"bench").hexdigest(),
        "driver": "bridge",
        "network_interface": "cni9",
        "subnets": [{"subnet": str(SUBNET), "gateway": str(SUBNET[1])}],
        "dns_enabled": False,
        "internal": False,
        "ipv6_enabled": False,
    }
    ports = [
        {
            "host_ip": "",
            "host_port": port["hostPort"],
            "container_port": port["containerPort"],
            "protocol": "tcp",
            "range": 1,
        }
        for port in item["capability_args"]["portMappings"]
    ]
    return {
        "container_id": identifier,
        "container_name": item["container_id"],
        "networks": {"bench": {"interface_name": item["ifname"], "static_ips": [str(SUBNET[number + 2])]}},
        "network_info": {"bench": bridge},
        "port_mappings": ports,
    }


def chapter(bench: Bench) -> str:
    node, effort = bench.node, bench.effort
    contestants: dict[str, Contestant] = {
        "built-in plugins": EngineProcess(node, bench.workers, "always"),
        "netavark": Netavark(node),
    }
    items = node.attachments(bench_networks.ruled(node.leases, "iptables"), effort.few)
    turns = {name: cycle(node, contestant, items, OPERATIONS) for name, contestant in contestants.items()}
    try:
        ours, theirs = by_key(interleaved(effort.rounds, turns)).values()
    finally:
        subprocess.run(["nft", "flush", "ruleset"], check=True)
    version = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    title = f"Seconds for {effort.few} attachments to a bridge with masquerading and a mapped port, {bench.workers} workers, rounds: {effort.rounds}"
    rows = [
        [*judged_row(command, [ours[command] / theirs[command]], SHARE), ours[command], theirs[command]]
        for command in OPERATIONS
    ]
    return (
        f"{title}\n\n{table(['', f'share of the time of {version}', 'target', 'built-in plugins', 'netavark'], rows)}"
    )
