# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove entries of the connection tracking."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attribute, attributes

_UDP = 17

# linux/netlink.h, linux/netfilter/nfnetlink_conntrack.h
_NESTED = 0x8000
_GET, _DELETE = 0x101, 0x102
_ORIGINAL, _REPLY, _ID, _ZONE, _FILTER = 1, 2, 12, 18, 25
_IP, _PROTOCOL = 1, 2
_SOURCES = {4: 1, 6: 3}
_NUMBER, _DESTINATION_PORT = 1, 3
_FILTER_ORIGINAL, _FILTER_NUMBER, _FILTER_DESTINATION_PORT = 1, 1 << 3, 1 << 5

_PORT = struct.Struct("!H")
_FLAGS = struct.Struct("=I")


def forget_udp(family: int, ports: t.Collection[int], addresses: t.Iterable[str] | None = None) -> None:
    """Remove the UDP flows to ports of the node in this thread's network namespace.

    A flow keeps its destination for as long as the client sends, whatever the rules of the firewall say by then. No error is
    raised: a kernel without connection tracking has no flows, and others end by themselves.

    Args:
        family: 4 or 6.
        addresses: Only flows that are forwarded to one of these addresses; None for all flows.
    """
    packed = None if addresses is None else {ipaddress.ip_address(address).packed for address in addresses}
    if not ports or packed == set():
        return
    header = netlink.NETFILTER_HEADER.pack(socket.AF_INET if family == 4 else socket.AF_INET6, 0, 0)

    def decode(answer: bytes, start: int, end: int) -> bytes | None:
        """Return the attributes that identify a flow, or None if it stays."""
        places = attributes(answer, start + netlink.NETFILTER_HEADER.size, end)
        protocol = _find_nested(answer, places, _ORIGINAL, _PROTOCOL)
        if (
            answer[protocol[_NUMBER][0]] != _UDP
            or _PORT.unpack_from(answer, protocol[_DESTINATION_PORT][0])[0] not in ports
        ):
            return None
        if (
            packed is not None
            and answer[slice(*_find_nested(answer, places, _REPLY, _IP)[_SOURCES[family]])] not in packed
        ):
            return None
        return b"".join(
            attribute(kind, answer[slice(*places[kind & ~_NESTED])])
            for kind in (_ORIGINAL | _NESTED, _ZONE, _ID)
            if kind & ~_NESTED in places
        )

    with contextlib.suppress(OSError), netlink.Connection(netlink.NETFILTER) as connection:
        for flow in netlink.list_entries(connection, _GET, header + _filter(ports), decode):
            with contextlib.suppress(OSError):  # it has just ended
                connection.change(_DELETE, header + flow)


def _filter(ports: t.Collection[int]) -> bytes:
    """Return what limits a listing to UDP, or to the only port; kernels before 5.8 list everything."""
    protocol, flags = attribute(_NUMBER, bytes((_UDP,))), _FILTER_NUMBER
    if len(ports) == 1:
        protocol += attribute(_DESTINATION_PORT, _PORT.pack(*ports))
        flags |= _FILTER_DESTINATION_PORT
    pattern = attribute(_ORIGINAL | _NESTED, attribute(_PROTOCOL | _NESTED, protocol))
    return pattern + attribute(_FILTER | _NESTED, attribute(_FILTER_ORIGINAL, _FLAGS.pack(flags)))


def _find_nested(answer: bytes, places: t.Mapping[int, tuple[int, int]], *kinds: int) -> dict[int, tuple[int, int]]:
    """Return the attributes below a path of nested ones."""
    for kind in kinds:
        places = attributes(answer, *places[kind])
    return dict(places)
