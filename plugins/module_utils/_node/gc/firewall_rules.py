# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims

_TABLE: t.Final = "filter"
_CHAIN: t.Final = "CNI-FORWARD"
# The two rules that the plugin firewall makes for an address.
_TO: t.Final = re.compile(rf"-A {_CHAIN} -d (\S+)/(?:32|128) -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT")
_FROM: t.Final = re.compile(rf"-A {_CHAIN} -s (\S+)/(?:32|128) -j ACCEPT")


class FirewallLeaks:
    """Finds rules with which the plugin firewall lets pass what is for an address that nobody has any more."""

    def __init__(self, scope: Scope, at_first: iptables.Listing) -> None:
        self._scope = scope
        self._at_first = _found(at_first)

    def of(self, claims: Claims) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            claims: Of all networks of the node, for the rules do not tell theirs; read after these were listed, for
                what is made later may be for a container that they do not know.
        """
        if not self._at_first:
            return
        recorded = {address for record in claims.records for address in record.addresses}
        found = {address: pair for address, pair in self._at_first.items() if address not in recorded}
        now = _found(iptables.listing()) if found and not self._scope.dry_run else found
        yield from (self._rules(claims, address, *pair) for address, pair in found.items() if now.get(address) == pair)

    def _rules(self, claims: Claims, address: str, family: int, rules: tuple[str, str]) -> Leak:
        from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth

        subject = f"{iptables.tool(family)} {_TABLE} {_CHAIN}: {address}"
        leak = Leak("rule", "", subject, "no runtime has a record of an attachment with this address")
        doubt = claims.doubt("", [address]) or _begun(claims) or birth()
        leak.evidence += "" if doubt else ", and it is in use nowhere"

        commands = [("-D", *rule.split()[1:]) for rule in rules]
        return self._scope.settle(leak, doubt, lambda: iptables.change(family, _TABLE, *commands))


def _found(listing: iptables.Listing) -> dict[str, tuple[int, tuple[str, str]]]:
    tables = {family: listing.table(family, _TABLE) for family in iptables.FAMILIES}
    return {address: (family, pair) for family, table in tables.items() for address, pair in _pairs(table).items()}


def _pairs(table: iptables.Table) -> dict[str, tuple[str, str]]:
    """Return both rules of each address that has them; of one that somebody has added by hand there is no pair."""
    rules = table.rules.get(_CHAIN, [])
    to, of = ({named[1]: rule for rule in rules if (named := known.fullmatch(rule))} for known in (_TO, _FROM))
    return {str(ipaddress.ip_address(address)): (rule, of[address]) for address, rule in to.items() if address in of}


def _begun(claims: Claims) -> str:
    """Name an attachment that stays without a result, so that it does not tell its addresses."""
    for record in claims.records:
        if record.result is None and claims.has(*record.attachment.key[1:]):
            return f"the {record.attachment}, which was begun, may have it"
    return ""


__all__ = ("FirewallLeaks",)
