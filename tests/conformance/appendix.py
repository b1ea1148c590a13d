# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples at the end of the specification 1.1.0.

The printed results lack "cniVersion", which section 5 requires. The network in section 1 has routes in the bridge's
"ipam", but the printed requests do not. The network here is the one in the printed requests.
"""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

IPAM: JsonObject = {"type": "host-local", "subnet": "10.1.0.0/16", "gateway": "10.1.0.1"}
DNS: JsonObject = {"nameservers": ["10.1.0.1"]}
BRIDGE: JsonObject = {
    "type": "bridge",
    "bridge": "cni0",
    "keyA": ["some more", "plugin specific", "configuration"],
    "ipam": IPAM,
    "dns": DNS,
}
SYSCTL: JsonObject = {"net.core.somaxconn": "500"}
NETWORK: JsonObject = {
    "cniVersion": "1.1.0",
    "cniVersions": ["0.3.1", "0.4.0", "1.0.0", "1.1.0"],
    "name": "dbnet",
    "plugins": [
        BRIDGE,
        {"type": "tuning", "capabilities": {"mac": True}, "sysctl": SYSCTL},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}
MAC = "00:11:22:33:44:66"
PORT_MAPPINGS: list[JsonObject] = [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]


def result(mac: str) -> JsonObject:
    return {
        "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 2}],
        "routes": [{"dst": "0.0.0.0/0"}],
        "interfaces": [
            {"name": "cni0", "mac": "00:11:22:33:44:55"},
            {"name": "veth3243", "mac": "55:44:33:22:11:11"},
            {"name": "eth0", "mac": mac, "sandbox": "/var/run/netns/blue"},
        ],
        "dns": DNS,
    }


OF_BRIDGE = result("99:88:77:66:55:44")
FINAL = result(MAC)


def request(plugin: JsonObject, **others: object) -> JsonObject:
    return {"cniVersion": "1.1.0", "name": "dbnet", **plugin, **others}


def previous(of: JsonObject) -> JsonObject:
    return {"cniVersion": "1.1.0", **of}


TUNING: JsonObject = {"type": "tuning", "sysctl": SYSCTL, "runtimeConfig": {"mac": MAC}}
PORTMAP: JsonObject = {"type": "portmap", "runtimeConfig": {"portMappings": PORT_MAPPINGS}}

ADD = [
    request(BRIDGE),
    request(TUNING, prevResult=previous(OF_BRIDGE)),
    request(PORTMAP, prevResult=previous(FINAL)),
]
CHECK = [request(plugin, prevResult=previous(FINAL)) for plugin in (BRIDGE, TUNING, PORTMAP)]
DELETE = CHECK[::-1]
