# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

_NAME: t.Final = re.compile(r"CNI-(DN-[0-9a-f]{21}|[0-9a-f]{24})")

_Found = dict[tuple[int, str], list[str]]


class ChainLeaks:
    """Finds chains of iptables for single containers that no rule leads to, and that no container has.

    A chain without such a rule does nothing for anybody. One that a container has is drift.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(
        self, networks: t.Collection[str], claims: Claims, at_first: iptables.Listing, *, every: bool
    ) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            networks: Those that are looked at.
            claims: Of all networks of the node, for few of the chains tell theirs.
            at_first: What there was before, but since DEL has been run for what is garbage.
            every: Whether to collect those as well that do not.
        """
        unreached = _unreached(at_first)
        if not unreached:
            return
        from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth

        making = birth()
        # Whatever was being made at first, rules lead to it by now; what is new may be being made.
        found = {key: rules for key, rules in _unreached(iptables.listing()).items() if key in unreached}
        owned = _owned(networks, claims)
        for (family, chain), rules in found.items():
            network, container_id = _owner(chain, rules)
            if chain not in owned and (every or network in networks):
                doubt = claims.doubt(container_id, nat.destinations(rules)) or making
                yield self._chain(family, chain, network, doubt)

    def _chain(self, family: int, chain: str, network: str, doubt: str) -> Leak:
        evidence = "no rule leads to it, and its name is that of no recorded attachment's"
        leak = Leak("chain", network, f"{iptables.tool(family)} {nat.TABLE} {chain}", evidence)
        return self._scope.settle(leak, doubt, lambda: nat.remove_chain(family, chain))


def _unreached(listing: iptables.Listing) -> _Found:
    """Return these chains by family and name, with their rules."""
    found: _Found = {}
    for family in iptables.FAMILIES:
        table = listing.table(family, nat.TABLE)
        names = [chain for chain in table.rules if _NAME.fullmatch(chain) and chain not in table.jumps]
        found.update({(family, chain): table.rules[chain] for chain in names})
    return found


def _owned(networks: t.Iterable[str], claims: Claims) -> set[str]:
    owners = {record.attachment.key[:2] for record in claims.records}
    owners |= {(network, container_id) for network in networks for container_id, dummy in claims.staying}
    return {name(*owner) for owner in owners for name in (firewall_names.masquerade_chain, firewall_names.ports_chain)}


def _owner(chain: str, rules: t.Iterable[str]) -> tuple[str, str]:
    """Return the network and the container that comments name and the chain's name proves, or nothing."""
    for rule in rules:
        named = firewall_names.owner(iptables.value(iptables.words(rule), "--comment"))
        if named and firewall_names.masquerade_chain(*named) == chain:
            return named
    return "", ""


__all__ = ("ChainLeaks",)
