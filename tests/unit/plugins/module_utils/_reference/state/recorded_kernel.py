# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A kernel that holds exactly the state of a recorded run of the reference plugins."""

from __future__ import annotations

import copy
import ipaddress
import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import qdiscs, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import MACVLAN, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import TokenBucket
from ansible_collections.cni.node.plugins.module_utils._linux.links.routing_rules import Rule
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE, Address, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory, lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import Lease
from ansible_collections.cni.node.tests.support.listed_links import ListedLinks
from ansible_collections.cni.node.tests.support.reference_cases import Situation

HOST = "host"
# Links that exist before a case begins.
_BEFORE = ("lo", "up0", "up1")


class RecordedKernel:
    """Answers `rtnetlink`, `qdiscs`, `sysctl` and `lease_directory` from a recorded state, by network namespace."""

    def __init__(self, situation: Situation) -> None:
        self.state = copy.deepcopy(situation.state)
        self.indexes: dict[str, dict[str, int]] = {}
        for netns in self.state:
            if netns != "files" and self.state[netns] is not None:
                self.indexes[netns] = {name: number for number, name in enumerate(self._names(netns), 1)}

    @property
    def _numbers(self) -> dict[str, int]:
        """The numbers by which the kernel knows the network namespaces."""
        return {netns: number for number, netns in enumerate(self.indexes)}

    def _names(self, netns: str) -> list[str]:
        return [*_BEFORE, *(name for name in self.section(netns, "links", {}) if name not in _BEFORE)]

    def section(self, netns: str, name: str, default: t.Any) -> t.Any:
        return (self.state.get(netns) or {}).get(name, default)

    def lines(self, netns: str, name: str) -> list[t.Any]:
        return list(self.section(netns, name, {}).get("+", ()))

    def drop(self, netns: str, name: str, matches: t.Callable[[t.Any], bool]) -> None:
        """Remove the lines of a section that match; fail if there are none."""
        before = self.lines(netns, name)
        self.state[netns][name]["+"] = [line for line in before if not matches(line)]
        assert len(self.lines(netns, name)) < len(before)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the readers of the kernel answer from this state."""
        monkeypatch.setattr(rtnetlink, "snapshot", self._snapshot)
        monkeypatch.setattr(rtnetlink, "links", lambda: self.links(HOST))
        monkeypatch.setattr(rtnetlink, "link_table", lambda: ListedLinks(self.links(HOST)))
        monkeypatch.setattr(rtnetlink, "netns_id", lambda path: self._numbers[path.rpartition("/")[2]])
        monkeypatch.setattr(rtnetlink, "link", lambda name: self.find(name=name))
        monkeypatch.setattr(rtnetlink, "link_by_index", lambda ifindex: self.find(ifindex=ifindex))
        monkeypatch.setattr(rtnetlink, "addresses", self._addresses_of)
        monkeypatch.setattr(rtnetlink, "routes", self._routes_of)
        monkeypatch.setattr(qdiscs, "token_buckets", self.token_buckets)
        monkeypatch.setattr(qdiscs, "redirects", self.redirects)
        monkeypatch.setattr(sysctl, "read_at", lambda path: self.setting(HOST, path))
        monkeypatch.setattr(lease_directory, "find", self._lease)

    def find(self, **wanted: t.Any) -> Link | None:
        links = self.links(HOST)
        return next((link for link in links if all(getattr(link, key) == wanted[key] for key in wanted)), None)

    def _addresses_of(self, ifindex: int = 0) -> tuple[Address, ...]:
        return tuple(address for address in self.addresses(HOST) if ifindex in (0, address.link))

    def _routes_of(self, ifindex: int = 0) -> tuple[Route, ...]:
        return tuple(route for route in self.routes(HOST) if ifindex in (0, route.link))

    def _snapshot(self, path: str, *, settings: t.Iterable[str] = (), **dummy: bool) -> View:
        netns = path.rpartition("/")[2]
        return self.view(netns)._replace(settings={each: self.setting(netns, each) for each in settings})

    def _lease(self, directory: str, address: str) -> Lease | None:
        path = f"{directory}/{address}"
        if path not in self.leases():
            return None
        container_id, dummy, ifname = self.leases()[path].partition("\r\n")
        return Lease(path, address, container_id, ifname, 0.0, ())

    def leases(self) -> dict[str, str]:
        """Return the contents of the files of host-local that are named after addresses, by path."""
        files = self.state.get("files") or {}
        names = {path: path.rpartition("/")[2] for path in files if files[path] is not None}
        return {path: files[path]["content"] for path, name in names.items() if lease_files.by_name([name])}

    def setting(self, netns: str, path: str) -> str | None:
        return t.cast("str | None", self.section(netns, "sysctls", {}).get(path))

    def view(self, netns: str) -> View:
        return View(self.links(netns), self.addresses(netns), self.routes(netns), self.rules(netns))

    def links(self, netns: str) -> tuple[Link, ...]:
        recorded = self.section(netns, "links", {})
        return tuple(self._link(netns, name, keys) for name, keys in recorded.items() if keys is not None)

    def _link(self, netns: str, name: str, keys: dict[str, t.Any]) -> Link:
        port, flags = keys.get("port", {}), keys["flags"]
        place, dummy, peer = keys.get("parent", "").partition("/")
        return Link(
            ifindex=self.indexes[netns][name],
            name=name,
            mac=keys["mac"].lower(),
            mtu=keys["mtu"],
            is_up="UP" in flags,
            master=self.indexes[netns].get(keys.get("master", ""), 0),
            peer=self.indexes.get(place, {}).get(peer, 0),
            kind=keys.get("kind", ""),
            peer_netns=self._numbers[place] if place in self._numbers and place != netns else None,
            is_promiscuous="PROMISC" in flags,
            is_all_multicast="ALLMULTI" in flags,
            queue_length=keys["txqlen"],
            is_hairpin=bool(port.get("hairpin")),
            is_isolated=bool(port.get("isolated")),
            mode=keys.get("data", {}).get("mode", "") if keys.get("kind") == MACVLAN else "",
        )

    def addresses(self, netns: str) -> tuple[Address, ...]:
        words = (line.split() for line in self.lines(netns, "addresses") if "fe80::" not in line)
        return tuple(
            Address(self.indexes[netns][name], ipaddress.ip_interface(address))
            for name, dummy, address, *dummies in words
        )

    def routes(self, netns: str) -> tuple[Route, ...]:
        lines = (line for line in self.lines(netns, "routes") if "fe80::" not in line)
        return tuple(self._route(netns, line) for line in lines)

    def _route(self, netns: str, line: str) -> Route:
        family, table, destination, *dummy = line.split()
        everywhere = "0.0.0.0/0" if family == "inet" else "::/0"
        via = re.search(r" via (\S+)", line)
        device = re.search(r" dev (\S+)", line)
        return Route(
            ipaddress.ip_network(everywhere if destination == "default" else destination),
            ipaddress.ip_address(via[1]) if via else None,
            self.indexes[netns][device[1]] if device else 0,
            MAIN_TABLE if table == "main" else int(table),
        )

    def rules(self, netns: str) -> tuple[Rule, ...]:
        found = (re.fullmatch(r"(inet6?) (\d+): from (\S+) lookup (\d+)", line) for line in self.lines(netns, "rules"))
        return tuple(
            Rule(ipaddress.ip_network(rule[3]), int(rule[4]), int(rule[2]), 2 if rule[1] == "inet" else 10)
            for rule in found
            if rule
        )

    def token_buckets(self) -> dict[int, TokenBucket]:
        found = (entry["qdisc"] for entry in self.lines(HOST, "tc") if entry.get("qdisc", {}).get("kind") == "tbf")
        return {
            self.indexes[HOST][entry["dev"]]: TokenBucket(entry["options"]["rate"], entry["options"]["burst"])
            for entry in found
        }

    def redirects(self, ifindex: int) -> set[int]:
        filters = (entry["filter"] for entry in self.lines(HOST, "tc") if "filter" in entry)
        return {
            self.indexes[HOST][action["to_dev"]]
            for entry in filters
            if self.indexes[HOST][entry["dev"]] == ifindex
            for action in entry["options"]["actions"]
        }
