# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Router advertisements: links that lose the routes learned from them, and links that must not learn any."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attributes, list_entries, number

FORWARDING = "net.ipv6.conf.all.forwarding"
KEPT = "2"

# linux/rtnetlink.h
_RTM_GETROUTE = 26
_RTA_OIF = 4
_RTPROT_RA = 9
_ROUTE = struct.Struct("=BBBBBBBBI")

_LISTENING = "1"


def find_dependent_links() -> list[str]:
    """Return the links that lose their default route when the kernel forwards IPv6.

    The kernel then drops what it has learned from router advertisements, and ignores further ones, unless ``accept_ra``
    of the link is `KEPT`. Programs that read advertisements by themselves set it to 0.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    request = _ROUTE.pack(socket.AF_INET6, 0, 0, 0, rtnetlink.MAIN_TABLE, _RTPROT_RA, 0, 0, 0)
    found: tuple[int, ...] = ()
    with rtnetlink.wrap_errors("the routes of", "the network namespace"), rtnetlink.connect("", strict=True) as kernel:
        try:
            found = list_entries(kernel, _RTM_GETROUTE, request, _decode_learned_link)
        except OSError as exc:
            if exc.errno not in (errno.ENOENT, errno.EAFNOSUPPORT):  # the kernel has no such table, or no IPv6
                raise
    links = [rtnetlink.link_by_index(ifindex) for ifindex in sorted(set(found))]
    return [link.name for link in links if link and sysctl.read_at(_path(link.name)) == _LISTENING]


def accept_setting(link: str) -> str:
    """Return the setting with which a link accepts router advertisements."""
    return sysctl.canonical(_path(link))


def ignore(link: str) -> None:
    """Keep a link of the node from learning routes that routers announce: it has those of plugins alone."""
    with contextlib.suppress(CniError):  # the kernel may be without IPv6
        sysctl.write_at(_path(link), "0")


def describe_loss(link: str) -> str:
    """Return what IPv6 forwarding does to a link."""
    return f"with IPv6 forwarding, the kernel drops the default route of {link} and ignores its router advertisements"


def _path(link: str) -> str:
    return f"net/ipv6/conf/{link}/accept_ra"


def _decode_learned_link(answer: bytes, start: int, end: int) -> int | None:
    """Return the link of a default route from router advertisements; None for another route."""
    family, length, dummy, dummy, table, protocol, dummy, dummy, dummy = _ROUTE.unpack_from(answer, start)
    if (family, length, table, protocol) != (socket.AF_INET6, 0, rtnetlink.MAIN_TABLE, _RTPROT_RA):
        return None
    return number(answer, attributes(answer, start + _ROUTE.size, end), _RTA_OIF)
