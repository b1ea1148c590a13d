# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""VLANs of ports, as the kernel sends them. A booted machine reads real replies."""

from __future__ import annotations

import socket
import struct
import unittest.mock

from ansible_collections.cni.node.plugins.module_utils._linux.links import bridge_vlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.links.test_rtnetlink import (
    DONE,
    NEWLINK,
    Datagram,
    Socket,
    attribute,
    message,
)


def port(ifindex: int, *entries: tuple[int, int]) -> bytes:
    vlans = b"".join(attribute(2, struct.pack("=HH", *entry)) for entry in entries)
    # The kernel sends flags of the bridge before the VLANs.
    return message(NEWLINK, struct.pack("=BxHiII", 7, 0, ifindex, 0, 0) + attribute(26, attribute(0, bytes(2)) + vlans))


def read(*messages: bytes) -> dict[int, PortVlans]:
    datagram = Datagram(b"".join((*messages, message(DONE, bytes(4)))))
    with unittest.mock.patch.object(socket, "socket", Socket([datagram])):
        return bridge_vlans.read()


def test_a_range_has_all_vlans_from_its_first_to_its_last() -> None:
    assert read(port(7, (0x6, 100), (0x4, 1), (0x8, 5), (0x10, 7), (0, 9), (0xC, 20), (0x14, 21))) == {
        7: PortVlans(100, frozenset((1, 20, 21, 100)), frozenset((5, 6, 7, 9)))
    }


def test_a_link_without_vlans_is_left_out() -> None:
    assert read(port(3), message(NEWLINK, bytes(16)), port(4, (0, 2))) == {4: PortVlans(tagged=frozenset((2,)))}


def test_an_incomplete_answer_is_an_error() -> None:
    broken = message(NEWLINK, bytes(16) + attribute(26, b"\xff\0\x02\0"))
    assert "cannot get the VLANs of the network namespace" in error_of(read, broken).msg
