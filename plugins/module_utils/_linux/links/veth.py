# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Veth pairs with ends in different network namespaces."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import link_change, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import UNKNOWN_NETNS


class Veth(t.NamedTuple):
    """A veth whose peer is in another network namespace.

    Attributes:
        ifindex, peer_index: Interface indexes, each in the namespace of its end.
        master: The bridge that it is a port of, or an empty string.
        peer_netns: The number by which the veth's namespace knows that of the peer.
    """

    name: str
    ifindex: int
    peer_index: int
    master: str
    peer_netns: int = UNKNOWN_NETNS


class VethEnds(t.NamedTuple):
    """The ends in other namespaces of the veth pairs that have one in this thread's network namespace.

    Attributes:
        netns_by_ends: The path of each end's namespace, by the indexes of the end and its peer here.
        unreadable: The error of each namespace that cannot be read, by path; it may have any end.
    """

    netns_by_ends: dict[tuple[int, int], str]
    unreadable: dict[str, CniError]


def veths() -> list[Veth]:
    """Return the veths in this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    links = rtnetlink.links()
    names = {link.ifindex: link.name for link in links}
    ends = (link for link in links if link.kind == "veth" and link.peer)
    return [
        Veth(end.name, end.ifindex, end.peer, names.get(end.master, ""), end.peer_netns)
        for end in ends
        if end.peer_netns is not None
    ]


def find_veth_ends() -> VethEnds:
    """Return the ends in all reachable namespaces of the pairs that have one in this thread's.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    ends = VethEnds({}, {})
    with netns.open_current() as home:

        def list_ends() -> list[Veth]:
            here = rtnetlink.netns_id(f"/proc/self/fd/{home}")
            return [end for end in veths() if end.peer_netns == here != UNKNOWN_NETNS]

        for path, outcome in live_namespaces.run_in_each(list_ends):
            if isinstance(outcome, CniError):
                ends.unreadable[path] = outcome
            else:
                ends.netns_by_ends.update({(end.ifindex, end.peer_index): path for end in outcome})
    return ends


def remove(veth: Veth) -> None:
    """Remove a veth pair by one end; do nothing if the kernel has removed it with the peer's namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link_change.remove(veth.ifindex, veth.name)
