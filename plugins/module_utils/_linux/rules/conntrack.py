# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find and remove entries of the connection tracking."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attribute, attributes

_PROTOCOLS = {("tcp", 4): 6, ("tcp", 6): 6, ("udp", 4): 17, ("udp", 6): 17, ("icmp", 4): 1, ("icmp", 6): 58}
_UDP = _PROTOCOLS["udp", 4]

# linux/netlink.h, linux/netfilter/nfnetlink_conntrack.h
_NESTED = 0x8000
_GET, _DELETE = 0x101, 0x102
_ORIGINAL, _REPLY, _ID, _ZONE, _FILTER = 1, 2, 12, 18, 25
_IP, _PROTOCOL = 1, 2
_SOURCES, _DESTINATIONS = {4: 1, 6: 3}, {4: 2, 6: 4}
_NUMBER, _SOURCE_PORT, _DESTINATION_PORT = 1, 2, 3
# The attributes of an echo request, identifier, type and code, and its type.
_ECHO = {4: (4, 5, 6, 8), 6: (7, 8, 9, 128)}
_FILTER_ORIGINAL, _FILTER_NUMBER, _FILTER_DESTINATION_PORT = 1, 1 << 3, 1 << 5

_PORT = struct.Struct("!H")
_FLAGS = struct.Struct("=I")


class Flow(t.NamedTuple):
    """A flow, seen from its first packet.

    Attributes:
        protocol: ``tcp``, ``udp`` or ``icmp``; the latter stands for ICMPv6, too.
        source_port: The identifier for ``icmp``.
        port: The destination port; 0 for ``icmp``.
    """

    protocol: str
    source: IpAddress
    destination: IpAddress
    source_port: int
    port: int


class Translation(t.NamedTuple):
    """Where the packets of a flow go, and the address and port that they seem to come from."""

    destination: IpAddress
    port: int
    source: IpAddress
    source_port: int


def find(flow: Flow) -> Translation | None:
    """Return what becomes of a flow in this thread's network namespace; None if the kernel does not track it."""
    version, number = flow.source.version, _PROTOCOLS[flow.protocol, flow.source.version]
    addresses = attribute(_SOURCES[version], flow.source.packed) + attribute(
        _DESTINATIONS[version], flow.destination.packed
    )
    protocol = attribute(_NUMBER, bytes((number,)))
    if flow.protocol == "icmp":
        identifier, kind, code, request = _ECHO[version]
        protocol += attribute(identifier, _PORT.pack(flow.source_port)) + attribute(kind, bytes((request,)))
        protocol += attribute(code, bytes(1))
    else:
        protocol += attribute(_SOURCE_PORT, _PORT.pack(flow.source_port))
        protocol += attribute(_DESTINATION_PORT, _PORT.pack(flow.port))
    original = attribute(_IP | _NESTED, addresses) + attribute(_PROTOCOL | _NESTED, protocol)
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    body = netlink.NETFILTER_HEADER.pack(family, 0, 0) + attribute(_ORIGINAL | _NESTED, original)
    try:
        with netlink.Connection(netlink.NETFILTER) as connection:
            answer, start, end = connection.get(_GET, body)
        places = attributes(answer, start + netlink.NETFILTER_HEADER.size, end)
        reply = _find_nested(answer, places, _REPLY, _IP)
        ports = _find_nested(answer, places, _REPLY, _PROTOCOL)
        source, destination = (answer[slice(*reply[kind[version]])] for kind in (_SOURCES, _DESTINATIONS))
    except (OSError, KeyError):
        return None
    port, source_port = (
        _PORT.unpack_from(answer, ports[kind][0])[0] if kind in ports else 0
        for kind in (_SOURCE_PORT, _DESTINATION_PORT)
    )
    return Translation(ipaddress.ip_address(source), port, ipaddress.ip_address(destination), source_port)


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
