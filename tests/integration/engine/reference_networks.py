# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks of the reference plugins, in the versions of the specification that they support."""

from __future__ import annotations

import copy
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

MAC = "02:00:00:00:01:01"
HOST_PORT, CONTAINER_PORT = 8080, 80
CAPABILITY_ARGS: JsonObject = {
    "mac": MAC,
    "portMappings": [{"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "tcp"}],
}
UPLINK = "up0"
WORLD = "10.4.255.2"
WORLD_IN_VLAN = "10.5.255.2"
VLAN_FILTER = "VLAN filter of bridges"
# How `ip link add name probe` makes a kind of link that some kernels lack.
PROBES = {
    "dummy": ("type", "dummy"),
    "ipvlan": ("link", UPLINK, "type", "ipvlan"),
    "macvlan": ("link", UPLINK, "type", "macvlan"),
    "vlan": ("link", UPLINK, "type", "vlan", "id", "5"),
    "vrf": ("type", "vrf", "table", "5"),
    VLAN_FILTER: ("type", "bridge", "vlan_filtering", "1"),
}


def host_local(*subnets: str, **keys: t.Any) -> JsonObject:
    return {"type": "host-local", "ranges": [[{"subnet": subnet}] for subnet in subnets], **keys}


def bridge(**keys: t.Any) -> JsonObject:
    ipam = host_local("10.1.0.0/16", routes=[{"dst": "0.0.0.0/0"}])
    return {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": ipam, **keys}


TUNING: JsonObject = {"type": "tuning", "capabilities": {"mac": True}, "sysctl": {"net.core.somaxconn": "500"}}
PORTMAP: JsonObject = {"type": "portmap", "capabilities": {"portMappings": True}}
DEFAULT_ROUTES = [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]
PTP: JsonObject = {
    "type": "ptp",
    "ipMasq": True,
    "ipam": host_local("10.3.0.0/16", "fd00:3::/64", routes=DEFAULT_ROUTES),
}
MACVLAN: JsonObject = {"type": "macvlan", "master": UPLINK, "ipam": host_local("10.4.0.0/16")}
LAN = host_local("10.4.0.0/16", "fd00:4::/64", routes=DEFAULT_ROUTES[:1])
IPVLAN: JsonObject = {"type": "ipvlan", "master": UPLINK, "ipam": LAN}
LAN_IN_VLAN = host_local("10.5.0.0/16", "fd00:5::/64", routes=DEFAULT_ROUTES[:1])
VLAN: JsonObject = {"type": "vlan", "master": UPLINK, "vlanId": 97, "mtu": 1400, "ipam": LAN_IN_VLAN}
DUMMY: JsonObject = {"type": "dummy", "ipam": LAN}
VRF: JsonObject = {"type": "vrf", "vrfname": "customer"}
HOST_DEVICE: JsonObject = {
    "type": "host-device",
    "device": UPLINK,
    "ipam": {"type": "static", "addresses": [{"address": "10.4.1.1/16"}]},
}
LOOPBACK: JsonObject = {"type": "loopback"}
FIREWALL: JsonObject = {"type": "firewall", "backend": "iptables"}
BANDWIDTH: JsonObject = {
    "type": "bandwidth",
    **{f"{way}{what}": 8_000_000 for way in ("ingress", "egress") for what in ("Rate", "Burst")},
}


def network(*plugins: JsonObject, version: str = "1.0.0", name: str = "net") -> JsonObject:
    return {"cniVersion": version, "name": name, "plugins": copy.deepcopy(list(plugins))}


def single(plugin: JsonObject, version: str, name: str = "net") -> JsonObject:
    """Return the configuration of a single plugin, as before 1.0.0."""
    return {"cniVersion": version, "name": name, **copy.deepcopy(plugin)}


def full(version: str = "1.0.0") -> JsonObject:
    """Return the specification's own example."""
    return network(bridge(), TUNING, PORTMAP, version=version)


def needed_kinds(plugins: t.Sequence[JsonObject]) -> set[str]:
    """Return what the plugins need and some kernels lack."""
    kinds = {plugin["type"] for plugin in plugins} & PROBES.keys()
    return kinds | {VLAN_FILTER for plugin in plugins if plugin.get("vlan") or plugin.get("vlanTrunk")}


def missing_kind(plugins: t.Sequence[JsonObject]) -> str:
    """Return what the plugins need and this kernel lacks, or an empty string."""
    for kind in sorted(needed_kinds(plugins)):
        made = subprocess.run(["ip", "link", "add", "name", "probe", *PROBES[kind]], check=False)
        if made.returncode != 0:
            return kind
        subprocess.run(["ip", "link", "delete", "probe"], check=True)
    return ""


def other_kernel_marks(plugins: t.Sequence[JsonObject]) -> list[pytest.MarkDecorator]:
    """Return the marks of a test that makes such a network: common kernels have macvlan."""
    return [pytest.mark.other_kernel] if needed_kinds(plugins) - {"macvlan"} else []


def make_uplink() -> None:
    """Create a link for macvlan and host-device; its other end is the outside network."""
    subprocess.run(["ip", "link", "add", UPLINK, "type", "veth", "peer", "name", "world"], check=True)
    subprocess.run(["ip", "address", "add", f"{WORLD}/16", "dev", "world"], check=True)
    for link in (UPLINK, "world"):
        subprocess.run(["ip", "link", "set", link, "up"], check=True)


def make_vlan_of_world() -> None:
    """Let the outside network have the VLAN of `VLAN`."""
    subprocess.run(["ip", "link", "add", "link", "world", "name", "world.97", "type", "vlan", "id", "97"], check=True)
    subprocess.run(["ip", "address", "add", f"{WORLD_IN_VLAN}/16", "dev", "world.97"], check=True)
    subprocess.run(["ip", "link", "set", "world.97", "up"], check=True)
