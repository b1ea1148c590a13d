# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A network namespace on a packet's way, as the kernel describes it."""

from __future__ import annotations

import functools
import os
import shlex
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux import listeners, netns, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import bridge_vlans, route_lookup, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import UNKNOWN_NETNS, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_lookup import Neighbour, RouteAnswer
from ansible_collections.cni.node.plugins.module_utils._linux.listeners import Listener
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis import step
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, Step

NODE = "node"
_NAMED = ("/run/netns/", "/var/run/netns/")
_IPV6_ADDRESSES = "/proc/thread-self/net/if_inet6"
_DUPLICATE = 0x08

T = t.TypeVar("T")


class Place:
    """A network namespace. Each part is read when it is needed for the first time, routes and neighbours each time.

    Attributes:
        path: A path that leads to the namespace for as long as the diagnosis runs.
        name: ``node``; the name of a named namespace; otherwise its path.
    """

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name

    @property
    def is_node(self) -> bool:
        return self.name == NODE

    @functools.cached_property
    def inode(self) -> int:
        return netns.inode(self.path)

    def run(self, operation: t.Callable[[], T]) -> T:
        """Run an operation in the namespace.

        Raises:
            CniError: ``IO_FAILURE``: the namespace cannot be entered; or as the operation.
        """
        with io_errors("enter the network namespace", self.name):
            return netns.run_inside(self.path, operation)

    @functools.cached_property
    def links(self) -> dict[int, Link]:
        return {link.ifindex: link for link in self.run(rtnetlink.links)}

    def link(self, name: str) -> Link | None:
        return next((link for link in self.links.values() if link.name == name), None)

    @functools.cached_property
    def _addresses(self) -> dict[int, list[IpAddress]]:
        addresses: dict[int, list[IpAddress]] = {}
        for address in self.run(rtnetlink.addresses):
            addresses.setdefault(address.link, []).append(address.interface.ip)
        return addresses

    def addresses(self, link: Link) -> list[IpAddress]:
        return self._addresses.get(link.ifindex, [])

    def list_addresses(self) -> list[IpAddress]:
        """Return the addresses by which others reach the namespace."""
        every = (address for addresses in self._addresses.values() for address in addresses)
        return [address for address in every if not address.is_loopback and not address.is_link_local]

    def has_address(self, address: IpAddress) -> bool:
        """Return whether a link of the namespace has an address."""
        return any(address in addresses for addresses in self._addresses.values())

    def is_duplicate(self, address: IpAddress) -> bool:
        """Return whether the kernel does not use an IPv6 address because a neighbour has it, too."""
        if address.version == 4:
            return False
        digits = address.packed.hex()
        lines = self.run(lambda: _read_lines(_IPV6_ADDRESSES))
        words = next((words for words in map(str.split, lines) if words[:1] == [digits]), [])
        return len(words) > 4 and bool(int(words[4], 16) & _DUPLICATE)

    @functools.cached_property
    def _vlans(self) -> dict[int, PortVlans]:
        return self.run(bridge_vlans.read)

    def vlans(self, link: Link) -> PortVlans:
        return self._vlans.get(link.ifindex, PortVlans())

    def ports(self, bridge: Link) -> list[Link]:
        return [link for link in self.links.values() if link.master == bridge.ifindex]

    def route(self, destination: IpAddress, source: IpAddress | None, arriving_on: int = 0) -> RouteAnswer:
        return self.run(lambda: route_lookup.look_up(destination, source, arriving_on))

    def neighbour(self, address: IpAddress, link: Link) -> Neighbour | None:
        return self.run(lambda: route_lookup.neighbour(address, link.ifindex))

    def setting(self, path: str) -> str | None:
        """Return a kernel setting by its path below ``/proc/sys``; None if the kernel does not have it."""
        return self.run(lambda: sysctl.read_at(path))

    @functools.cached_property
    def listeners(self) -> list[Listener]:
        return self.run(listeners.listeners)

    def number_of(self, other: Place) -> int:
        """Return the number by which this namespace knows another one, or `UNKNOWN_NETNS`."""
        try:
            return self.run(lambda: rtnetlink.netns_id(other.path))
        except CniError:
            return UNKNOWN_NETNS

    def command(self, program: str, *words: str) -> str:
        """Return a command for a shell of the node that runs a program in the namespace."""
        quoted = " ".join(shlex.quote(word) for word in (program, *words))
        if self.is_node:
            return quoted
        if "/" in self.name:
            return f"nsenter --net={shlex.quote(self.name)} {quoted}"
        if program == "ip":
            return f"ip -n {shlex.quote(self.name)} {quoted[len('ip ') :]}"
        return f"ip netns exec {shlex.quote(self.name)} {quoted}"

    def set(self, setting: str, value: object) -> str:
        """Return the command that changes a kernel setting, given by its path below ``/proc/sys``."""
        return self.command("sysctl", "-w", f"{setting}={value}")

    def ok(self, check: Check, found: str) -> Step:
        return step.ok(check, self.name, found)

    def broken(self, check: Check, found: str, needed: str, command: str = "") -> Step:
        return step.broken(check, self.name, found, needed, command)

    def unknown(self, check: Check, found: str) -> Step:
        return step.unknown(check, self.name, found)


def name_of(path: str) -> str:
    """Return the name of a named network namespace, or the path of another one."""
    directory, name = os.path.split(path)
    return name if f"{directory}/" in _NAMED and name else path


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.readlines()
    except FileNotFoundError:  # the kernel has no IPv6
        return []
