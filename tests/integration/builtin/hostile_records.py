# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random records that name what belongs to the node and to other containers, and values that no plugin writes."""

from __future__ import annotations

import base64
import json
import random
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks

DEPTH = 60
ODD: tuple[t.Any, ...] = (
    -1,
    0,
    2**31,
    2**32,
    2**63,
    2**70,
    0.5,
    True,
    False,
    None,
    "",
    "0",
    "é" * 40,
    "../../etc",
    [],
    {},
    [[]],
    "a b",
    "\x00",
)


class Surroundings(t.NamedTuple):
    """The names that a record may have.

    Attributes:
        links: Links of the node, those of other containers' pairs included.
        macs: MACs of these links, and of links in containers.
        namespaces: Paths of network namespaces, of the node and of containers.
        addresses: Addresses of the node and of containers, with the length of their networks.
        directories: Directories of other programs.
        own_addresses: Addresses of no other record.
    """

    links: t.Sequence[str]
    macs: t.Sequence[str]
    namespaces: t.Sequence[str]
    addresses: t.Sequence[str]
    directories: t.Sequence[str]
    own_addresses: t.Sequence[str]


class Generator:
    """Makes records from a seed."""

    def __init__(self, seed: int, around: Surroundings) -> None:
        self._random = random.Random(seed)
        self._around = around

    def record(self, number: int) -> JsonObject:
        """Return a record; its container and its network are its own."""
        choose = self._random.choice
        attachment = {"containerId": f"hostile{number}", "networkName": choose(("net", "other", "gone"))}
        name = attachment["networkName"]
        restores = self._is(0.1)
        # A record to restore is one of this collection, with a network of the administrator.
        plugins = [reference_networks.bridge()] if restores else self._plugins()
        config = {"cniVersion": choose(("1.0.0", "0.4.0", "0.3.1", "1.1.0")), "name": name, "plugins": plugins}
        document = {
            "kind": "cniCacheV1",
            **attachment,
            "config": base64.b64encode(json.dumps(config).encode()).decode("ascii"),
            "ifName": choose(("eth0", "eth0", "eth0", "eth1", "lo", "up0", "br0")),
            "netns": choose(self._around.namespaces),
            "result": self._result(plugins),
            "capabilityArgs": {
                "portMappings": [{"hostPort": self._maybe_odd(8080), "containerPort": 80, "protocol": "tcp"}]
            },
        }
        if document["netns"].endswith("green"):
            # With the network namespace and the pair of the other container, no proof is left that tells the two records apart.
            for interface in _objects(document["result"]):
                interface.pop("name", None)
                interface.pop("mac", None)
        if self._is(0.5) or restores:
            own: JsonObject = {"cniVersion": "1.0.0", "netns": "", "command": ""}
            if restores:
                own["restore"] = {"pluginDirs": ["/opt/cni/bin"], "timeout": 1.0}
            document["cni.node"] = own
        if self._is(0.1):
            document[choose(sorted(document))] = self._odd()
        return document

    def _is(self, probability: float) -> bool:
        return self._random.random() < probability

    def _odd(self) -> t.Any:
        if self._is(0.1):
            deep: t.Any = 1
            for dummy in range(DEPTH):
                deep = [deep] if self._is(0.5) else {"a": deep}
            return deep
        return self._random.choice(ODD)

    def _maybe_odd(self, value: t.Any) -> t.Any:
        return self._odd() if self._is(0.08) else value

    def _keys(self, **values: t.Any) -> JsonObject:
        """Return some of these keys, in any order, some with an odd value."""
        names = [name for name in values if self._is(0.8)]
        self._random.shuffle(names)
        return {name: self._maybe_odd(values[name]) for name in names}

    def _result(self, plugins: t.Sequence[JsonObject]) -> t.Any:
        choose, around = self._random.choice, self._around
        # Rules of firewall have no owner but an address: those of an address in two records belong to both.
        has_firewall = any(plugin["type"] == "firewall" for plugin in plugins)
        addresses = around.own_addresses if has_firewall else around.addresses
        interfaces = [
            self._keys(
                name=choose((*around.links, "eth0", "lo")),
                mac=choose(around.macs),
                sandbox=choose((*around.namespaces, "")),
                mtu=1500,
            )
            for dummy in range(self._random.randrange(4))
        ]
        ips = [
            self._keys(
                address=choose(addresses),
                gateway=choose(around.addresses).partition("/")[0],
                interface=self._random.randrange(-1, 4),
            )
            for dummy in range(self._random.randrange(3))
        ]
        routes = [self._keys(dst=choose(("0.0.0.0/0", "10.9.0.0/16", "::/0")), gw="10.1.0.1", mtu=1400, table=254)]
        version = choose(("1.0.0", "0.4.0", "0.3.1", "0.2.0", "1.1.0"))
        result = self._keys(interfaces=interfaces, ips=ips, routes=routes, dns={"nameservers": ["10.1.0.1"]})
        return self._maybe_odd({"cniVersion": version, **result})

    def _plugins(self) -> list[JsonObject]:
        makers = [self._maker() for dummy in range(1 if self._is(0.8) else self._random.randrange(3))]
        others = [self._meta() for dummy in range(self._random.randrange(4))]
        return [*makers, *others]

    def _ipam(self) -> JsonObject:
        choose, around = self._random.choice, self._around
        if self._is(0.3):
            return {"type": "static", **self._keys(addresses=[{"address": choose(around.addresses)}])}
        keys = self._keys(dataDir=choose(around.directories), ranges=[[{"subnet": "10.1.0.0/16"}]])
        return {"type": "host-local", **keys}

    def _maker(self) -> JsonObject:
        choose, links = self._random.choice, self._around.links
        kinds: dict[str, JsonObject] = {
            "bridge": {
                "bridge": choose(links),
                "isGateway": True,
                "ipMasq": True,
                "hairpinMode": True,
                "promiscMode": True,
                "macspoofchk": True,
                "vlan": 97,
                "mtu": 1400,
            },
            "ptp": {"ipMasq": True, "mtu": 1400},
            "macvlan": {"master": choose(links), "mode": "passthru"},
            "ipvlan": {"master": choose(links), "mode": "l3s"},
            "vlan": {"master": choose(links), "vlanId": 97},
            "host-device": {"device": choose(links)},
            "dummy": {},
            "tap": {"bridge": choose(links), "owner": 0},
            "loopback": {},
        }
        kind = choose(sorted(kinds))
        ipam = {"ipam": self._maybe_odd(self._ipam())} if self._is(0.8) else {}
        return {"type": kind, **self._keys(**kinds[kind]), **ipam}

    def _meta(self) -> JsonObject:
        choose, around = self._random.choice, self._around
        kinds: dict[str, JsonObject] = {
            "tuning": {
                "sysctl": {f"net.ipv4.conf.{choose(around.links)}.forwarding": "1", "net.ipv4.ip_forward": "0"},
                "mac": choose(around.macs),
                "promisc": True,
                "mtu": 1300,
                "dataDir": choose(around.directories),
            },
            "portmap": {"backend": choose(("iptables", "nftables")), "capabilities": {"portMappings": True}},
            "firewall": {"backend": "iptables", "ingressPolicy": "same-bridge", "iptablesAdminChainName": "INPUT"},
            "bandwidth": {"ingressRate": 8_000_000, "ingressBurst": 8_000_000},
            "sbr": {"table": 254},
            "vrf": {"vrfname": choose(around.links), "table": 254},
        }
        kind = choose(sorted(kinds))
        return {"type": kind, **self._keys(**kinds[kind])}


def _objects(result: t.Any) -> list[JsonObject]:
    interfaces = result.get("interfaces") if isinstance(result, dict) else None
    return [each for each in interfaces if isinstance(each, dict)] if isinstance(interfaces, list) else []


def file_name(record: JsonObject) -> str | None:
    """Return the name of a record's file, or None if no store would read it."""
    parts = [record.get(key) for key in ("networkName", "containerId", "ifName")]
    name = "-".join(map(str, parts))
    return None if "/" in name or "\x00" in name or len(name) > 200 else name
