# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._linux.netlink import ATTRIBUTE, Connection, attributes

# linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h
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

_LINK: t.Final = struct.Struct("=BxHiII")
_ADDRESS: t.Final = struct.Struct("=BBBBI")
_ROUTE: t.Final = struct.Struct("=BBBBBBBBI")
_NUMBER: t.Final = struct.Struct("=I")
_NO_STATISTICS: t.Final = ATTRIBUTE.pack(8, _IFLA_EXT_MASK) + _NUMBER.pack(_RTEXT_FILTER_SKIP_STATS)

# IFNAMSIZ: bytes, the final NUL included.
_NAME_SIZE: t.Final = 16
# RT_TABLE_MAIN
MAIN_TABLE: t.Final = 254

T = t.TypeVar("T")


class Link(t.NamedTuple):
    """An interface.

    Attributes:
        mac: With colons, in lower case; empty if there is none.
        mtu: In bytes.
        master: Index of the bridge, VRF or bond that it belongs to, or 0.
        peer: Index of its parent or veth peer, possibly in another namespace, or 0.
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
    """An address, and the index of its link."""

    link: int
    interface: IpInterface


class Route(t.NamedTuple):
    """A unicast route, and the index of its link; 0 for a multipath route."""

    destination: IpNetwork
    gateway: IpAddress | None
    link: int
    table: int


class View(t.NamedTuple):
    """The links, addresses and routes of a network namespace."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]
    routes: tuple[Route, ...]


def snapshot(path: str = "", *, routes: bool = True) -> View:
    """Return the links, addresses and routes of a network namespace, by default this thread's.

    Args:
        routes: Whether to read the routes, which may be many.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with _wrap_errors("the links of", path or "the network namespace"), connect(path) as connection:
        return View(
            _links(connection),
            _dump(connection, _RTM_GETADDR, _ADDRESS.pack(0, 0, 0, 0, 0), _address),
            _dump(connection, _RTM_GETROUTE, _ROUTE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0), _route) if routes else (),
        )


def links() -> tuple[Link, ...]:
    """Return the links of this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with _wrap_errors("the links of", "the network namespace"), connect("") as connection:
        return _links(connection)


def link(name: str, path: str = "") -> Link | None:
    """Return a link of a network namespace, by default this thread's, or None if it does not exist.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    encoded = name.encode("utf-8", "surrogateescape") + b"\0"
    if not 1 < len(encoded) <= _NAME_SIZE or b"\0" in encoded[:-1]:
        return None  # the kernel has no such name, and would truncate it
    request = ATTRIBUTE.pack(ATTRIBUTE.size + len(encoded), _IFLA_IFNAME) + encoded + bytes(-len(encoded) % 4)
    return _request_link(_LINK.pack(0, 0, 0, 0, 0) + request, name, path)


def link_by_index(ifindex: int) -> Link | None:
    """Return the link with this index in the network namespace of this thread, or None.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _request_link(_LINK.pack(0, 0, ifindex, 0, 0), f"number {ifindex}", "") if ifindex else None


def _request_link(request: bytes, what: str, path: str) -> Link | None:
    with _wrap_errors("the link", what), connect(path) as connection:
        try:
            return _link(*connection.get(_RTM_GETLINK, request + _NO_STATISTICS))
        except OSError as exc:
            if exc.errno in (errno.ENODEV, errno.ERANGE):
                return None
            raise


@contextlib.contextmanager
def _wrap_errors(what: str, which: str) -> t.Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise io_error(f"get {what}", which, exc) from exc
    except (LookupError, ValueError, struct.error) as exc:
        unread = OSError(errno.EBADMSG, f"the kernel's answer cannot be read ({exc})")
        raise io_error(f"get {what}", which, unread) from exc


def connect(path: str) -> Connection:
    """Open a connection inside a network namespace, by default this thread's."""
    if not path:
        return Connection()
    # Loaded late: it takes longer than reading the node's own namespace.
    from ansible_collections.cni.node.plugins.module_utils._linux import netns

    return netns.open_inside(path, Connection)


def _links(connection: Connection) -> tuple[Link, ...]:
    return _dump(connection, _RTM_GETLINK, _LINK.pack(0, 0, 0, 0, 0) + _NO_STATISTICS, _link)


def _dump(
    connection: Connection, kind: int, body: bytes, decode: t.Callable[[bytes, int, int], T | None]
) -> tuple[T, ...]:
    decoded = (decode(*place) for place in connection.dump(kind, body))
    return tuple(entry for entry in decoded if entry is not None)


def _link(answer: bytes, start: int, end: int) -> Link:
    dummy, dummy, index, flags, dummy = _LINK.unpack_from(answer, start)
    places = attributes(answer, start + _LINK.size, end)
    info = attributes(answer, *places[_IFLA_LINKINFO]) if _IFLA_LINKINFO in places else {}
    return Link(
        ifindex=index,
        name=_text(answer, places[_IFLA_IFNAME]),
        mac=answer[slice(*places[_IFLA_ADDRESS])].hex(":") if _IFLA_ADDRESS in places else "",
        mtu=_number(answer, places, _IFLA_MTU),
        is_up=bool(flags & _IFF_UP),
        master=_number(answer, places, _IFLA_MASTER),
        peer=_number(answer, places, _IFLA_LINK),
        kind=_text(answer, info[_IFLA_INFO_KIND]) if _IFLA_INFO_KIND in info else "",
        is_peer_elsewhere=_IFLA_LINK_NETNSID in places,
    )


def _address(answer: bytes, start: int, end: int) -> Address | None:
    family, length, dummy, dummy, index = _ADDRESS.unpack_from(answer, start)
    places = attributes(answer, start + _ADDRESS.size, end)
    place = places.get(_IFA_LOCAL) or places.get(_IFA_ADDRESS)
    if place is None or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    return Address(index, ipaddress.ip_interface((answer[slice(*place)], length)))


def _route(answer: bytes, start: int, end: int) -> Route | None:
    family, length, dummy, dummy, table, dummy, dummy, kind, dummy = _ROUTE.unpack_from(answer, start)
    if kind != _RTN_UNICAST or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    places = attributes(answer, start + _ROUTE.size, end)
    unspecified = bytes(4 if family == socket.AF_INET else 16)
    destination = answer[slice(*places[_RTA_DST])] if _RTA_DST in places else unspecified
    return Route(
        destination=ipaddress.ip_network((destination, length)),
        gateway=_gateway(answer, places),
        link=_number(answer, places, _RTA_OIF),
        table=_number(answer, places, _RTA_TABLE) or table,
    )


def _gateway(answer: bytes, places: t.Mapping[int, tuple[int, int]]) -> IpAddress | None:
    if _RTA_GATEWAY in places:
        return ipaddress.ip_address(answer[slice(*places[_RTA_GATEWAY])])
    if _RTA_VIA in places:  # a gateway of the other family, after two bytes with the family
        start, end = places[_RTA_VIA]
        return ipaddress.ip_address(answer[start + 2 : end])
    return None


def _number(answer: bytes, places: t.Mapping[int, tuple[int, int]], kind: int) -> int:
    return int(_NUMBER.unpack(answer[slice(*places[kind])])[0]) if kind in places else 0


def _text(answer: bytes, place: tuple[int, int]) -> str:
    return answer[slice(*place)].rstrip(b"\0").decode("utf-8", "surrogateescape")


__all__ = ("MAIN_TABLE", "Address", "Link", "Route", "View", "connect", "link", "link_by_index", "links", "snapshot")
