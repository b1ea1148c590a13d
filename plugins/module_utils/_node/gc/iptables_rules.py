# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat
from ansible_collections.cni.node.plugins.module_utils._linux.nat import Rule
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

_Owner = tuple[str, int, str]
_Owned = dict[_Owner, list[Rule]]
_Found = dict[str, _Owned]


class RuleLeaks:
    """Finds chains of iptables that masquerade or map ports for a container that is not there any more."""

    def __init__(self, scope: Scope, at_first: iptables.Listing) -> None:
        self._scope = scope
        self._at_first = _by_network(at_first)
        self.unlisted = [
            Leak("chain", "", iptables.tool(family), f"its chains cannot be listed: {error}")
            for family, error in at_first.errors.items()
        ]

    def networks(self) -> set[str]:
        """Return the networks that have such chains."""
        return set(self._at_first)

    def of(self, claims: Claims) -> t.Iterator[Leak]:
        """Collect what there is of a network."""
        found = _unclaimed(self._at_first, claims)
        if found and not self._scope.dry_run:
            found = _still(found, _unclaimed(_by_network(iptables.listing()), claims))
        yield from (self._chain(claims, owner[0], rules) for owner, rules in found.items())

    def _chain(self, claims: Claims, container_id: str, rules: list[Rule]) -> Leak:
        evidence = f"no runtime has a record of container {container_id}, which its comment names"
        subject = f"{iptables.tool(rules[0].family)} nat {rules[0].target}"
        leak = Leak("chain", claims.network, subject, evidence)
        doubt = claims.doubt(container_id, [rule.address for rule in rules])

        def collect() -> None:
            for rule in rules:
                nat.remove(rule)

        return self._scope.settle(leak, doubt, collect)


def _by_network(listing: iptables.Listing) -> _Found:
    """Return the rules by network, and by container, family and chain."""
    found: _Found = {}
    for family in iptables.FAMILIES:
        table = listing.table(family, nat.TABLE)
        for rule in nat.rules_leading_to(family, table, firewall_names.ENTRANCES, firewall_names.CHAIN_PREFIX):
            named = firewall_names.owner(rule.comment)
            if named:
                owner = (named[1], family, rule.target)
                found.setdefault(named[0], {}).setdefault(owner, []).append(rule)
    return found


def _unclaimed(found: _Found, claims: Claims) -> _Owned:
    ours = found.get(claims.network, {})
    return {owner: rules for owner, rules in ours.items() if not claims.has(owner[0]) and not claims.frees(owner[0])}


def _still(at_first: _Owned, now: _Owned) -> _Owned:
    """Return what was there before claims were read and is there now: DEL removes some, and a new container makes some."""
    both = {owner: [rule for rule in now.get(owner, ()) if rule in rules] for owner, rules in at_first.items()}
    return {owner: rules for owner, rules in both.items() if rules}


__all__ = ("RuleLeaks",)
