# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ask the kernel where it would send a packet, and what it knows of the neighbours there (rtnetlink(7))."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attribute

# linux/rtnetlink.h, linux/neighbour.h
_RTM_GETROUTE, _RTM_GETNEIGH = 26, 30
_RTA_DST, _RTA_SRC, _RTA_IIF, _RTA_OIF, _RTA_PREFSRC, _RTA_METRICS = 1, 2, 3, 4, 7, 8
_RTAX_MTU = 2
_KINDS = {1: "unicast", 2: "local", 3: "broadcast", 5: "multicast"}
_NDA_DST, _NDA_LLADDR = 1, 2
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH)
_INCOMPLETE, _FAILED = 0x01, 0x20

_ROUTE = struct.Struct("=BBBBBBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")
_NUMBER = struct.Struct("=I")


class RouteAnswer(t.NamedTuple):
    """Where the kernel would send a packet.

    Attributes:
        kind: ``unicast``, ``local`` and so on; empty if the kernel refuses the packet.
        link: Index of the link by which it leaves, or 0.
        gateway: The next hop; None if the destination itself is the next hop.
        source: The source address that the kernel would choose or has confirmed, or None.
        mtu: That of the route in bytes, or 0.
        error: The number of the error with which the kernel refuses the packet, or 0.
    """

    kind: str = ""
    link: int = 0
    gateway: IpAddress | None = None
    source: IpAddress | None = None
    mtu: int = 0
    error: int = 0


class Neighbour(t.NamedTuple):
    """A neighbour in the kernel's table.

    Attributes:
        mac: With colons, in lower case; empty if it has not answered.
        is_silent: Whether it has not answered.
    """

    mac: str
    is_silent: bool


def look_up(destination: IpAddress, source: IpAddress | None = None, arriving_on: int = 0) -> RouteAnswer:
    """Return where this thread's network namespace would send a packet.

    Args:
        source: The packet's source; None to let the kernel choose one.
        arriving_on: Index of the link by which the packet arrives; 0 if it is sent by a process here. For a packet that
            arrives, the kernel applies ``rp_filter`` and refuses to forward where forwarding is off.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    family = socket.AF_INET if destination.version == 4 else socket.AF_INET6
    bits = destination.max_prefixlen
    request = _ROUTE.pack(family, bits, bits if source else 0, 0, 0, 0, 0, 0, 0) + attribute(
        _RTA_DST, destination.packed
    )
    if source is not None:
        request += attribute(_RTA_SRC, source.packed)
    if arriving_on:
        request += attribute(_RTA_IIF, _NUMBER.pack(arriving_on))
    with rtnetlink.wrap_errors("the route to", str(destination)), rtnetlink.connect("") as connection:
        try:
            answer, start, end = connection.get(_RTM_GETROUTE, request)
        except OSError as exc:
            if exc.errno in (errno.EBADMSG, errno.ETIMEDOUT, errno.EMSGSIZE, None):
                raise
            return RouteAnswer(error=exc.errno)
        places = netlink.attributes(answer, start + _ROUTE.size, end)
        kind = _KINDS.get(_ROUTE.unpack_from(answer, start)[7], "other")
        metrics = netlink.attributes(answer, *places[_RTA_METRICS]) if _RTA_METRICS in places else {}
        return RouteAnswer(
            kind,
            netlink.number(answer, places, _RTA_OIF),
            rtnetlink.decode_gateway(answer, places),
            ipaddress.ip_address(answer[slice(*places[_RTA_PREFSRC])]) if _RTA_PREFSRC in places else source,
            netlink.number(answer, metrics, _RTAX_MTU),
        )


def link_to(address: IpAddress) -> Link | None:
    """Return the link through which this thread's network namespace reaches an address; None if it reaches it nowhere.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    answer = look_up(address)
    if answer.error not in (0, *_NO_ROUTE):
        with rtnetlink.wrap_errors("the route to", str(address)):
            raise OSError(answer.error, os.strerror(answer.error))
    return rtnetlink.link_by_index(answer.link) if answer.link else None


def neighbour(address: IpAddress, ifindex: int) -> Neighbour | None:
    """Return what this thread's network namespace knows of a neighbour on a link; None if it has not asked for it yet.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6

    def decode(answer: bytes, start: int, end: int) -> Neighbour | None:
        dummy, index, state, dummy, dummy = _NEIGHBOUR.unpack_from(answer, start)
        places = netlink.attributes(answer, start + _NEIGHBOUR.size, end)
        if index != ifindex or _NDA_DST not in places or answer[slice(*places[_NDA_DST])] != address.packed:
            return None
        mac = answer[slice(*places[_NDA_LLADDR])].hex(":") if _NDA_LLADDR in places else ""
        return Neighbour(mac, bool(state & (_INCOMPLETE | _FAILED)))

    request = _NEIGHBOUR.pack(family, ifindex, 0, 0, 0)
    with rtnetlink.wrap_errors("the neighbours on", f"link {ifindex}"), rtnetlink.connect("") as connection:
        return next(iter(netlink.list_entries(connection, _RTM_GETNEIGH, request, decode)), None)
