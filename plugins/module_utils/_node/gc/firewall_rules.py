# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find rules of the plugin firewall for addresses that no attachment has."""

from __future__ import annotations

import collections
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_names import FORWARD_CHAIN
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import ContainerAddress
from ansible_collections.cni.node.plugins.module_utils._reference.state.forwarding import address_rules

_TABLE: t.Final = "filter"


class AddressRules(t.NamedTuple):
    """The two rules that the plugin firewall makes for an address, each as often as it is there."""

    address: str
    family: int
    rules: tuple[str, ...]


class FirewallRuleFinder:
    """Finds rules of the plugin firewall for addresses that no attachment has."""

    scope = Scope.ALL_NETWORKS

    def __init__(self, dummy: GcRun) -> None:
        pass

    def snapshot(self, node: NodeSnapshot) -> Items[AddressRules]:
        tables = {family: node.iptables.table(family, _TABLE) for family in iptables.FAMILIES}
        return {pair: pair for family, table in tables.items() for pair in _pairs(family, table)}

    def find(self, items: Items[AddressRules], owners: Owners) -> t.Iterator[Suspect[AddressRules]]:
        recorded = {address for record in owners.records for address in record.addresses} if items else set()
        for pair in items.values():
            if pair.address not in recorded:
                subject = f"{iptables.tool(pair.family)} {_TABLE} {FORWARD_CHAIN}: {pair.address}"
                leak = Leak(Kind.RULE, "", subject, "no runtime has a record of an attachment with this address")
                yield Suspect(leak, (pair,), proof=", and the address is not in use")

    def reason_to_keep(self, suspect: Suspect[AddressRules], owners: Owners) -> str:
        # The next container with the address gets the same rules: an ADD that began just now may have made them.
        addresses = [pair.address for pair in suspect.items]
        reason = owners.reason_to_keep("", addresses) or _reason_by_incomplete_add(owners)
        return reason or gc_owners.find_add_in_progress()

    def remove(self, suspect: Suspect[AddressRules]) -> None:
        for pair in suspect.items:
            iptables.change(pair.family, _TABLE, *(("-D", *rule.split()[1:]) for rule in pair.rules))


def _pairs(family: int, table: iptables.Table) -> t.Iterator[AddressRules]:
    """Yield the two rules of each address that has both. A single rule may have been added by hand."""
    present = collections.Counter(table.rules.get(FORWARD_CHAIN, ()))
    for source in (iptables.value(iptables.words(line), "-s") for line in present):
        try:
            address = ipaddress.ip_interface(source).ip
        except ValueError:
            continue
        host = ContainerAddress(str(address), "", family, address.max_prefixlen)
        to, from_ = (rule.line for rule in address_rules(host))
        if to in present and from_ in present:
            yield AddressRules(host.address, family, (to,) * present[to] + (from_,) * present[from_])


def _reason_by_incomplete_add(owners: Owners) -> str:
    """Return a clause that names a live attachment whose addresses are not known yet, or an empty string."""
    for record in owners.records:
        if record.result is None and owners.has(*record.attachment.key[1:]):
            return f"the {record.attachment}, whose ADD has not finished, may use the address"
    return ""


__all__ = ("AddressRules", "FirewallRuleFinder")
