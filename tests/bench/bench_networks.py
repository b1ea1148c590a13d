# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The networks that the benchmarks use."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject


def example(leases: str) -> JsonObject:
    """Return the specification's own example: bridge with host-local, tuning and portmap."""
    return {
        "cniVersion": "1.0.0",
        "name": "example",
        "plugins": [
            _bridge("cni0", "10.1.0.0/16", leases),
            {"type": "tuning", "capabilities": {"mac": True}, "sysctl": {"net.core.somaxconn": "500"}},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def plain(leases: str) -> JsonObject:
    """Return the most common network: bridge with host-local."""
    return {"cniVersion": "1.0.0", "name": "plain", "plugins": [_bridge("cni1", "10.2.0.0/16", leases)]}


def by_hand(leases: str) -> JsonObject:
    """Return a second common network for the same node."""
    return {"cniVersion": "1.0.0", "name": "hand", "plugins": [_bridge("cni3", "10.5.0.0/16", leases)]}


def ruled(leases: str, backend: str = "") -> JsonObject:
    """Return the common network with firewall rules for each attachment, by default in the plugins' choice of backend."""
    masquerade, ports = ({"ipMasqBackend": backend}, {"backend": backend}) if backend else ({}, {})
    return {
        "cniVersion": "1.0.0",
        "name": f"ruled{backend}",
        "plugins": [
            {**_bridge("cni2", "10.4.0.0/16", leases), "ipMasq": True, **masquerade},
            {"type": "portmap", "capabilities": {"portMappings": True}, **ports},
        ],
    }


def point_to_point(leases: str, number: int) -> JsonObject:
    """Return a network of ptp, which is not limited to the 1,024 ports of a bridge."""
    ipam = _host_local(f"10.{100 + number}.0.0/16", leases)
    return {"cniVersion": "1.0.0", "name": f"ptp{number}", "plugins": [{"type": "ptp", "ipam": ipam}]}


def items(network: JsonObject, containers: t.Sequence[str], netns_dir: str) -> list[JsonObject]:
    """Return an attachment per container, in the form of libcni-runner, with the capability values that are declared."""
    declared = {name for plugin in network["plugins"] for name in plugin.get("capabilities", ())}
    return [
        {
            "network": network["name"],
            "container_id": container,
            "ifname": "eth0",
            "netns": f"{netns_dir}/{container}",
            "capability_args": {name: value for name, value in _capability_args(number).items() if name in declared},
        }
        for number, container in enumerate(containers)
    ]


def _bridge(name: str, subnet: str, leases: str) -> JsonObject:
    return {"type": "bridge", "bridge": name, "isGateway": True, "ipam": _host_local(subnet, leases)}


def _host_local(subnet: str, leases: str) -> JsonObject:
    return {"type": "host-local", "subnet": subnet, "routes": [{"dst": "0.0.0.0/0"}], "dataDir": leases}


def _capability_args(number: int) -> JsonObject:
    return {
        "mac": f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
        "portMappings": [{"hostPort": 20000 + number, "containerPort": 80, "protocol": "tcp"}],
    }
