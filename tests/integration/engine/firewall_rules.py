# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A network whose plugins write firewall rules, its attachments, and what programs do to the rules of a node."""

from __future__ import annotations

import json
import subprocess

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace

PORT: JsonObject = {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}
NETWORK = reference_networks.network(
    reference_networks.bridge(
        ipMasq=True, ipam={**reference_networks.host_local("10.1.0.0/16"), "routes": [{"dst": "0.0.0.0/0"}]}
    ),
    {"type": "portmap", "capabilities": {"portMappings": True}},
    {"type": "firewall", "backend": "iptables"},
)


def rules() -> str:
    """Return the rules of the node without the numbers that change by themselves."""
    listed = (
        subprocess.run([f"{tool}-save"], capture_output=True, text=True, check=True).stdout
        for tool in ("iptables", "ip6tables")
    )
    lines = "".join(listed).splitlines()
    return "\n".join(line.partition(" [")[0] for line in lines if not line.startswith("#"))


def flush() -> None:
    subprocess.run(["nft", "flush", "ruleset"], check=True)


def map_port(namespace: Namespace, number: int = 0) -> JsonObject:
    port = {**PORT, "hostPort": PORT["hostPort"] + number}
    return {**attachment("net", namespace), "capability_args": {"portMappings": [port]}}


def as_other_runtime(node: EngineNode, item: JsonObject, *, has_netns: bool = True) -> None:
    """Make a record look like one that libcni has written; before 1.2, it has no network namespace."""
    path = node.record_of(item)
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["cni.node"]
    if not has_netns:
        del record["netns"]
    path.write_text(json.dumps(record), encoding="utf-8")
