# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find iptables chains of lost containers that no rule jumps to."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


class OrphanChain(t.NamedTuple):
    family: int
    name: str
    rules: t.Sequence[str]


class OrphanChainFinder:
    """Finds iptables chains of lost containers that no rule jumps to.

    Such a chain has no effect. If a container owns it, the missing rule is drift.
    """

    scope = Scope.NODE

    def __init__(self, run: GcRun) -> None:
        self._run = run

    def snapshot(self, node: NodeSnapshot) -> Items[OrphanChain]:
        tables = {family: node.iptables.table(family, nat.TABLE) for family in iptables.FAMILIES}
        return {
            (family, name): OrphanChain(family, name, rules)
            for family, table in tables.items()
            for name, rules in table.rules.items()
            if firewall_names.is_container_chain(name) and name not in table.jumps
        }

    def find(self, items: Items[OrphanChain], owners: Owners) -> t.Iterator[Suspect[OrphanChain]]:
        owned = self._chains_of_owners(owners) if items else set()
        for chain in items.values():
            network, container_id = _owner(chain)
            if chain.name not in owned and (self._run.all_networks or network in self._run.networks):
                subject = f"{iptables.tool(chain.family)} {nat.TABLE} {chain.name}"
                evidence = "no rule jumps to it, and no recorded attachment has a chain of this name"
                yield Suspect(Leak(Kind.CHAIN, network, subject, evidence), (chain,), container_id=container_id)

    def reason_to_keep(self, suspect: Suspect[OrphanChain], owners: Owners) -> str:
        addresses = nat.destinations(suspect.items[0].rules)
        return owners.reason_to_keep(suspect.container_id, addresses) or owners.add_in_progress

    def remove(self, suspect: Suspect[OrphanChain]) -> None:
        for chain in suspect.items:
            nat.remove_chain(chain.family, chain.name, chain.rules)

    def _chains_of_owners(self, owners: Owners) -> set[str]:
        """Return the names of all attachments' chains. Attachments in `valid_attachments` may be of any checked network."""
        names = {record.attachment.key[:2] for record in owners.records}
        names |= {(network, container_id) for network in self._run.networks for container_id, dummy in owners.live}
        return {chain for name in names for chain in firewall_names.container_chains(*name)}


def _owner(chain: OrphanChain) -> tuple[str, str]:
    """Return network and container from a comment if the digest in the chain's name confirms them, or empty strings."""
    for rule in chain.rules:
        named = firewall_names.owner(iptables.value(iptables.words(rule), "--comment"))
        if named and firewall_names.masquerade_chain(*named) == chain.name:
            return named
    return "", ""


__all__ = ("OrphanChain", "OrphanChainFinder")
