# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

_NAME: t.Final = re.compile(r"bwp[0-9a-f]{12}")


class IfbLeaks:
    """Finds links through which the plugin bandwidth sends what a container receives, and that no container has."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(self, claims: Claims) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            claims: Of all networks of the node, for a digest of network and container is all that their names tell.
        """
        names = {name for dummy, name in socket.if_nameindex() if _NAME.fullmatch(name)}
        recorded = {firewall_names.ifb(*record.attachment.key[:2]) for record in claims.records} if names else set()
        if names <= recorded:
            return
        from ansible_collections.cni.node.plugins.module_utils._linux import ifb
        from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth

        unclaimed = [name for name in ifb.names() if name in names - recorded]
        # One that is being made has no link yet that sends to it, or has got one before this is asked for.
        making, targets = birth(), ifb.targets()
        yield from (self._link(name, claims, making, targets) for name in unclaimed)

    def _link(self, name: str, claims: Claims, making: str, targets: set[str] | None) -> Leak:
        leak = Leak("link", "", name, "its name is that of no recorded attachment's")
        doubt = claims.doubt("", ()) or making
        if not doubt and targets is None:
            doubt = "without the program tc nobody can tell whether a link sends to it"
        elif not doubt and targets and name in targets:
            doubt = "a link of the node sends to it"
        leak.evidence += "" if doubt else ", and no link sends to it"
        from ansible_collections.cni.node.plugins.module_utils._linux import ifb

        return self._scope.settle(leak, doubt, lambda: ifb.remove(name))


__all__ = ("IfbLeaks",)
