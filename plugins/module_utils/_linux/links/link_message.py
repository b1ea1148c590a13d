# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decode messages of rtnetlink about links."""

from __future__ import annotations

import struct
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import ATTRIBUTE, attributes, number, text

# linux/if_link.h, linux/if.h
_IFF_UP, _IFF_PROMISC, _IFF_ALLMULTI, _IFF_LOWER_UP = 0x1, 0x100, 0x200, 0x10000
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_LINK, _IFLA_MASTER, _IFLA_TXQLEN = 1, 3, 4, 5, 10, 13
_IFLA_LINKINFO, _IFLA_LINK_NETNSID, _IFLA_PERM_ADDRESS = 18, 37, 54
_IFLA_INFO_KIND, _IFLA_INFO_DATA, _IFLA_INFO_SLAVE_KIND, _IFLA_INFO_SLAVE_DATA = 1, 2, 4, 5
_IFLA_BR_VLAN_FILTERING, _IFLA_BR_VLAN_DEFAULT_PVID, _IFLA_BRPORT_STATE = 7, 39, 1
_IFLA_BRPORT_MODE, _IFLA_BRPORT_ISOLATED, _BR_STATE_FORWARDING = 4, 33, 3
_IFLA_VRF_TABLE = 1
_IFLA_VLAN_ID = 1
_INFO_MODE = 1

# The message of a link: family, type, index, flags, mask of flags.
MESSAGE = struct.Struct("=BxHiII")
_NETNS = struct.Struct("=i")
# Kinds of links.
BRIDGE, VRF, MACVLAN, IPVLAN, VLAN = _DESCRIBED = ("bridge", "vrf", "macvlan", "ipvlan", "vlan")
PASSTHRU = "passthru"
# NETNSA_NSID_NOT_ASSIGNED: no link has its peer in a network namespace without a number, or the namespace is going away.
UNKNOWN_NETNS = -1
# The kernel's numbers of the modes of a kind.
MODES: t.Final[t.Mapping[str, t.Mapping[int, str]]] = {
    MACVLAN: {1: "private", 2: "vepa", 4: "bridge", 8: PASSTHRU, 16: "source"},
    IPVLAN: {0: "l2", 1: "l3", 2: "l3s"},
}


class Link(t.NamedTuple):
    """An interface.

    Attributes:
        mac: With colons, in lower case; empty if there is none.
        mtu: In bytes.
        master: Index of the bridge, VRF or bond that it belongs to, or 0.
        peer: Index of its parent or veth peer, possibly in another namespace, or 0.
        kind: ``veth``, ``bridge`` and so on; empty for hardware and the loopback.
        peer_netns: The number by which the link's network namespace knows that of the peer; None if it is the same one.
        is_promiscuous, is_all_multicast: Whether that was asked for; a bridge makes its ports so without being asked.
        queue_length: In packets.
        is_hairpin, is_isolated: Flags of a port of a bridge.
        filters_vlans: Whether a bridge keeps VLANs apart.
        default_vlan: The VLAN that a bridge gives to a new port, or 0.
        table: The routing table of a VRF, or 0.
        mode: The mode of a macvlan or an ipvlan; empty for other kinds.
        vlan: The VLAN ID of a link of kind ``vlan``, or 0.
        has_carrier: Whether it can send.
        is_blocked: Whether a port of a bridge forwards nothing now, for example because of spanning tree.
        permanent_mac: The MAC of a device that cannot be changed; empty for virtual links.
    """

    ifindex: int
    name: str
    mac: str
    mtu: int
    is_up: bool
    master: int
    peer: int
    kind: str
    peer_netns: int | None = None
    is_promiscuous: bool = False
    is_all_multicast: bool = False
    queue_length: int = 0
    is_hairpin: bool = False
    is_isolated: bool = False
    filters_vlans: bool = False
    default_vlan: int = 0
    table: int = 0
    mode: str = ""
    has_carrier: bool = True
    vlan: int = 0
    permanent_mac: str = ""
    is_blocked: bool = False

    @property
    def is_peer_elsewhere(self) -> bool:
        """Return whether the peer is in another network namespace."""
        return self.peer_netns is not None

    def is_peer_of(self, other: Link, netns_id: int | None) -> bool:
        """Return whether both are the ends of one pair, such as that of a veth.

        Indexes alone prove nothing: links of different network namespaces often have the same one, and a container can
        choose those of a pair that it makes.

        Args:
            netns_id: The number by which this link's network namespace knows that of the other; None if it is the same one.
        """
        is_there = netns_id != UNKNOWN_NETNS and self.peer_netns == netns_id
        return is_there and self.kind == other.kind and (self.peer, other.peer) == (other.ifindex, self.ifindex)


