# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide from the kernel's notifications whether attachments may have lost something, and who did it."""

from __future__ import annotations

import contextlib
import os
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import Place, attributes
from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest

# linux/rtnetlink.h
_NEWLINK, _DELLINK, _DELADDR, _DELROUTE, _DELRULE, _DELQDISC = 16, 17, 21, 25, 33, 37
_NEWNETCONF, _DELVLAN = 80, 113
_IFLA_IFNAME, _RTA_OIF, _NETCONFA_IFINDEX = 3, 4, 1
_RELEVANT = frozenset((_NEWLINK, _DELLINK, _DELADDR, _DELROUTE, _DELRULE, _DELQDISC, _NEWNETCONF, _DELVLAN))
# The sizes of the structures before the attributes.
_IFINFO_SIZE, _RTMSG_SIZE, _NETCONF_SIZE = 16, 12, 4
# The index of a link, in the second word of struct ifinfomsg, ifaddrmsg, tcmsg and br_vlan_msg.
_SECOND_WORD = struct.Struct("=4xi")
_NUMBER = struct.Struct("=i")

# linux/netfilter/nf_tables.h. Only what is removed can be lost: a rule that is changed is removed and added.
_NF_TABLES = 10 << 8
_REMOVED = frozenset(_NF_TABLES | kind for kind in (2, 5, 8, 11, 14))
_NEWGEN = _NF_TABLES | 15
# include/linux/threads.h: PID_MAX_LIMIT on 64-bit machines.
_LAST_PROCESS = 4 * 1024 * 1024
_GEN_PROC_PID, _GEN_PROC_NAME = 2, 3
# Each rule and chain of the reference plugins has one of these in a name; firewalld loses addresses with its own table.
_MARKS = (b"CNI-", b"cni", b"firewalld")


class Heard(t.NamedTuple):
    """The result of reading notifications.

    Attributes:
        is_relevant: Whether attachments may have lost something.
        culprits: The processes that have changed it, where the kernel names them.
    """

    is_relevant: bool = False
    culprits: tuple[str, ...] = ()


def read_route(datagram: bytes, netns_id: int | None, interest: Interest) -> Heard:
    """Read notifications about links, addresses, routes and rules.

    Args:
        netns_id: The network namespace that they come from, if it is not the node's own.

    Raises:
        OSError, struct.error: They are malformed.
    """
    is_relevant, culprits = False, []
    for (kind, dummy), _sequence, port, place in netlink.messages(datagram):
        if _concerns(kind, place, interest) if netns_id is None else _concerns_container(kind, netns_id, interest):
            is_relevant = True
            # Inside a container, the number of a process is another, or one that its program has chosen. The kernel gives a
            # further socket of a process a number that no process has.
            culprits += [name_process(port)] if 0 < port <= _LAST_PROCESS and netns_id is None else []
    return Heard(is_relevant, tuple(culprits))


def _concerns(kind: int, place: Place, interest: Interest) -> bool:
    """Return whether a notification from the node's own network namespace concerns attachments."""
    if kind not in _RELEVANT:
        return False
    if kind == _DELRULE or not interest.is_known:
        return True
    content, start, end = place
    if kind in (_NEWLINK, _DELLINK):
        if _SECOND_WORD.unpack_from(content, start)[0] in interest.indexes:
            return True
        name = attributes(content, start + _IFINFO_SIZE, end).get(_IFLA_IFNAME)
        return name is not None and content[slice(*name)].rstrip(b"\0") in interest.names
    if kind in (_DELADDR, _DELQDISC, _DELVLAN):
        return _SECOND_WORD.unpack_from(content, start)[0] in interest.indexes
    if kind == _DELROUTE:
        link = attributes(content, start + _RTMSG_SIZE, end).get(_RTA_OIF)
        return link is None or _NUMBER.unpack_from(content, link[0])[0] in interest.indexes
    if kind == _NEWNETCONF:
        link = attributes(content, start + _NETCONF_SIZE, end).get(_NETCONFA_IFINDEX)
        index = _NUMBER.unpack_from(content, link[0])[0] if link else 0
        return index <= 0 or index in interest.indexes
    return False


def _concerns_container(kind: int, netns_id: int, interest: Interest) -> bool:
    return kind in _RELEVANT and (netns_id in interest.netns_ids or not interest.is_known)


class RuleReader:
    """Reads notifications of nftables, which name the process at the end of each transaction."""

    def __init__(self) -> None:
        self._is_open = False

    def read(self, datagram: bytes) -> Heard:
        """Read notifications about rules; errors as `read_route`."""
        is_relevant, culprits = False, []
        for (kind, dummy), _sequence, _port, (content, start, end) in netlink.messages(datagram):
            if kind in _REMOVED:
                removed = content[start:end]
                if any(mark in removed for mark in _MARKS):
                    is_relevant = self._is_open = True
            elif kind == _NEWGEN:
                culprits += [_name_author(content, start, end)] if self._is_open else []
                self._is_open = False
        return Heard(is_relevant, tuple(filter(None, culprits)))


def _name_author(content: bytes, start: int, end: int) -> str:
    places = attributes(content, start + netlink.NETFILTER_HEADER.size, end)
    if _GEN_PROC_PID not in places or _GEN_PROC_NAME not in places:
        return ""
    name = content[slice(*places[_GEN_PROC_NAME])].rstrip(b"\0").decode("utf-8", "replace")
    return f"{name} (process {int.from_bytes(content[slice(*places[_GEN_PROC_PID])], 'big')})"


def name_process(port: int) -> str:
    """Return the process of a netlink port, whose number is that of the process unless it has several."""
    name = ""
    with contextlib.suppress(OSError), open(f"/proc/{port}/comm", "rb") as stream:
        name = os.fsdecode(stream.read()).strip()
    return f"{name} (process {port})" if name else f"process {port}"
