# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read links, addresses and routes of a network namespace (rtnetlink(7))."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    IpNetwork,
    unpack_interface,
    unpack_network,
)
from ansible_collections.cni.node.plugins.module_utils._linux import netns, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import link_message, routing_rules
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import (
    ATTRIBUTE,
    Connection,
    Place,
    attribute,
    attributes,
    list_entries,
    number,
    text,
)
from ansible_collections.cni.node.plugins.module_utils._linux.links.routing_rules import Rule

# linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/net_namespace.h
_RTM_GETLINK, _RTM_GETADDR, _RTM_GETROUTE, _RTM_GETNSID = 18, 22, 26, 90
_RTM_NEWNSID = 88
_IFLA_IFNAME, _IFLA_IFALIAS, _IFLA_EXT_MASK = 3, 20, 29
_RTEXT_FILTER_SKIP_STATS = 0x8
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_TABLE, _RTA_VIA = 1, 4, 5, 15, 18
_RTN_UNICAST, _RTPROT_BOOT = 1, 3
_NETNSA_NSID, _NETNSA_FD = 1, 3
_ANY_NUMBER = b"\xff\xff\xff\xff"

_ADDRESS = struct.Struct("=BBBBI")
_ROUTE = struct.Struct("=BBBBBBBBI")
_RTM_F_CLONED = 0x200
_NUMBER = struct.Struct("=I")
# The size of a message that has only a family, with its padding.
_FAMILY_ONLY = 4
_NO_STATISTICS = ATTRIBUTE.pack(8, _IFLA_EXT_MASK) + _NUMBER.pack(_RTEXT_FILTER_SKIP_STATS)
_ALL_LINKS = link_message.MESSAGE.pack(0, 0, 0, 0, 0) + _NO_STATISTICS

# IFNAMSIZ: bytes, the final NUL included.
_NAME_SIZE = 16
# RT_TABLE_MAIN
MAIN_TABLE = 254
# The name of the loopback interface of each network namespace.
LOOPBACK = "lo"
# Normalized values by their paths below /proc/sys; None for a setting that the kernel does not have.
Settings = t.Mapping[str, t.Optional[str]]


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
    """The links, addresses, routes, routing rules and some settings of a network namespace."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]
    routes: tuple[Route, ...]
    rules: tuple[Rule, ...] = ()
    settings: Settings = {}

    def find_default_link(self) -> Link | None:
        """Return the link of the first default route of the main table, which is the master that plugins choose; or None."""
        main = [route for route in self.routes if route.table == MAIN_TABLE and route.link]
        index = next((route.link for route in main if not route.destination.prefixlen), 0)
        return next((link for link in self.links if link.ifindex == index), None)


def snapshot(path: str = "", *, routes: bool = True, rules: bool = False, settings: t.Collection[str] = ()) -> View:
    """Return the links, addresses, routes and routing rules of a network namespace, by default this thread's.

    Args:
        routes: Whether to read the routes, which may be many.
        rules: Whether to read the routing rules.
        settings: The paths below ``/proc/sys`` of the settings to read. A thread enters the namespace once for all.

    Raises:
        CniError: ``IO_FAILURE``.
    """

    def enter() -> tuple[Settings, Connection]:
        return {each: sysctl.read_at(each) for each in settings}, Connection()

    with wrap_errors("the links of", path or "the network namespace"):
        values, connection = netns.run_inside(path, enter) if path else enter()
        with connection:
            return View(
                _links(connection),
                list_entries(connection, _RTM_GETADDR, _ADDRESS.pack(0, 0, 0, 0, 0), _address),
                list_entries(connection, _RTM_GETROUTE, _ROUTE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0), decode_route)
                if routes
                else (),
                routing_rules.read(connection) if rules else (),
                values,
            )


def addresses(ifindex: int = 0) -> tuple[Address, ...]:
    """Return the addresses of a link in this thread's network namespace, or of all links.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with wrap_errors("the addresses of", "the network namespace"), connect("", strict=bool(ifindex)) as connection:
        found = list_entries(connection, _RTM_GETADDR, _ADDRESS.pack(0, 0, 0, 0, ifindex), _address)
    return tuple(address for address in found if ifindex in (0, address.link))


