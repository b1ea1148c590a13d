# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import link_change, live_namespaces, rtnetlink


@dataclasses.dataclass(frozen=True)
class Veth:
    """A veth whose peer is in another network namespace.

    Attributes:
        index, peer_index: Interface indexes, each in the namespace of its end.
        master: The bridge that it is a port of, or an empty string.
    """

    name: str
    index: int
    peer_index: int
    master: str


class VethEnds(t.NamedTuple):
    """The ends of veth pairs in all reachable network namespaces.

    Attributes:
        netns_by_ends: The path of each end's namespace, by the indexes of the end and its peer.
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
    ends = (link for link in links if link.kind == "veth" and link.peer and link.is_peer_elsewhere)
    return [Veth(end.name, end.ifindex, end.peer, names.get(end.master, "")) for end in ends]


def find_veth_ends() -> VethEnds:
    """Return the ends of all veth pairs, those in the node's own namespace included."""
    ends = VethEnds({}, {})
    for path, outcome in live_namespaces.run_in_each(veths):
        if isinstance(outcome, CniError):
            ends.unreadable[path] = outcome
        else:
            ends.netns_by_ends.update({(end.index, end.peer_index): path for end in outcome})
    return ends


def remove(veth: Veth) -> None:
    """Remove a veth pair by one end; do nothing if the kernel has removed it with the peer's namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link_change.remove(veth.index, veth.name)


__all__ = ("Veth", "VethEnds", "find_veth_ends", "remove", "veths")
