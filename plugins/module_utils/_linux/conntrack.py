# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove entries of the connection tracking."""

from __future__ import annotations

import contextlib
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_UDP: t.Final = 17


def forget_udp(family: int, ports: t.Collection[int]) -> None:
    """Remove the UDP flows to ports of the node in this thread's network namespace.

    Args:
        family: 4 or 6.

    Raises:
        CniError: ``NOT_AVAILABLE`` without pyroute2; ``IO_FAILURE``.
    """
    try:
        from pyroute2 import NFCTSocket
        from pyroute2.netlink.exceptions import NetlinkError
        from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple
    except ImportError as exc:
        raise CniError(Code.NOT_AVAILABLE, "it needs the Python library pyroute2, which the node lacks") from exc
    number = socket.AF_INET if family == 4 else socket.AF_INET6
    try:
        with NFCTSocket() as tracking:
            for port in ports:
                pattern = NFCTAttrTuple(family=number, proto=_UDP, dport=port)
                for entry in tracking.dump(tuple_orig=pattern):
                    with contextlib.suppress(NetlinkError):  # it has just ended
                        tracking.entry("del", tuple_orig=_tuple_of(entry, number, NFCTAttrTuple))
    except (NetlinkError, OSError) as exc:
        raise CniError(Code.IO_FAILURE, f"cannot remove entries of the connection tracking: {exc}") from exc


def _tuple_of(entry: t.Any, family: int, make: t.Callable[..., t.Any]) -> t.Any:
    original = entry.get_attr("CTA_TUPLE_ORIG")
    addresses, protocol = original.get_attr("CTA_TUPLE_IP"), original.get_attr("CTA_TUPLE_PROTO")
    version = "V4" if family == socket.AF_INET else "V6"
    return make(
        family=family,
        saddr=addresses.get_attr(f"CTA_IP_{version}_SRC"),
        daddr=addresses.get_attr(f"CTA_IP_{version}_DST"),
        proto=_UDP,
        sport=protocol.get_attr("CTA_PROTO_SRC_PORT"),
        dport=protocol.get_attr("CTA_PROTO_DST_PORT"),
    )


__all__ = ("forget_udp",)
