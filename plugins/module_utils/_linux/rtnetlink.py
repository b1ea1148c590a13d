# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error

# linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h
_NLM_F_REQUEST, _NLM_F_DUMP, _NLM_F_DUMP_INTR = 0x1, 0x300, 0x10
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_RTM_GETLINK, _RTM_GETADDR, _RTM_GETROUTE = 18, 22, 26
_IFF_UP: t.Final = 0x1
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_LINK, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_EXT_MASK = (
    1,
    3,
    4,
    5,
    10,
    18,
    29,
)
_IFLA_LINK_NETNSID: t.Final = 37
_IFLA_INFO_KIND: t.Final = 1
_RTEXT_FILTER_SKIP_STATS: t.Final = 0x8
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_TABLE, _RTA_VIA = 1, 4, 5, 15, 18
_RTN_UNICAST: t.Final = 1
_ATTRIBUTE_TYPE: t.Final = 0x3FFF

_HEADER: t.Final = struct.Struct("=IHHII")
_ATTRIBUTE: t.Final = struct.Struct("=HH")
_LINK: t.Final = struct.Struct("=BxHiII")
_ADDRESS: t.Final = struct.Struct("=BBBBI")
_ROUTE: t.Final = struct.Struct("=BBBBBBBBI")
_NUMBER: t.Final = struct.Struct("=I")
_SIGNED: t.Final = struct.Struct("=i")
_NO_STATISTICS: t.Final = _ATTRIBUTE.pack(8, _IFLA_EXT_MASK) + _NUMBER.pack(_RTEXT_FILTER_SKIP_STATS)

# RT_TABLE_MAIN
MAIN_TABLE: t.Final = 254

# The kernel fills no more than 32 KiB at a time.
_ANSWER_SIZE: t.Final = 64 * 1024
# A dump during which something has changed is repeated; on a busy node the last one has to do.
_ATTEMPTS: t.Final = 3

IpAddress = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
IpInterface = t.Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
IpNetwork = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
T = t.TypeVar("T")


class Link(t.NamedTuple):
    """An interface.

    Attributes:
        mac: With colons, in small letters; empty where there is none.
        mtu: In bytes.
        master: Number of the bridge or the like that it is a port of, or 0.
        peer: Number of the link it stands on or is paired with, maybe in another namespace, or 0.
        kind: ``veth``, ``bridge`` and so on; empty for hardware and the loopback.
        is_peer_elsewhere: Whether the peer is in another namespace.
    """

    ifindex: int
    name: str
    mac: str
    mtu: int
    is_up: bool
    master: int
    peer: int
    kind: str
    is_peer_elsewhere: bool = False


class Address(t.NamedTuple):
    """An address of the link with this number."""

    link: int
    interface: IpInterface


class Route(t.NamedTuple):
    """A unicast route out of the link with this number; 0 for one with several ways."""

    destination: IpNetwork
    gateway: IpAddress | None
    link: int
    table: int


class View(t.NamedTuple):
    """What a network namespace has."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]
    routes: tuple[Route, ...]


def look(path: str = "", *, routes: bool = True) -> View:
    """Return what a network namespace has; without a path, that of this thread.

    Args:
        routes: Whether to ask for them as well: there are more of them than of all else.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        with _connected_inside(path) if path else _connected() as connection:
            return View(
                _links(connection),
                _dump(connection, _RTM_GETADDR, _ADDRESS.pack(0, 0, 0, 0, 0), _address),
                _dump(connection, _RTM_GETROUTE, _ROUTE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0), _route) if routes else (),
            )
    except OSError as exc:
        raise io_error("ask the kernel for the links of", path or "the network namespace", exc) from exc


def links() -> tuple[Link, ...]:
    """Return the links of this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        with _connected() as connection:
            return _links(connection)
    except OSError as exc:
        raise io_error("ask the kernel for the links of", "the network namespace", exc) from exc


def link(name: str, path: str = "") -> Link | None:
    """Return a link of a network namespace, or nothing; without a path, of that of this thread.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    encoded = name.encode("utf-8", "surrogateescape") + b"\0"
    asked = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(encoded), _IFLA_IFNAME) + encoded + bytes(-len(encoded) % 4)
    try:
        with _connected_inside(path) if path else _connected() as connection:
            _send(connection, _RTM_GETLINK, 0, _LINK.pack(0, 0, 0, 0, 0) + asked + _NO_STATISTICS)
            answer = connection.recv(_ANSWER_SIZE)
            return next(_link(answer, start, end) for dummy, start, end in _messages(answer))
    except OSError as exc:
        if exc.errno in (errno.ENODEV, errno.ERANGE):
            return None
        raise io_error("ask the kernel for the link", name, exc) from exc


def _links(connection: socket.socket) -> tuple[Link, ...]:
    return _dump(connection, _RTM_GETLINK, _LINK.pack(0, 0, 0, 0, 0) + _NO_STATISTICS, _link)


def _connected() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)


def _connected_inside(path: str) -> socket.socket:
    # Loading what enters a namespace takes longer than a look at the node's own.
    from ansible_collections.cni.node.plugins.module_utils._linux import netns

    return netns.opened_inside(path, _connected)


