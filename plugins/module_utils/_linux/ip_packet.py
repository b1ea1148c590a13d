# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The bytes of a small IP packet."""

from __future__ import annotations

import random
import struct

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux import icmp

_PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17}
_ICMPV6 = 58
_HOPS = 64
_SYN = 2
_WINDOW = 64240
# Where the checksum is.
_OFFSETS = {1: 2, 6: 16, 17: 6, _ICMPV6: 2}
_HEADER_OFFSET = 10
_DO_NOT_FRAGMENT = 0x4000


def build(protocol: str, source: IpAddress, destination: IpAddress, port: int, source_port: int) -> bytes:
    """Return the packet that asks for a TCP connection, an empty UDP datagram, or an echo request.

    Args:
        protocol: ``tcp``, ``udp`` or ``icmp``, which stands for ICMPv6 as well.
        source_port: The identifier of an echo request.
    """
    version = destination.version
    number = _ICMPV6 if protocol == "icmp" and version == 6 else _PROTOCOLS[protocol]
    if protocol == "tcp":
        sequence = random.SystemRandom().getrandbits(32)
        body = struct.pack("!HHIIBBHHH", source_port, port, sequence, 0, 5 << 4, _SYN, _WINDOW, 0, 0)
    elif protocol == "udp":
        body = struct.pack("!HHHH", source_port, port, 8, 0)
    else:
        body = icmp.echo_request(version, source_port)
    # What the checksum covers of the header (RFC 9293, RFC 8200), in any order.
    covered = source.packed + destination.packed + struct.pack("!II", len(body), number)
    body = _with_checksum(body, _OFFSETS[number], b"" if number == _PROTOCOLS["icmp"] else covered)
    if version == 6:
        return struct.pack("!IHBB", 6 << 28, len(body), number, _HOPS) + source.packed + destination.packed + body
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, _DO_NOT_FRAGMENT, _HOPS, number, 0)
    return _with_checksum(header + source.packed + destination.packed, _HEADER_OFFSET) + body


def _with_checksum(content: bytes, offset: int, covered: bytes = b"") -> bytes:
    start, end = content[:offset], content[offset + 2 :]
    return start + struct.pack("!H", icmp.checksum(covered + start + b"\0\0" + end)) + end