def identify(answer: bytes, start: int, end: int) -> tuple[int, str]:
    """Return index and name of the link of a message, without decoding the rest."""
    index, first = MESSAGE.unpack_from(answer, start)[2], start + MESSAGE.size
    length, kind = ATTRIBUTE.unpack_from(answer, first)
    if kind == _IFLA_IFNAME and ATTRIBUTE.size <= length <= end - first:  # the kernel writes it first
        return index, text(answer, (first + ATTRIBUTE.size, first + length))
    return index, text(answer, attributes(answer, first, end)[_IFLA_IFNAME])


def decode(answer: bytes, start: int, end: int) -> Link:
    """Return the link of a message."""
    dummy, dummy, index, flags, dummy = MESSAGE.unpack_from(answer, start)
    places = attributes(answer, start + MESSAGE.size, end)
    info = attributes(answer, *places[_IFLA_LINKINFO]) if _IFLA_LINKINFO in places else {}
    kind = text(answer, info[_IFLA_INFO_KIND]) if _IFLA_INFO_KIND in info else ""
    data = attributes(answer, *info[_IFLA_INFO_DATA]) if kind in _DESCRIBED and _IFLA_INFO_DATA in info else {}
    is_port = _IFLA_INFO_SLAVE_DATA in info and text(answer, info[_IFLA_INFO_SLAVE_KIND]) == BRIDGE
    port = attributes(answer, *info[_IFLA_INFO_SLAVE_DATA]) if is_port else {}
    return Link(
        ifindex=index,
        name=text(answer, places[_IFLA_IFNAME]),
        mac=answer[slice(*places[_IFLA_ADDRESS])].hex(":") if _IFLA_ADDRESS in places else "",
        mtu=number(answer, places, _IFLA_MTU),
        is_up=bool(flags & _IFF_UP),
        master=number(answer, places, _IFLA_MASTER),
        peer=number(answer, places, _IFLA_LINK),
        kind=kind,
        peer_netns=_NETNS.unpack_from(answer, places[_IFLA_LINK_NETNSID][0])[0]
        if _IFLA_LINK_NETNSID in places
        else None,
        is_promiscuous=bool(flags & _IFF_PROMISC),
        is_all_multicast=bool(flags & _IFF_ALLMULTI),
        queue_length=number(answer, places, _IFLA_TXQLEN),
        is_hairpin=_flag(answer, port, _IFLA_BRPORT_MODE),
        is_isolated=_flag(answer, port, _IFLA_BRPORT_ISOLATED),
        filters_vlans=kind == BRIDGE and _flag(answer, data, _IFLA_BR_VLAN_FILTERING),
        default_vlan=_integer(answer, data, _IFLA_BR_VLAN_DEFAULT_PVID) if kind == BRIDGE else 0,
        table=number(answer, data, _IFLA_VRF_TABLE) if kind == VRF else 0,
        mode=_mode(answer, data, MODES[kind]) if kind in MODES else "",
        has_carrier=bool(flags & _IFF_LOWER_UP),
        vlan=_integer(answer, data, _IFLA_VLAN_ID) if kind == VLAN else 0,
        permanent_mac=answer[slice(*places[_IFLA_PERM_ADDRESS])].hex(":") if _IFLA_PERM_ADDRESS in places else "",
        is_blocked=_IFLA_BRPORT_STATE in port and _integer(answer, port, _IFLA_BRPORT_STATE) != _BR_STATE_FORWARDING,
    )


def _flag(answer: bytes, places: t.Mapping[int, tuple[int, int]], kind: int) -> bool:
    return kind in places and any(answer[slice(*places[kind])])


def _mode(answer: bytes, data: t.Mapping[int, tuple[int, int]], names: t.Mapping[int, str]) -> str:
    """Return the mode, which has four bytes in a macvlan and two in an ipvlan."""
    if _INFO_MODE not in data:
        return ""
    value = _integer(answer, data, _INFO_MODE)
    return names.get(value, str(value))


def _integer(answer: bytes, places: t.Mapping[int, tuple[int, int]], kind: int) -> int:
    """Return an attribute of any size, or 0 without it."""
    return int.from_bytes(answer[slice(*places[kind])], sys.byteorder) if kind in places else 0