def _send(connection: socket.socket, kind: int, flags: int, body: bytes) -> None:
    connection.send(_HEADER.pack(_HEADER.size + len(body), kind, _NLM_F_REQUEST | flags, 0, 0) + body)


def _dump(
    connection: socket.socket, kind: int, body: bytes, decode: t.Callable[[bytes, int, int], T | None]
) -> tuple[T, ...]:
    for _attempt in range(_ATTEMPTS):
        _send(connection, kind, _NLM_F_DUMP, body)
        found: list[T | None] = []
        disturbed = False
        for flags, answer, start, end in _until_done(connection):
            disturbed = disturbed or bool(flags & _NLM_F_DUMP_INTR)
            found.append(decode(answer, start, end))
        if not disturbed:
            break
    return tuple(one for one in found if one is not None)


def _until_done(connection: socket.socket) -> t.Iterator[tuple[int, bytes, int, int]]:
    while True:
        answer = connection.recv(_ANSWER_SIZE)
        for flags, start, end in _messages(answer):
            if start == end:
                return
            yield flags, answer, start, end


def _messages(answer: bytes) -> t.Iterator[tuple[int, int, int]]:
    """Return flags, start and end of each message's body; that of the last is empty.

    Raises:
        OSError: The kernel refuses.
    """
    start = 0
    while start < len(answer):
        length, kind, flags, dummy, dummy = _HEADER.unpack_from(answer, start)
        body, is_last = start + _HEADER.size, kind == _NLMSG_DONE
        if kind in (_NLMSG_ERROR, _NLMSG_DONE) and length > _HEADER.size:
            _raise(-_SIGNED.unpack_from(answer, body)[0])
        yield flags, body, body if is_last else start + length
        start += (length + 3) & ~3


def _raise(number: int) -> None:
    if number:
        raise OSError(number, os.strerror(number))


def _attributes(answer: bytes, start: int, end: int) -> dict[int, tuple[int, int]]:
    """Return where the value of each attribute starts and ends, by its type."""
    found = {}
    while start < end:
        length, kind = _ATTRIBUTE.unpack_from(answer, start)
        found[kind & _ATTRIBUTE_TYPE] = (start + 4, start + length)
        start += (length + 3) & ~3
    return found


def _link(answer: bytes, start: int, end: int) -> Link:
    dummy, dummy, index, flags, dummy = _LINK.unpack_from(answer, start)
    found = _attributes(answer, start + _LINK.size, end)
    info = _attributes(answer, *found[_IFLA_LINKINFO]) if _IFLA_LINKINFO in found else {}
    return Link(
        ifindex=index,
        name=_text(answer, found[_IFLA_IFNAME]),
        mac=answer[slice(*found[_IFLA_ADDRESS])].hex(":") if _IFLA_ADDRESS in found else "",
        mtu=_number(answer, found, _IFLA_MTU),
        is_up=bool(flags & _IFF_UP),
        master=_number(answer, found, _IFLA_MASTER),
        peer=_number(answer, found, _IFLA_LINK),
        kind=_text(answer, info[_IFLA_INFO_KIND]) if _IFLA_INFO_KIND in info else "",
        is_peer_elsewhere=_IFLA_LINK_NETNSID in found,
    )


def _address(answer: bytes, start: int, end: int) -> Address | None:
    family, length, dummy, dummy, index = _ADDRESS.unpack_from(answer, start)
    found = _attributes(answer, start + _ADDRESS.size, end)
    place = found.get(_IFA_LOCAL) or found.get(_IFA_ADDRESS)
    if place is None or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    return Address(index, ipaddress.ip_interface((answer[slice(*place)], length)))


def _route(answer: bytes, start: int, end: int) -> Route | None:
    family, length, dummy, dummy, table, dummy, dummy, kind, dummy = _ROUTE.unpack_from(answer, start)
    if kind != _RTN_UNICAST or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    found = _attributes(answer, start + _ROUTE.size, end)
    nothing = bytes(4 if family == socket.AF_INET else 16)
    destination = answer[slice(*found[_RTA_DST])] if _RTA_DST in found else nothing
    return Route(
        destination=ipaddress.ip_network((destination, length)),
        gateway=_gateway(answer, found),
        link=_number(answer, found, _RTA_OIF),
        table=_number(answer, found, _RTA_TABLE) or table,
    )


def _gateway(answer: bytes, found: t.Mapping[int, tuple[int, int]]) -> IpAddress | None:
    if _RTA_GATEWAY in found:
        return ipaddress.ip_address(answer[slice(*found[_RTA_GATEWAY])])
    if _RTA_VIA in found:  # one of the other family, after two bytes that say which
        start, end = found[_RTA_VIA]
        return ipaddress.ip_address(answer[start + 2 : end])
    return None


def _number(answer: bytes, found: t.Mapping[int, tuple[int, int]], kind: int) -> int:
    return int(_NUMBER.unpack_from(answer, found[kind][0])[0]) if kind in found else 0


def _text(answer: bytes, place: tuple[int, int]) -> str:
    return answer[slice(*place)].rstrip(b"\0").decode("utf-8", "surrogateescape")


__all__ = ("MAIN_TABLE", "Address", "Link", "Route", "View", "link", "links", "look")
