# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.spoof_checks import SpoofCheck


class SpoofLeaks:
    """Finds chains of nftables that check the MAC of what a lost container sends (``macspoofchk`` of bridge)."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.unlisted: list[Leak] = []
        try:
            self._at_first = spoof_checks.listing()
        except CniError as exc:
            self._at_first = []
            self.unlisted.append(Leak("chain", "", "nft", f"its rules cannot be listed: {exc}"))

    def collect(self, claims: Claims, removed_links: t.Collection[str]) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            claims: Of all networks of the node, for the chains do not tell theirs.
            removed_links: Links of the node that have been removed as leaks, or would have been in a dry run.
        """
        claimed = _claimed(claims)
        checks = [check for check in self._at_first if claimed.isdisjoint(check.chains)]
        if checks and not self._scope.dry_run:
            # DEL may have removed some since. What is new may be that of a container that claims do not know.
            now = spoof_checks.listing()
            checks = [check for check in checks if any(check.is_same(other) for other in now)]
        if not checks:
            return
        from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth

        making = birth()
        links = {name for dummy, name in socket.if_nameindex()}.difference(removed_links)
        yield from (self._check(check, claims, making, links) for check in checks)

    def _check(self, check: SpoofCheck, claims: Claims, making: str, links: t.Collection[str]) -> Leak:
        evidence = f"no runtime has a record of {check.owner}, the container and interface that its name tells"
        leak = Leak("chain", "", check.name, evidence)
        named = (claims.doubt(container_id, ()) for container_id in check.container_ids)
        used = (
            f"the link {word} whose traffic it checks is there"
            for word in sorted(map(str, check.words))
            if word in links
        )
        doubt = next(filter(None, named), "") or next(used, "") or making
        return self._scope.settle(leak, doubt, check.remove)


def _claimed(claims: Claims) -> set[str]:
    return {
        chain for names in claims.names() for chain in firewall_names.spoof_chains(firewall_names.spoof_owner(*names))
    }


__all__ = ("SpoofLeaks",)
