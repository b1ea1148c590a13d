# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find nftables chains that check the MAC address of a lost container (``macspoofchk`` of bridge)."""

from __future__ import annotations

import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.spoof_checks import SpoofCheck


class SpoofChainFinder:
    """Finds nftables chains that check the MAC address of a lost container's traffic (``macspoofchk`` of bridge)."""

    scope = Scope.ALL_NETWORKS

    def __init__(self, run: GcRun) -> None:
        self._run = run

    def snapshot(self, node: NodeSnapshot) -> Items[SpoofCheck]:
        return {(check.owner, check.chains, check.rules): check for check in node.spoof_checks}

    def find(self, items: Items[SpoofCheck], owners: Owners) -> t.Iterator[Suspect[SpoofCheck]]:
        owned = _chains(owners) if items else set()
        for check in items.values():
            if owned.isdisjoint(check.chains):
                evidence = f"no runtime has a record of {check.owner}, the container and interface in its name"
                yield Suspect(Leak(Kind.CHAIN, "", check.name, evidence), (check,))

    def reason_to_keep(self, suspect: Suspect[SpoofCheck], owners: Owners) -> str:
        check = suspect.items[0]
        reasons = (owners.reason_to_keep(container_id, ()) for container_id in check.container_ids)
        return next(filter(None, reasons), "") or self._existing_link(check) or owners.add_in_progress

    def remove(self, suspect: Suspect[SpoofCheck]) -> None:
        for check in suspect.items:
            check.remove()

    def _existing_link(self, check: SpoofCheck) -> str:
        """Return a clause that names the link whose traffic is checked, or an empty string. Collected links do not count."""
        links = {name for dummy, name in socket.if_nameindex()} - self._run.list_collected(Kind.LINK)
        names = sorted(links.intersection(map(str, check.words)))
        return f"the link {names[0]}, whose traffic it checks, exists" if names else ""


def _chains(owners: Owners) -> set[str]:
    return {name for names in owners.names() for name in firewall_names.spoof_names(*names)}


__all__ = ("SpoofChainFinder",)
