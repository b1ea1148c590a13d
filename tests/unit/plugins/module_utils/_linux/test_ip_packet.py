# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packets that are made byte by byte. tests/integration/engine/test_diagnosis.py has the kernel that reads them."""

from __future__ import annotations

import ipaddress
import struct
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._linux import icmp, ip_packet

PORTS = st.integers(1, 0xFFFF)
NUMBERS: dict[tuple[str, t.Literal[4, 6]], int] = {
    ("tcp", 4): 6,
    ("tcp", 6): 6,
    ("udp", 4): 17,
    ("udp", 6): 17,
    ("icmp", 4): 1,
    ("icmp", 6): 58,
}


@pytest.mark.parametrize(("protocol", "version"), NUMBERS)
@given(data=st.data(), port=PORTS, source_port=PORTS)
def test_headers_have_lengths_and_checksums_that_a_receiver_accepts(
    protocol: str, version: t.Literal[4, 6], data: st.DataObject, port: int, source_port: int
) -> None:
    source, destination = (data.draw(st.ip_addresses(v=version)) for dummy in range(2))
    packet = ip_packet.build(protocol, source, destination, port, source_port)
    number = NUMBERS[protocol, version]
    if version == 4:
        header, body = packet[:20], packet[20:]
        assert (header[9], struct.unpack("!H", header[2:4])[0], icmp.checksum(header)) == (number, len(packet), 0)
        addresses = header[12:]
    else:
        header, body = packet[:40], packet[40:]
        assert (header[6], struct.unpack("!H", header[4:6])[0]) == (number, len(body))
        addresses = header[8:]
    assert addresses == source.packed + destination.packed
    is_covered = (protocol, version) != ("icmp", 4)
    covered = addresses + struct.pack("!II", len(body), number) if is_covered else b""
    assert icmp.checksum(covered + body) == 0


def test_the_ports_are_where_the_receiver_looks_for_them() -> None:
    source, destination = map(ipaddress.ip_address, ("192.0.2.1", "192.0.2.2"))
    assert struct.unpack("!HH", ip_packet.build("udp", source, destination, 53, 40000)[20:24]) == (40000, 53)
    assert struct.unpack("!H", ip_packet.build("icmp", source, destination, 0, 77)[24:26]) == (77,)
