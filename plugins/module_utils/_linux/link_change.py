# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Changes of links, which are named by their numbers: their names may change at any time."""

from __future__ import annotations

import contextlib
import errno
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.netlink import ATTRIBUTE
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link

# linux/rtnetlink.h, linux/if_link.h, linux/if.h
_RTM_NEWLINK, _RTM_DELLINK = 16, 17
_IFLA_IFNAME: t.Final = 3
_IFF_UP: t.Final = 0x1
_LINK: t.Final = struct.Struct("=BxHiII")


def rename(link: Link, name: str, path: str) -> None:
    """Give a link another name. One that is up is down for a moment, because kernels before 6.2 rename no other.

    Args:
        path: Of the link's network namespace.

    Raises:
        CniError: ``IO_FAILURE``, as where another link has the name.
    """
    encoded = name.encode() + b"\0"
    attribute = ATTRIBUTE.pack(ATTRIBUTE.size + len(encoded), _IFLA_IFNAME) + encoded + bytes(-len(encoded) % 4)
    with _changing("rename the link", link.name, path), rtnetlink.connect(path) as connection:
        connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, _IFF_UP))
        try:
            connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, 0, 0) + attribute)
        finally:
            flags = _IFF_UP if link.is_up else 0
            connection.change(_RTM_NEWLINK, _LINK.pack(0, 0, link.ifindex, flags, _IFF_UP))


def remove(ifindex: int, name: str, path: str = "") -> None:
    """Remove a link, and a pair with it; one that is gone already is no error.

    Args:
        ifindex: Its number.
        name: Its name, for an error.
        path: Of its network namespace; that of this thread without one.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with _changing("remove the link", name, path), rtnetlink.connect(path) as connection:
        try:
            connection.change(_RTM_DELLINK, _LINK.pack(0, 0, ifindex, 0, 0))
        except OSError as exc:
            if exc.errno != errno.ENODEV:
                raise


@contextlib.contextmanager
def _changing(what: str, name: str, path: str) -> t.Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise io_error(what, f"{name} in {path or 'the network namespace'}", exc) from exc


__all__ = ("remove", "rename")
