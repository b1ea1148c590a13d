# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of the modules node_info and gc for a fleet: a bridge with mapped ports, a macvlan on a VLAN, and what goes wrong."""

from __future__ import annotations

import datetime
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._report import details, report_data

NOW = datetime.datetime(2026, 11, 26, 10, 30, tzinfo=datetime.timezone.utc)
SECRET = "hunter2"


def link(name: str, **facts: t.Any) -> JsonObject:
    """Return a link as `node_info` describes it."""
    usual = {"kind": "", "mac": "02:00:00:00:00:01", "mtu": 1500, "up": True, "carrier": True, "addresses": []}
    return {"name": name, **usual, "master": "", "parent": "", "vlan": 0, "uplink": False, **facts}


def network(name: str, *plugins: JsonObject, **facts: t.Any) -> JsonObject:
    """Return a network as `node_info` describes it."""
    return {
        "name": name,
        "path": f"/etc/cni/net.d/10-{name}.conflist",
        "versions": ["1.0.0"],
        "plugins": [plugin["type"] for plugin in plugins],
        "config": {"cniVersion": "1.0.0", "name": name, "plugins": list(plugins)},
        "missing_plugins": [],
        "builtin_plugins": [],
        "shadowed": False,
        "disable_check": False,
        "disable_gc": False,
        "error": None,
        **facts,
    }


def attachment(name: str, container: str, **facts: t.Any) -> JsonObject:
    """Return an attachment as `node_info` describes it."""
    return {
        "network": name,
        "container_id": container,
        "ifname": "eth0",
        "netns": f"/run/netns/{container}",
        "netns_state": "present",
        "network_state": "same",
        "own": True,
        "persist": False,
        "interrupted": None,
        "addresses": ["10.1.0.2/16"],
        "ports": [],
        "builtin_plugins": [],
        "drift": [],
        "result": {"interfaces": [{"name": "cni0"}, {"name": "eth0", "sandbox": "x"}], "vendor": SECRET},
        "error": None,
        **facts,
    }


def bridge(subnet: str = "10.1.0.0/16", **keys: t.Any) -> JsonObject:
    ipam = {"type": "host-local", "ranges": [[{"subnet": subnet}]]}
    return {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "ipam": ipam, **keys}


MACVLAN: t.Final[JsonObject] = {
    "type": "macvlan",
    "master": "eth0.100",
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.100"}]]},
}
LINKS = [
    link("eth0", addresses=["198.18.0.2/24"], uplink=True),
    link("eth0.100", kind="vlan", parent="eth0", vlan=100),
    link("cni0", kind="bridge", addresses=["10.1.0.1/16"]),
    link("veth1", kind="veth", master="cni0"),
]
STEP: t.Final[JsonObject] = {
    "check": "route",
    "state": "ok",
    "place": "red",
    "way": "there",
    "found": "10.1.0.1 dev eth0",
    "needed": "",
    "command": "",
}
BROKEN_STEP = {
    **STEP,
    "check": "bridge",
    "state": "broken",
    "place": "node",
    "found": "cni0 is down",
    "needed": "cni0 is up",
    "command": "ip link set cni0 up",
}
DIAGNOSIS: t.Final[JsonObject] = {
    "network": "dbnet",
    "container_id": "red",
    "ifname": "eth0",
    "from": "red",
    "to": "10.1.0.1 (icmp)",
    "steps": [STEP, BROKEN_STEP],
}
LEAK: t.Final[JsonObject] = {
    "kind": "lease",
    "network": "dbnet",
    "subject": "/var/lib/cni/networks/dbnet/10.1.0.7",
    "evidence": "no runtime has a record of container lost (eth0), and its address is not in use",
    "proofs": [],
    "saved": "",
    "action": "removed",
    "error": None,
}
FINDING = {
    "level": "schema",
    "severity": "warning",
    "code": "unknown-key",
    "file": "/etc/cni/net.d/10-dbnet.conflist",
    "line": 7,
    "plugin": {"index": 0, "type": "bridge"},
    "path": "/plugins/0/colour",
    "value": SECRET,
    "message": "the plugin bridge does not have the key 'colour'",
    "hint": "remove it",
}
RELEASE = {
    "bin_dir": "/opt/cni/bin",
    "set": "reference",
    "version": "1.9.1",
    "digest": "sha256:0",
    "current": True,
    "plugins": ["bridge"],
    "missing": [],
    "flaws": [],
}
FLAW = "portmap 1.8.0: with the nftables backend, a mapped port also takes other traffic (CVE-2025-67499)"


