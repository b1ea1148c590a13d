# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages that a process in a network namespace forges in the kernel's name are ignored."""

from __future__ import annotations

import contextlib
import socket
import struct

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import netlink, rtnetlink
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import own_network

pytestmark = [pytest.mark.requires_root]

NAME = b"evil\0\0\0\0"
FORGED = (
    struct.pack("=IHHII", 44, 16, 0, 1, 0) + bytes(16) + struct.pack("=HH", 4 + len(NAME), 3) + NAME,
    bytes(16),
)


def test_forged_netlink_messages_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    send = netlink.Connection._send

    def spoof(connection: netlink.Connection, kind: int, flags: int, body: bytes) -> None:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as spoofer:
            for forged in FORGED:
                with contextlib.suppress(ConnectionRefusedError):
                    spoofer.sendto(forged, (connection._port, 0))
        send(connection, kind, flags, body)

    monkeypatch.setattr(netlink.Connection, "_send", spoof)
    with own_network():
        loopback = rtnetlink.link("lo")
        assert loopback is not None
        assert loopback.name == "lo"
        assert [link.name for link in rtnetlink.links()] == ["lo"]
