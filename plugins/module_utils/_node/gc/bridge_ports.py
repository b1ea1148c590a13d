# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import os
import re
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.veth import Veth

# How the reference plugins call the node's end.
_NAME: t.Final = re.compile(r"veth[0-9a-f]{8}")
_BRIDGE: t.Final = "bridge"
_USUAL_BRIDGE: t.Final = "cni0"


class LinkLeaks:
    """Finds ports of our networks' bridges that lead nowhere.

    The kernel takes a pair away with the namespace of either end. It cannot where something has kept the namespace
    after its name and its last process have gone: a file left open, or a mount namespace that was copied before.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(self, networks: t.Iterable[NetworkConfiguration], claims: Claims) -> t.Iterator[Leak]:
        """Collect the ports of the bridges that these networks name.

        Args:
            claims: Of all networks of the node, for they may share a bridge.
        """
        bridges = _bridges(networks)
        # What a dry run has found to be deleted takes its port with it.
        claimed = {name for record in claims.records for name in _host_ends(record)}
        names = {name for dummy, name in socket.if_nameindex() if _NAME.fullmatch(name)} if bridges else set()
        if names <= claimed:
            return
        from ansible_collections.cni.node.plugins.module_utils._linux import veth

        unclaimed = [one for one in veth.veths() if one.master in bridges and one.name in names - claimed]
        ends = veth.other_ends() if unclaimed else veth.Ends({}, {})
        attached = {_inode(record.attachment.netns) for record in claims.records} - {0} if unclaimed else set()
        found = [(one, ends.found.get((one.peer_index, one.index), "")) for one in unclaimed]
        unseen = next(iter(ends.unseen.values()), None)
        # Old results do not tell the node's end, and a DEL that a dry run does not run would take it away.
        yield from (self._port(one, inside, unseen, claims) for one, inside in found if _inode(inside) not in attached)

    def _port(self, port: Veth, inside: str, unseen: CniError | None, claims: Claims) -> Leak:
        evidence = f"no runtime has a record of this port of {port.master}"
        leak = Leak("link", "", port.name, evidence)
        sharing = tuple(one for one in claims.sharing if port.master in _bridges([one]))
        doubt = dataclasses.replace(claims, sharing=sharing).doubt("", ())
        doubt = doubt or (f"its other end is in the network namespace {inside}" if inside else "")
        doubt = doubt or (f"its other end may be where nobody can look: {unseen}" if unseen else "")
        if not doubt:
            leak.evidence += ", and its other end is in no network namespace that has a name or a process"
        from ansible_collections.cni.node.plugins.module_utils._linux import veth

        return self._scope.settle(leak, doubt, lambda: veth.remove(port))


def _bridges(networks: t.Iterable[NetworkConfiguration]) -> set[str]:
    plugins = [plugin for network in networks for plugin in network.plugins if plugin.type == _BRIDGE]
    return {str(plugin.keys.get(_BRIDGE) or _USUAL_BRIDGE) for plugin in plugins}


def _inode(path: str) -> int:
    """Tell a namespace by its number; 0 is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _host_ends(record: Record) -> list[str]:
    interfaces = (record.result.keys.get("interfaces") if record.result else None) or ()
    return [one["name"] for one in interfaces if one.get("name") and not one.get("sandbox")]


__all__ = ("LinkLeaks",)
