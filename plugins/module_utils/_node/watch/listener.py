# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Listen to what the kernel says about links, addresses, routes and rules."""

from __future__ import annotations

import errno
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_errors
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest
from ansible_collections.cni.node.plugins.module_utils._node.watch.notifications import Heard, RuleReader, read_route

# linux/netlink.h
_LISTEN_ALL_NSID = 8
# linux/rtnetlink.h: links, queueing disciplines, addresses, routes, rules, settings, VLANs of bridges.
_ROUTE_GROUPS = (1, 4, 5, 9, 7, 11, 8, 19, 24, 25, 33)
# linux/netfilter/nfnetlink.h
_NF_TABLES_GROUPS = (7,)
_NUMBER = struct.Struct("=i")
_DATAGRAM = 64 * 1024
_ANCILLARY = socket.CMSG_SPACE(_NUMBER.size)
# Datagrams that are read at a time.
_PORTION = 4096


class Listener:
    """Sockets that receive the notifications of this process's network namespace, and those of its containers."""

    def __init__(self) -> None:
        """
        Raises:
            CniError: ``IO_FAILURE``.
        """
        self._rules = RuleReader()
        with io_errors("listen to", "the kernel's notifications"):
            self._route = netlink.subscribe(socket.NETLINK_ROUTE, _ROUTE_GROUPS)
            # Without this, it does not hear what happens inside containers.
            self._route.setsockopt(netlink.SOL_NETLINK, _LISTEN_ALL_NSID, 1)
            self._nftables = self._subscribe_to_rules()

    @staticmethod
    def _subscribe_to_rules() -> socket.socket | None:
        try:
            return netlink.subscribe(netlink.NETFILTER, _NF_TABLES_GROUPS)
        except OSError as exc:
            if exc.errno in (errno.EPROTONOSUPPORT, errno.ENOENT, errno.EINVAL):
                return None  # the kernel has no nftables
            raise

    @property
    def descriptors(self) -> list[int]:
        return [each.fileno() for each in self._sockets()]

    def close(self) -> None:
        for each in self._sockets():
            each.close()

    def drain(self, interest: Interest) -> Heard:
        """Read all notifications that have arrived."""
        is_relevant, culprits = False, dict[str, None]()
        for each in self._sockets():
            for heard in self._read(each, interest):
                is_relevant |= heard.is_relevant
                culprits.update(dict.fromkeys(heard.culprits))
        return Heard(is_relevant, tuple(culprits))

    def _read(self, source: socket.socket, interest: Interest) -> t.Iterator[Heard]:
        for _portion in range(_PORTION):
            try:
                datagram, ancillary, dummy, sender = source.recvmsg(_DATAGRAM, _ANCILLARY)
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS: notifications are lost, so anything may have changed
                yield Heard(is_relevant=True)
                continue
            if sender[0] != 0:  # another process has sent it
                continue
            try:
                if source is self._route:
                    yield read_route(datagram, _find_netns_id(ancillary), interest)
                else:
                    yield self._rules.read(datagram)
            except (OSError, struct.error):  # a kernel with another format
                yield Heard(is_relevant=True)
        yield Heard(is_relevant=True)

    def _sockets(self) -> list[socket.socket]:
        return [each for each in (self._route, self._nftables) if each is not None]


def _find_netns_id(ancillary: t.Sequence[tuple[int, int, bytes]]) -> int | None:
    """Return the number of the network namespace that a notification comes from; None for this process's own."""
    for level, kind, content in ancillary:
        if (level, kind) == (netlink.SOL_NETLINK, _LISTEN_ALL_NSID):
            number = int(_NUMBER.unpack_from(content)[0])
            return number if number >= 0 else None
    return None
