# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TCP connections of containers through the node's firewall, with a neighbour of the node in another namespace."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import select
import socket
import subprocess
import typing as t

from ansible_collections.cni.node.tests.integration.engine.throwaway_node import (
    inside,
    spare_duplicate_address_detection,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

# Of the node and of its neighbour, which has no route to containers.
NODE = {4: "192.0.2.1", 6: "2001:db8::1"}
NEIGHBOUR = {4: "192.0.2.2", 6: "2001:db8::2"}
_PREFIX = {4: 24, 6: 64}
_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
_PATIENCE = 10.0  # seconds, for TCP's retransmissions
_numbers = itertools.count()


class Connection:
    """Both ends of a TCP connection, whose sockets stay in the namespaces in which they were opened."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server

    def exchange(self) -> None:
        """Send a new text each way; fail if one does not arrive."""
        for sender, receiver in ((self.client, self.server), (self.server, self.client)):
            self.receive(self.send(sender), receiver)

    def send(self, sender: socket.socket) -> bytes:
        text = f"text {next(_numbers)}.".encode()
        sender.sendall(text)
        return text

    def receive(self, text: bytes, receiver: socket.socket) -> None:
        received = b""
        while len(received) < len(text):
            assert select.select([receiver], [], [], _PATIENCE)[0], f"{text!r} does not arrive"
            received += receiver.recv(len(text) - len(received))
        assert received == text

    def close(self) -> None:
        self.client.close()
        self.server.close()


class Listener:
    """A listening socket in a namespace, and its connections, which are closed with it."""

    def __init__(self, at: pathlib.Path, family: int, port: int) -> None:
        with inside(at):
            self._socket = socket.create_server(("", port), family=_FAMILY[family])
        self._socket.settimeout(_PATIENCE)
        self._connections: list[Connection] = []

    def connect(
        self, at: pathlib.Path, address: str, port: int, source: str = "", patience: float = _PATIENCE
    ) -> Connection:
        """Connect from a namespace; fail if the connection does not reach this socket, or comes from another source."""
        with inside(at):
            client = socket.create_connection((address, port), timeout=patience)
        server, peer = self._socket.accept()
        self._connections.append(Connection(client, server))
        assert peer[0] == source or not source
        return self._connections[-1]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._socket.close()


@contextlib.contextmanager
def listen(at: pathlib.Path, family: int, port: int) -> t.Iterator[Listener]:
    listener = Listener(at, family, port)
    try:
        yield listener
    finally:
        listener.close()


@contextlib.contextmanager
def neighbour() -> t.Iterator[Namespace]:
    """Yield a namespace in the same network as the node, for the block."""
    with namespace("neighbour") as made:
        with inside(made.path):
            spare_duplicate_address_detection()
        _ip("link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", made.name)
        for where, link, addresses in (([], "lan0", NODE), (["-n", made.name], "eth0", NEIGHBOUR)):
            _ip(*where, "link", "set", link, "up")
            for family, address in addresses.items():
                # Even without detection, the kernel needs a moment before an address of IPv6 can be used.
                at_once = ["nodad"] if family == 6 else []
                _ip(*where, "address", "add", f"{address}/{_PREFIX[family]}", "dev", link, *at_once)
        yield made


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
