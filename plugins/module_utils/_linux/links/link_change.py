# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Change links, which are addressed by index because their names may change at any time."""

from __future__ import annotations

import errno
import os
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_errors
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import Connection, attribute

# linux/rtnetlink.h, linux/if_link.h, linux/if.h
_RTM_NEWLINK, _RTM_DELLINK = 16, 17
_IFLA_IFALIAS, _IFLA_GROUP = 20, 27
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_INFO_KIND, _IFLA_INFO_DATA, _IFLA_MACVLAN_BC_QUEUE_LEN = 3, 18, 1, 2, 7
_IFF_UP = 0x1
_LINK = struct.Struct("=BxHiII")


def rename(link: Link, name: str, path: str) -> None:
    """Rename a link. It is set down for a moment, as kernels before 6.2 only rename links that are down.

    Args:
        path: Path of the link's network namespace.

    Raises:
        CniError: ``IO_FAILURE``, for example if another link has the name.
    """
    new_name = attribute(_IFLA_IFNAME, name.encode() + b"\0")
    with _wrap_errors("rename the link", link.name, path), rtnetlink.connect(path) as connection:
        connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, _IFF_UP))
        try:
            connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, 0) + new_name)
        finally:
            flags = _IFF_UP if link.is_up else 0
            connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, flags, _IFF_UP))


def set_alias(link: Link, alias: str, path: str) -> None:
    """Set the alias of a link.

    Args:
        path: Path of the link's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    text = attribute(_IFLA_IFALIAS, alias.encode("utf-8", "surrogateescape"))
    with _wrap_errors("set the alias of the link", link.name, path), rtnetlink.connect(path) as connection:
        connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, 0) + text)


def remove(ifindex: int, name: str, path: str = "") -> None:
    """Remove a link, and the peer of a veth with it; do nothing if it does not exist.

    Args:
        ifindex: Its interface index.
        name: Its name, for an error message.
        path: Path of its network namespace; by default that of this thread.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with _wrap_errors("remove the link", name, path), rtnetlink.connect(path) as connection:
        _change(connection, _RTM_DELLINK, ifindex, b"")


def remove_all(indexes: t.Collection[int]) -> None:
    """Remove links of this thread's network namespace by one message; ignore those that do not exist.

    The kernel waits once for all of them, instead of once for each, until no processor uses a link any more.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    # The links get a group that no other link has.
    group = attribute(_IFLA_GROUP, struct.pack("=I", int.from_bytes(os.urandom(4), "big") % (1 << 30) + (1 << 30)))
    with _wrap_errors("remove", f"{len(indexes)} links", ""), rtnetlink.connect("") as connection:
        present = [index for index in indexes if _change(connection, _RTM_NEWLINK, index, group)]
        if present:
            _change(connection, _RTM_DELLINK, 0, group)


def _change(connection: Connection, kind: int, ifindex: int, attributes: bytes) -> bool:
    """Return whether a link has been changed; False if it does not exist."""
    try:
        connection.change(kind, _LINK.pack(0, 0, ifindex, 0, 0) + attributes)
    except OSError as exc:
        if exc.errno != errno.ENODEV:
            raise
        return False
    return True


def set_broadcast_queue(link: Link, length: int, path: str) -> None:
    """Set the number of broadcast packets that wait for the parent of a macvlan.

    Args:
        path: Path of the link's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    data = attribute(_IFLA_MACVLAN_BC_QUEUE_LEN, struct.pack("=I", length))
    info = attribute(_IFLA_INFO_KIND, b"macvlan") + attribute(_IFLA_INFO_DATA, data)
    with _wrap_errors("change the queue of", link.name, path), rtnetlink.connect(path) as connection:
        connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, 0) + attribute(_IFLA_LINKINFO, info))


def _wrap_errors(what: str, name: str, path: str) -> t.ContextManager[None]:
    return io_errors(what, f"{name} in {path or 'the network namespace of the node'}")
