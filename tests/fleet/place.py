# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths, names and addresses of a fleet."""

from __future__ import annotations

import dataclasses
import ipaddress
import pathlib

# Reserved for benchmarks (RFC 2544), so that no network of a test overlaps.
SUBNET = ipaddress.IPv4Network("198.18.0.0/16")
BRIDGE = "fleet0"
DIRECTORY = pathlib.Path("/run/fleet")
# On a node: the directory of the fleet's own files, and the Python of the machine.
DOOR = pathlib.Path("/run/fleet")
PYTHON = "/usr/bin/python3"


class FleetRefused(Exception):
    """A command of `fleet` failed. The message is one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class FleetNode:
    """One node: its name and its directory, in which only the node's program and `fleet` write."""

    fleet: pathlib.Path
    number: int

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        return str(SUBNET[self.number + 1])

    @property
    def mac(self) -> str:
        """Return the MAC of the node's link, which survives a restart."""
        return f"02:c6:12:00:{self.number >> 8:02x}:{self.number & 255:02x}"

    @property
    def top(self) -> pathlib.Path:
        return self.fleet / "nodes" / self.name

    @property
    def upper(self) -> pathlib.Path:
        """Return the overlay's upper directory: the node's differences from the machine's root file system."""
        return self.top / "upper"

    @property
    def root(self) -> pathlib.Path:
        return self.top / "root"

    @property
    def log(self) -> pathlib.Path:
        """Return the log of the node's process 1 and its sshd."""
        return self.top / "log"

    @property
    def process(self) -> pathlib.Path:
        """Return the file with the pid of process 1 and the inode of its PID namespace."""
        return self.top / "process"

    @property
    def host_key(self) -> pathlib.Path:
        return self.top / "host_key"


def client_key(fleet: pathlib.Path) -> pathlib.Path:
    return fleet / "client_key"


def known_hosts(fleet: pathlib.Path) -> pathlib.Path:
    return fleet / "known_hosts"


def places(fleet: pathlib.Path) -> list[FleetNode]:
    """Return the existing nodes in order, lost ones included."""
    names = [path.name for path in (fleet / "nodes").glob("node*")]
    return [FleetNode(fleet, number) for number in sorted(int(name.removeprefix("node")) for name in names)]


def place(fleet: pathlib.Path, name: str) -> FleetNode:
    for node in places(fleet):
        if node.name == name:
            return node
    there = ", ".join(node.name for node in places(fleet)) or "none"
    raise FleetRefused(f"there is no node {name!r}: there are {there}")
