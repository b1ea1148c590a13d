# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read routing rules, which choose the table for the route of a packet."""

from __future__ import annotations

import ipaddress
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpNetwork
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import (
    Connection,
    attributes,
    list_entries,
    number,
)

# linux/fib_rules.h
_RTM_GETRULE = 34
_FRA_SRC, _FRA_PRIORITY, _FRA_TABLE = 2, 6, 15
_FR_ACT_TO_TBL = 1
_RULE = struct.Struct("=BBBBBBBBI")


class Rule(t.NamedTuple):
    """A rule by which a table is searched for the route of a packet.

    Attributes:
        source: The packets' sources, or None for all.
        priority: Rules with lower numbers come first.
    """

    source: IpNetwork | None
    table: int
    priority: int
    family: int


def read(connection: Connection) -> tuple[Rule, ...]:
    """Return the routing rules of both families in the network namespace of a connection.

    Raises:
        OSError: As `Connection.dump`.
    """
    return list_entries(connection, _RTM_GETRULE, _RULE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0), _decode)


def _decode(answer: bytes, start: int, end: int) -> Rule | None:
    family, dummy, length, dummy, table, dummy, dummy, action, dummy = _RULE.unpack_from(answer, start)
    if action != _FR_ACT_TO_TBL or family not in (socket.AF_INET, socket.AF_INET6):
        return None
    places = attributes(answer, start + _RULE.size, end)
    source = answer[slice(*places[_FRA_SRC])] if _FRA_SRC in places else b""
    return Rule(
        source=ipaddress.ip_network((source, length), strict=False) if source else None,
        table=number(answer, places, _FRA_TABLE) or table,
        priority=number(answer, places, _FRA_PRIORITY),
        family=family,
    )