def routes(ifindex: int = 0) -> tuple[Route, ...]:
    """Return the routes of a link in this thread's network namespace.

    Without a link, return those of the main table that plugins or operators added: a router may have a million others.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    table, protocol = (0, 0) if ifindex else (MAIN_TABLE, _RTPROT_BOOT)
    link = ATTRIBUTE.pack(8, _RTA_OIF) + _NUMBER.pack(ifindex) if ifindex else b""
    found: list[Route] = []
    with wrap_errors("the routes of", "the network namespace"), connect("", strict=True) as connection:
        for family in (socket.AF_INET, socket.AF_INET6):
            request = _ROUTE.pack(family, 0, 0, 0, table, protocol, 0, 0, 0) + link
            try:
                found += list_entries(connection, _RTM_GETROUTE, request, decode_route)
            except OSError as exc:
                if exc.errno not in (errno.ENOENT, errno.EAFNOSUPPORT):  # a table without any route does not exist
                    raise
    return tuple(route for route in found if ifindex in (0, route.link))


def links() -> tuple[Link, ...]:
    """Return the links of this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with wrap_errors("the links of", "the network namespace"), connect("") as connection:
        return _links(connection)


class LinkTable:
    """The links of a network namespace. Each is decoded when it is needed, because a node may have thousands."""

    def __init__(self, messages: t.Sequence[Place]) -> None:
        self._messages: dict[int, Place] = {}
        self._indexes: dict[str, int] = {}
        self._links: dict[int, Link] = {}
        for message in messages:
            index, name = link_message.identify(*message)
            self._messages[index], self._indexes[name] = message, index

    def by_name(self, name: str) -> Link | None:
        """Return a link, or None; errors as `links`."""
        return self.by_index(self._indexes.get(name, 0))

    def by_index(self, ifindex: int) -> Link | None:
        """Return a link, or None; errors as `links`."""
        if ifindex not in self._links and ifindex in self._messages:
            with wrap_errors("the link", f"number {ifindex}"):
                self._links[ifindex] = link_message.decode(*self._messages[ifindex])
        return self._links.get(ifindex)


def link_table() -> LinkTable:
    """Return the links of this thread's network namespace, of which few will be needed; errors as `links`."""
    with wrap_errors("the links of", "the network namespace"), connect("") as connection:
        return LinkTable(connection.dump(_RTM_GETLINK, _ALL_LINKS))


def link(name: str, path: str = "") -> Link | None:
    """Return a link of a network namespace, by default this thread's, or None if it does not exist.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    encoded = name.encode("utf-8", "surrogateescape") + b"\0"
    if not 1 < len(encoded) <= _NAME_SIZE or b"\0" in encoded[:-1]:
        return None  # the kernel has no such name, and would truncate it
    request = attribute(_IFLA_IFNAME, encoded)
    return _request_link(link_message.MESSAGE.pack(0, 0, 0, 0, 0) + request, name, path)


def link_by_index(ifindex: int) -> Link | None:
    """Return the link with this index in the network namespace of this thread, or None.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _request_link(link_message.MESSAGE.pack(0, 0, ifindex, 0, 0), f"number {ifindex}", "") if ifindex else None


