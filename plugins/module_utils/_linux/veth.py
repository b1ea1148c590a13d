# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import errno
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, program

_OUTPUT_LIMIT: t.Final = 64 * 1024 * 1024


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


def veths() -> list[Veth]:
    """Return the ends in this thread's network namespace; none where iproute2 is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("ip")
    links = program.json_output([path, "-j", "link", "show", "type", "veth"], limit=_OUTPUT_LIMIT) if path else []
    return [
        Veth(link["ifname"], link["ifindex"], link["link_index"], link.get("master", ""))
        for link in links or []
        if "link_netnsid" in link and "link_index" in link
    ]


def other_ends() -> dict[tuple[int, int], str]:
    """Return a path to the namespace of every end, the node's own included, by its number and its peer's.

    Raises:
        CniError: ``IO_FAILURE``: a namespace cannot be looked into.
    """
    return {(end.index, end.peer_index): path for path, ends in live_namespaces.look_into(_veths) for end in ends}


def remove(veth: Veth) -> None:
    """Remove a pair by this end, or find that it has gone meanwhile: the kernel takes it away with a namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("ip")
    if not path:
        return
    try:
        program.output([path, "link", "delete", "dev", veth.name])
    except CniError:
        if (veth.index, veth.name) in socket.if_nameindex():
            raise


def _veths() -> list[Veth]:
    try:
        return veths()
    except CniError as exc:
        raise OSError(errno.EIO, str(exc)) from exc


__all__ = ("Veth", "other_ends", "remove", "veths")
