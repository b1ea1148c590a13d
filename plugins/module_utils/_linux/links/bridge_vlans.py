# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the VLANs of the ports of bridges."""

from __future__ import annotations

import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import link_message, netlink, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import ATTRIBUTE

# linux/rtnetlink.h, linux/if_link.h, linux/if_bridge.h
_RTM_GETLINK = 18
_IFLA_AF_SPEC, _IFLA_EXT_MASK, _IFLA_BRIDGE_VLAN_INFO = 26, 29, 2
_RTEXT_FILTER_BRVLAN_COMPRESSED = 0x4
_PVID, _UNTAGGED, _RANGE_BEGIN = 0x2, 0x4, 0x8
ACCESS = _PVID | _UNTAGGED

_VLAN = struct.Struct("=HH")
_COMPRESSED = ATTRIBUTE.pack(8, _IFLA_EXT_MASK) + struct.pack("=I", _RTEXT_FILTER_BRVLAN_COMPRESSED)


class PortVlans(t.NamedTuple):
    """The VLANs of a port.

    Attributes:
        pvid: The VLAN of untagged packets that the port receives (PVID), or 0.
        untagged: The VLANs whose packets it sends untagged.
        tagged: The VLANs whose packets it sends tagged.
    """

    pvid: int = 0
    untagged: frozenset[int] = frozenset()
    tagged: frozenset[int] = frozenset()


def read() -> dict[int, PortVlans]:
    """Return the VLANs of all ports in this thread's network namespace, by interface index.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    request = link_message.MESSAGE.pack(socket.AF_BRIDGE, 0, 0, 0, 0) + _COMPRESSED
    with rtnetlink.wrap_errors("the VLANs of", "the network namespace"), rtnetlink.connect("") as connection:
        return dict(netlink.list_entries(connection, _RTM_GETLINK, request, _port))


def _port(answer: bytes, start: int, end: int) -> tuple[int, PortVlans] | None:
    """Return a port and its VLANs; None for other links, such as hardware with a bridge of its own."""
    dummy, dummy, ifindex, dummy, dummy = link_message.MESSAGE.unpack_from(answer, start)
    places = netlink.attributes(answer, start + link_message.MESSAGE.size, end)
    if _IFLA_AF_SPEC not in places:
        return None
    entries = [
        _VLAN.unpack_from(answer, place)
        for place, dummy in netlink.find_all(answer, *places[_IFLA_AF_SPEC], _IFLA_BRIDGE_VLAN_INFO)
    ]
    return (ifindex, _collect(entries)) if entries else None


def _collect(entries: t.Iterable[tuple[int, int]]) -> PortVlans:
    """Return the VLANs of a list of flags and numbers, in which two entries stand for a range."""
    pvid, first = 0, 0
    untagged: set[int] = set()
    tagged: set[int] = set()
    for flags, number in entries:
        if flags & _RANGE_BEGIN:
            first = number
            continue
        (untagged if flags & _UNTAGGED else tagged).update(range(first or number, number + 1))
        pvid, first = number if flags & _PVID else pvid, 0
    return PortVlans(pvid, frozenset(untagged), frozenset(tagged))
