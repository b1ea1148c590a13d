# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages that a process in a network namespace forges in the kernel's name are ignored."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import struct

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.links import link_message, netlink, rtnetlink
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import own_network

pytestmark = [pytest.mark.requires_root]

RTM_NEWLINK, RTM_GETLINK, IFLA_IFNAME = 16, 18, 3
NAME = b"evil\0\0\0\0"
LOOPBACK = link_message.MESSAGE.pack(0, 0, 1, 0, 0)


def forge(port: int) -> tuple[bytes, ...]:
    """Return the answer to the first request of a socket, with a link that does not exist, and an invalid message."""
    body = bytes(16) + struct.pack("=HH", 4 + len(NAME), IFLA_IFNAME) + NAME
    return struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, 0, 1, port) + body, bytes(16)


def spoof() -> None:
    """Send forged messages to all netlink sockets of this thread's network namespace."""
    table = pathlib.Path("/proc/thread-self/net/netlink").read_text(encoding="ascii").splitlines()[1:]
    rows = [line.split() for line in table]
    ports = [int(port) for dummy, protocol, port, *dummies in rows if int(protocol) == socket.NETLINK_ROUTE]
    assert any(ports)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as spoofer:
        for port in filter(None, ports):
            for forged in forge(port):
                with contextlib.suppress(ConnectionRefusedError):
                    spoofer.sendto(forged, (port, 0))


def test_forged_netlink_messages_are_ignored() -> None:
    with own_network():
        with rtnetlink.connect("") as connection:
            spoof()
            assert link_message.decode(*connection.get(RTM_GETLINK, LOOPBACK)).name == "lo"
        with rtnetlink.connect("") as connection:
            spoof()
            links = netlink.list_entries(connection, RTM_GETLINK, bytes(16), link_message.decode)
            assert [link.name for link in links] == ["lo"]
