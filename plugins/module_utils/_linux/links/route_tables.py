# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Move routes of a link to another table, with all their attributes."""

from __future__ import annotations

import errno
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import Connection, Place

# linux/rtnetlink.h
_RTM_NEWROUTE, _RTM_DELROUTE, _RTM_GETROUTE = 24, 25, 26
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY, _RTA_PREFSRC, _RTA_METRICS = 1, 4, 5, 6, 7, 8
_RTA_TABLE, _RTA_VIA, _RTA_PREF = 15, 18, 20
_NLM_F_REPLACE, _NLM_F_CREATE = 0x100, 0x400
# What a route is made of; the kernel reports other attributes as well.
_WRITTEN = (
    _RTA_DST,
    _RTA_OIF,
    _RTA_GATEWAY,
    _RTA_PRIORITY,
    _RTA_PREFSRC,
    _RTA_METRICS,
    _RTA_VIA,
    _RTA_PREF,
)
_ROUTE = struct.Struct("=BBBBBBBBI")
_NUMBER = struct.Struct("=I")
_LARGEST_SHORT_TABLE = 255


class RawRoute(t.NamedTuple):
    """A unicast route as the kernel describes it.

    Attributes:
        fields: The fixed part of its message.
        attributes: Its attributes, without the table.
    """

    fields: tuple[int, ...]
    attributes: bytes
    route: rtnetlink.Route

    @property
    def scope(self) -> int:
        return self.fields[6]

    @property
    def source(self) -> bytes:
        """The address that packets on this route get; empty if the kernel chooses it."""
        places = netlink.attributes(self.attributes, 0, len(self.attributes))
        return self.attributes[slice(*places[_RTA_PREFSRC])] if _RTA_PREFSRC in places else b""

    def message(self, table: int) -> bytes:
        family, length, source_length, tos, dummy, protocol, scope, kind, dummy = self.fields
        short = table if table <= _LARGEST_SHORT_TABLE else 0
        header = _ROUTE.pack(family, length, source_length, tos, short, protocol, scope, kind, 0)
        return header + self.attributes + netlink.attribute(_RTA_TABLE, _NUMBER.pack(table))


def read(ifindex: int) -> list[RawRoute]:
    """Return the routes of the main table through a link in this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with rtnetlink.wrap_errors("the routes of", "the network namespace"), rtnetlink.connect("") as connection:
        found = [
            raw
            for family in (socket.AF_INET, socket.AF_INET6)
            for place in connection.dump(_RTM_GETROUTE, _ROUTE.pack(family, 0, 0, 0, 0, 0, 0, 0, 0))
            if (raw := _decode(place)) is not None
        ]
    return [raw for raw in found if (raw.route.link, raw.route.table) == (ifindex, rtnetlink.MAIN_TABLE)]


def _decode(place: Place) -> RawRoute | None:
    answer, start, end = place
    route = rtnetlink.decode_route(answer, start, end)
    if route is None:
        return None
    places = netlink.attributes(answer, start + _ROUTE.size, end)
    parts = [netlink.attribute(kind, answer[begin:stop]) for kind, (begin, stop) in places.items() if kind in _WRITTEN]
    return RawRoute(_ROUTE.unpack_from(answer, start), b"".join(parts), route)


def add_to(routes: t.Iterable[RawRoute], table: int) -> None:
    """Write routes to another table; those with the same destination and priority are replaced.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with rtnetlink.wrap_errors(f"write the routes of table {table}:", "a route"), rtnetlink.connect("") as connection:
        for raw in routes:
            connection.change(_RTM_NEWROUTE, raw.message(table), _NLM_F_CREATE | _NLM_F_REPLACE)


def remove(routes: t.Iterable[RawRoute]) -> None:
    """Remove routes from the main table; do nothing for those that are gone.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with rtnetlink.wrap_errors("remove", "a route"), rtnetlink.connect("") as connection:
        for raw in routes:
            _remove(connection, raw)


def _remove(connection: Connection, raw: RawRoute) -> None:
    try:
        connection.change(_RTM_DELROUTE, raw.message(rtnetlink.MAIN_TABLE))
    except OSError as exc:
        if exc.errno != errno.ESRCH:
            raise
