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
    """One end of a pair whose other end is in another network namespace.

    Attributes:
        index, peer_index: Interface numbers, each in the namespace of its own end.
        master: The bridge that it is a port of, or an empty string.
    """

    name: str
    index: int
    peer_index: int
    master: str


class Ends(t.NamedTuple):
    """The ends of pairs in all network namespaces.

    Attributes:
        found: A path to the namespace of each end, by its number and its peer's.
        unseen: Why a namespace cannot be looked into, by its path: it may have any end.
    """

    found: dict[tuple[int, int], str]
    unseen: dict[str, CniError]


def veths() -> list[Veth]:
    """Return the ends in this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    links = rtnetlink.links()
    names = {link.ifindex: link.name for link in links}
    ends = (link for link in links if link.kind == "veth" and link.peer and link.is_peer_elsewhere)
    return [Veth(end.name, end.ifindex, end.peer, names.get(end.master, "")) for end in ends]


def other_ends() -> Ends:
    """Return where the ends of pairs are, those of the node itself included."""
    ends = Ends({}, {})
    for path, found in live_namespaces.run_in_each(veths):
        if isinstance(found, CniError):
            ends.unseen[path] = found
        else:
            ends.found.update({(end.index, end.peer_index): path for end in found})
    return ends


def remove(veth: Veth) -> None:
    """Remove a pair by this end, or find that it has gone meanwhile: the kernel takes it away with a namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link_change.remove(veth.index, veth.name)


__all__ = ("Ends", "Veth", "other_ends", "remove", "veths")