def netns_id(path: str) -> int:
    """Return the number by which this thread's network namespace knows another one; `UNKNOWN_NETNS` if it has none.

    The kernel gives out the number when it first lists a link whose peer is there, and never changes it.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with wrap_errors("the number of the network namespace", path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            request = bytes(_FAMILY_ONLY) + attribute(_NETNSA_FD, _NUMBER.pack(descriptor))
            with connect("") as connection:
                answer, start, end = connection.get(_RTM_GETNSID, request)
        finally:
            os.close(descriptor)
        places = attributes(answer, start + _FAMILY_ONLY, end)
        return int.from_bytes(answer[slice(*places[_NETNSA_NSID])], sys.byteorder, signed=True)


def assign_netns_id(path: str) -> int:
    """Return the number by which this thread's network namespace knows another one, which the kernel gives out if there is none.

    The kernel notifies of changes inside namespaces with a number only.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    number = netns_id(path)
    if number >= 0:
        return number
    with wrap_errors("the number of the network namespace", path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            wanted = attribute(_NETNSA_NSID, _ANY_NUMBER) + attribute(_NETNSA_FD, _NUMBER.pack(descriptor))
            with connect("") as connection:
                connection.change(_RTM_NEWNSID, bytes(_FAMILY_ONLY) + wanted)
        except FileExistsError:  # another process, or the kernel for a listing, has just given it a number
            pass
        finally:
            os.close(descriptor)
    return netns_id(path)


def alias(ifindex: int) -> str:
    """Return the alias of a link in this thread's network namespace; an empty string if it has none.

    Raises:
        CniError: ``IO_FAILURE``, also if there is no such link.
    """
    request = link_message.MESSAGE.pack(0, 0, ifindex, 0, 0) + _NO_STATISTICS
    with wrap_errors("the alias of the link", f"number {ifindex}"), connect("") as connection:
        answer, start, end = connection.get(_RTM_GETLINK, request)
    places = attributes(answer, start + link_message.MESSAGE.size, end)
    return text(answer, places[_IFLA_IFALIAS]) if _IFLA_IFALIAS in places else ""


def _request_link(request: bytes, what: str, path: str) -> Link | None:
    with wrap_errors("the link", what), connect(path) as connection:
        try:
            return link_message.decode(*connection.get(_RTM_GETLINK, request + _NO_STATISTICS))
        except OSError as exc:
            if exc.errno in (errno.ENODEV, errno.ERANGE):
                return None
            raise


@contextlib.contextmanager
def wrap_errors(what: str, which: str) -> t.Iterator[None]:
    """Raise ``IO_FAILURE`` for what goes wrong while the kernel is read.

    Args:
        what: What is read.
        which: Where it is.
    """
    try:
        yield
    except OSError as exc:
        raise io_error(f"get {what}", which, exc) from exc
    except (LookupError, ValueError, struct.error) as exc:
        unread = OSError(errno.EBADMSG, f"the kernel's answer cannot be read ({exc})")
        raise io_error(f"get {what}", which, unread) from exc


def connect(path: str, *, strict: bool = False) -> Connection:
    """Open a connection inside a network namespace, by default this thread's.

    Args:
        strict: Whether the kernel filters what it lists; kernels before 4.20 do not.
    """
    if not path:
        return Connection(strict=strict)
    return netns.run_inside(path, lambda: Connection(strict=strict))


def _links(connection: Connection) -> tuple[Link, ...]:
    return list_entries(connection, _RTM_GETLINK, _ALL_LINKS, link_message.decode)


def _address(answer: bytes, start: int, end: int) -> Address | None:
    family, length, dummy, dummy, index = _ADDRESS.unpack_from(answer, start)
    places = attributes(answer, start + _ADDRESS.size, end)
    place = places.get(_IFA_LOCAL) or places.get(_IFA_ADDRESS)
    if place is None or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    return Address(index, unpack_interface(answer[slice(*place)], length))


def decode_route(answer: bytes, start: int, end: int) -> Route | None:
    """Return the route of a message; None for one that is not unicast, or that the kernel has learnt from an ICMP message."""
    family, length, dummy, dummy, table, dummy, dummy, kind, flags = _ROUTE.unpack_from(answer, start)
    if kind != _RTN_UNICAST or flags & _RTM_F_CLONED or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    places = attributes(answer, start + _ROUTE.size, end)
    unspecified = bytes(4 if family == socket.AF_INET else 16)
    destination = answer[slice(*places[_RTA_DST])] if _RTA_DST in places else unspecified
    return Route(
        destination=unpack_network(destination, length),
        gateway=decode_gateway(answer, places),
        link=number(answer, places, _RTA_OIF),
        table=number(answer, places, _RTA_TABLE) or table,
    )


def decode_gateway(answer: bytes, places: t.Mapping[int, tuple[int, int]]) -> IpAddress | None:
    """Return the next hop in the attributes of a route; None if the destination itself is the next hop."""
    if _RTA_GATEWAY in places:
        return ipaddress.ip_address(answer[slice(*places[_RTA_GATEWAY])])
    if _RTA_VIA in places:  # a gateway of the other family, after two bytes with the family
        start, end = places[_RTA_VIA]
        return ipaddress.ip_address(answer[start + 2 : end])
    return None
