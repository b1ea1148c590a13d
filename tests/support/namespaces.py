# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Named network namespaces for tests, and the kernel's state in them or on the node (namespace None)."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import pathlib
import socket
import struct
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

_SIOCSIFFLAGS, _SIOCSIFNAME = 0x8914, 0x8923


def ip(*arguments: str, namespace: str | None = None) -> list[JsonObject]:
    """Return the objects that `ip -j` prints, without the empty ones that it prints for filtered entries."""
    where = ["-n", namespace] if namespace else []
    done = subprocess.run(["ip", "-j", *where, *arguments], check=True, capture_output=True, text=True)
    return [entry for entry in json.loads(done.stdout or "[]") if entry]


def links(namespace: str | None = None) -> dict[str, JsonObject]:
    """Return the links by name, with their addresses in `addr_info` and their kind in `linkinfo`."""
    return {link["ifname"]: link for link in ip("-d", "address", "show", namespace=namespace)}


def addresses(link: str, namespace: str | None = None) -> set[str]:
    """Return addresses such as "10.1.0.2/24", without the link-local ones that the kernel assigns."""
    return {f"{address['local']}/{address['prefixlen']}" for address in assigned_addresses(links(namespace)[link])}


def assigned_addresses(link: JsonObject) -> list[JsonObject]:
    return [
        address for address in link["addr_info"] if not (address["family"] == "inet6" and address["scope"] == "link")
    ]


def routes(namespace: str | None = None) -> list[JsonObject]:
    """Return the routes of both families and all tables, without connected and link-local ones."""
    entries = [
        route
        for family in ("-4", "-6")
        for route in ip(family, "-N", "route", "show", "table", "all", namespace=namespace)
    ]
    derived = {"2", "3", "4", "5", "local", "broadcast", "anycast", "multicast"}
    return [route for route in entries if route.get("type") not in derived and not route["dst"].startswith("fe80:")]


def rename_link(name: bytes, other: bytes) -> None:
    """Rename a link of this thread's namespace to any bytes that the kernel accepts, and leave it down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        fcntl.ioctl(connection, _SIOCSIFFLAGS, struct.pack("16sH14x", name, 0))
        fcntl.ioctl(connection, _SIOCSIFNAME, struct.pack("16s16s", name, other))


@dataclasses.dataclass(frozen=True)
class Namespace:
    name: str

    @property
    def path(self) -> pathlib.Path:
        return pathlib.Path("/run/netns", self.name)

    def argv(self, *command: str) -> list[str]:
        """Return the arguments of a command that runs inside while the test continues."""
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*command), check=check, capture_output=True, text=True, input=stdin)

    def links(self) -> dict[str, JsonObject]:
        return links(self.name)

    def addresses(self, link: str) -> set[str]:
        return addresses(link, self.name)

    def routes(self) -> list[JsonObject]:
        return routes(self.name)


@contextlib.contextmanager
def namespace(name: str) -> t.Iterator[Namespace]:
    """Create a namespace and remove it at the end of the block, unless the test has removed it."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    made = Namespace(name)
    try:
        yield made
    finally:
        if made.path.exists():
            subprocess.run(["ip", "netns", "delete", name], check=True)


@contextlib.contextmanager
def namespaces(*names: str) -> t.Iterator[list[Namespace]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(namespace(name)) for name in names]