def facts(**parts: t.Any) -> JsonObject:
    """Return what `node_info` returns for a node with a bridge and a macvlan, with some parts replaced."""
    red = attachment("dbnet", "red", ports=["8080->80/tcp"])
    blue = attachment("dbnet", "blue", addresses=["10.1.0.3/16"])
    lan = attachment("lan", "blue", ifname="eth1", addresses=["192.0.2.100/24"])
    return {
        "plugins": [],
        "releases": [RELEASE],
        "networks": [network("dbnet", bridge(), {"type": "portmap"}), network("lan", MACVLAN)],
        "attachments": [red, blue, lan],
        "leases": [
            {
                "network": "dbnet",
                "range": "10.1.0.1-10.1.255.254",
                "size": 65533,
                "taken": 2,
                "free": 65531,
                "path": "x",
            }
        ],
        "netns": [{"name": "red", "path": "/run/netns/red"}],
        "runtimes": [
            {
                "name": "containerd",
                "version": "1.6.20",
                "conf_dir": "/etc/cni/net.d",
                "plugin_dirs": ["/opt/cni/bin"],
                "units": [{"name": "containerd.service", "active": True}],
            }
        ],
        "links": LINKS,
        "findings": [],
        **parts,
    }


def troubled_node() -> JsonObject:
    """Return a node with drift, a lost namespace, a full pool, an old release, a finding and a broken file."""
    drift = ["the masquerade rule of 10.1.0.2 is gone"]
    full = {"network": "small", "range": "10.9.0.1-10.9.0.6", "size": 5, "taken": 5, "free": 0, "path": "x"}
    return facts(
        attachments=[
            attachment("dbnet", "red", drift=drift, ports=["8080->80/tcp"]),
            attachment("dbnet", "gone", netns_state="gone", drift=None, addresses=["10.1.0.9/16"]),
            attachment("dbnet", "k8s-pod", own=False, addresses=["10.1.0.8/16"]),
            {
                "path": "/var/lib/cni/results/cut",
                "error": {"code": 6, "msg": "cut is not valid JSON", "details": SECRET},
            },
        ],
        networks=[
            network("dbnet", bridge("10.1.0.0/16", mtu=1400)),
            network("other", {"type": "ptp", "ipam": {"type": "host-local", "subnet": "10.1.128.0/24"}}),
            {"path": "/etc/cni/net.d/99-broken.conflist", "error": {"code": 6, "msg": "not valid JSON", "details": ""}},
        ],
        leases=[full],
        releases=[{**RELEASE, "version": "1.8.0", "flaws": [FLAW], "missing": ["ptp"]}],
        findings=[FINDING],
        diagnoses=[DIAGNOSIS],
    )


def fleet(nodes: t.Mapping[str, JsonObject], unread: t.Sequence[str] = (), **leaks: JsonObject) -> JsonObject:
    """Return the report of these nodes."""
    read = [report_data.NodeResults(name, info, leaks.get(name)) for name, info in nodes.items()]
    return report_data.build([*read, *(report_data.NodeResults(name, None) for name in unread)], NOW)


def three_nodes() -> JsonObject:
    """Return the report of a node without problems, a troubled one, and one that could not be read."""
    return fleet(
        {"one": facts(), "two": troubled_node()}, ["three"], two={"findings": [LEAK, {**LEAK, "action": "kept"}]}
    )


def large(count: int, containers: int = 50) -> JsonObject:
    """Return the report of many nodes with many containers."""
    return fleet({f"node{number:03}": _node(number, containers) for number in range(count)})


def details_of(page: str) -> JsonObject:
    """Return the details in a page, by the id of their node's element."""
    (packed,) = re.findall(r'<script type="text/plain" id="data">([^<]*)</script>', page)
    return details.unpack(packed)


def _node(number: int, containers: int) -> JsonObject:
    subnet = f"10.{number}"
    attached = [
        attachment("dbnet", f"pod-{number:03}-{place:03}", addresses=[f"{subnet}.0.{place + 2}/16"])
        for place in range(containers)
    ]
    return facts(attachments=attached, networks=[network("dbnet", bridge(f"{subnet}.0.0/16"))])
