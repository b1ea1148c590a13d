# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents in the forms that people, plugins and runtimes write."""

from __future__ import annotations

import base64
import json

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

LIST: JsonObject = {
    "cniVersion": "1.1.0",
    "cniVersions": ["0.3.1", "0.4.0", "1.0.0", "1.1.0"],
    "name": "dbnet",
    "disableCheck": False,
    "disableGC": "false",
    "loadOnlyInlinedPlugins": True,
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "keyA": ["some more", "plugin specific", "configuration"],
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/16", "routes": [{"dst": "0.0.0.0/0"}]},
            "dns": {"nameservers": ["10.1.0.1"]},
        },
        {"type": "tuning", "capabilities": {"mac": True}, "sysctl": {"net.core.somaxconn": "500"}},
        {"type": "portmap", "capabilities": {"portMappings": True, "bandwidth": False}},
    ],
}

SINGLE: JsonObject = {"cniVersion": "0.4.0", "name": "single", "type": "bridge", "ipam": {"type": "host-local"}}

RESULT_1_1_0: JsonObject = {
    "cniVersion": "1.1.0",
    "interfaces": [
        {"name": "cni0", "mac": "00:11:22:33:44:55", "mtu": 1500},
        {
            "name": "eth0",
            "mac": "99:88:77:66:55:44",
            "sandbox": "/run/netns/blue",
            "socketPath": "/run/s",
            "pciID": "0000:00:1f.6",
        },
    ],
    "ips": [
        {"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0},
        {"address": "10.2.0.5/16", "interface": 1},
        {"address": "2001:db8::5/64", "gateway": "2001:db8::1", "interface": 1},
    ],
    "routes": [{"dst": "0.0.0.0/0", "mtu": 1400, "table": 7}, {"dst": "::/0", "gw": "2001:db8::1"}],
    "dns": {"nameservers": ["10.1.0.1"], "search": ["example.org"]},
}

RESULT_0_4_0: JsonObject = {
    "cniVersion": "0.4.0",
    "interfaces": [{"name": "eth0", "sandbox": "/run/netns/blue"}],
    "ips": [{"version": "4", "address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}],
    "routes": [{"dst": "0.0.0.0/0"}],
    "dns": {},
}

RESULT_0_2_0: JsonObject = {
    "cniVersion": "0.2.0",
    "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]},
    "ip6": {"ip": "2001:db8::5/64", "routes": [{"dst": "::/0"}]},
    "dns": {"nameservers": ["10.1.0.1"]},
}

RESULTS = (RESULT_1_1_0, RESULT_0_4_0, RESULT_0_2_0)

# A record as libcni writes it, key for key.
LIBCNI_RECORD: JsonObject = {
    "kind": "cniCacheV1",
    "containerId": "blue",
    "config": base64.b64encode(json.dumps(LIST).encode()).decode(),
    "ifName": "eth0",
    "networkName": "dbnet",
    "netns": "/run/netns/blue",
    "cniArgs": [["IgnoreUnknown", "1"], ["K", "V"]],
    "capabilityArgs": {"mac": "00:11:22:33:44:66"},
    "result": RESULT_1_1_0,
}

OWN_RECORD: JsonObject = {**LIBCNI_RECORD, "cni.node": {"cniVersion": "1.1.0", "netns": "a:1:2:3", "command": ""}}


def encode(document: object) -> bytes:
    return json.dumps(document).encode()
