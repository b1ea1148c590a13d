# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Named network namespaces for tests, and what the kernel has in them or on the node itself (namespace None)."""

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

Json = dict[str, t.Any]

_SIOCSIFFLAGS, _SIOCSIFNAME = 0x8914, 0x8923


def ip(*arguments: str, namespace: str | None = None) -> list[Json]:
    """What `ip -j` prints; it leaves empty objects for what it filtered out."""
    where = ["-n", namespace] if namespace else []
    done = subprocess.run(["ip", "-j", *where, *arguments], check=True, capture_output=True, text=True)
    return [entry for entry in json.loads(done.stdout or "[]") if entry]


def links(namespace: str | None = None) -> dict[str, Json]:
    """By name; with addresses in `addr_info` and the kind in `linkinfo`."""
    return {link["ifname"]: link for link in ip("-d", "address", "show", namespace=namespace)}


def addresses(link: str, namespace: str | None = None) -> set[str]:
    """As "10.1.0.2/24"; without those that the kernel gives each IPv6 link by itself."""
    return {f"{address['local']}/{address['prefixlen']}" for address in assigned(links(namespace)[link])}


def assigned(link: Json) -> list[Json]:
    return [
        address for address in link["addr_info"] if not (address["family"] == "inet6" and address["scope"] == "link")
    ]


def routes(namespace: str | None = None) -> list[Json]:
    """Of both families and all tables, without those that follow from an address or are link-local."""
    found = [
        route
        for family in ("-4", "-6")
        for route in ip(family, "-N", "route", "show", "table", "all", namespace=namespace)
    ]
    derived = {"2", "3", "4", "5", "local", "broadcast", "anycast", "multicast"}
    return [route for route in found if route.get("type") not in derived and not route["dst"].startswith("fe80:")]


def rename_link(name: bytes, other: bytes) -> None:
    """Of this thread's namespace, to any bytes that the kernel takes; the link is down then."""
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
        """For a command that runs inside while the test goes on."""
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*command), check=check, capture_output=True, text=True, input=stdin)

    def links(self) -> dict[str, Json]:
        return links(self.name)

    def addresses(self, link: str) -> set[str]:
        return addresses(link, self.name)

    def routes(self) -> list[Json]:
        return routes(self.name)


@contextlib.contextmanager
def namespace(name: str) -> t.Iterator[Namespace]:
    """A new namespace, which the test may have removed by itself when the block ends."""
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
