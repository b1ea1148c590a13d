# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove the firewall rules of attachments by the names of their owners, for DEL: the addresses may not be known."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nf_tables, nftables, rule_cache
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import (
    Listing,
    OwnedItem,
    list_groups,
    remove_groups,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, owned_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import NAT

MASQUERADE = "masquerade"
PORTS = "ports"
# The tables of nftables by the kind of their rules.
_TABLES = {MASQUERADE: firewall_names.MASQUERADE_TABLE, PORTS: firewall_names.PORTS_TABLE}


def _list_rules(view: NodeView, owners: t.AbstractSet[t.Hashable], *, table: str) -> t.Iterator[OwnedItem]:
    """Yield rules of nftables. The plugin itself forgets the flows of those that map ports."""
    for item in owned_rules.list_nftables(view, owners, table=table):
        yield item._replace(remove=_remove_rules)
    nftables.require_no_chain(table)


def _remove_rules(rules: t.Sequence[NftRule], dummy: NodeView) -> None:
    nftables.remove(*rules)


_CHAINS: dict[int, Listing] = {
    family: functools.partial(owned_rules.list_chains, family=family) for family in iptables.FAMILIES
}
_RULES: dict[str, Listing] = {kind: functools.partial(_list_rules, table=table) for kind, table in _TABLES.items()}


class RuleRemoval(t.NamedTuple):
    """The rules of one attachment that are to be removed.

    Attributes:
        kind: `MASQUERADE` or `PORTS`.
        addresses: The addresses of the attachment; None if they are not known, which stands for all of the container.
    """

    attachment: Attachment
    kind: str
    addresses: frozenset[str] | None

    @property
    def listings(self) -> dict[Listing, t.Hashable]:
        """As in `Search`. Families to which no address belongs are not listed."""
        key, addresses = self.attachment.key, self.addresses
        own = {4, 6} if addresses is None else {6 if ":" in address else 4 for address in addresses}
        chains = {_CHAINS[family]: self.chain for family in iptables.FAMILIES if family in own}
        return {**chains, _RULES[self.kind]: firewall_names.instance(*key) if self.kind == MASQUERADE else key[1]}

    @property
    def required(self) -> tuple[Listing, ...]:
        return ()

    @property
    def chain(self) -> str:
        """The chain of iptables that belongs to the container."""
        names = (self.attachment.network, self.attachment.container_id)
        masquerade, ports = firewall_names.container_chains(*names)
        return masquerade if self.kind == MASQUERADE else ports


def remove(removals: t.Sequence[RuleRemoval]) -> dict[int, Exception]:
    """Remove rules, those of each tool in one transaction.

    If a transaction fails, the removals are divided until those that fail are known. A jump that plugins have written twice,
    because they ran at the same time, is removed twice. A chain to which a rule was lost is removed as well.

    Returns:
        The errors of removals that failed, by their numbers.
    """
    # The kernel's chains cost less than a program that lists all rules, but more than a kept listing.
    if not rule_cache.is_kept() and not _may_exist(removals):
        return {}
    view = NodeView()
    groups, errors = list_groups(removals, view)
    own = [[_narrow(item, each) for item in group if _is_own(item, each)] for group, each in zip(groups, removals)]
    return {**remove_groups(own, view), **errors}


def _may_exist(removals: t.Sequence[RuleRemoval]) -> bool:
    """Return whether the kernel may have rules of removals, according to its chains."""
    if iptables.may_have_legacy_table(NAT):
        return True
    try:
        present = nf_tables.list_chains()
    except CniError:  # the programs report why
        return True
    own = {removal.chain for removal in removals}
    return any(chain.name in own or chain.table in _TABLES.values() for chain in present)


def _narrow(item: OwnedItem, removal: RuleRemoval) -> OwnedItem:
    """Return what is removed of an item: of a chain that maps ports, the rules for the addresses of the attachment."""
    if removal.kind == MASQUERADE or removal.addresses is None or isinstance(item.content, NftRule):
        return item
    ports = owned_rules.MappedPorts(item.content.family, item.content.name, removal.addresses)
    return item._replace(content=ports, key=ports, remove=owned_rules.remove_mapped_ports)


def _is_own(item: OwnedItem, removal: RuleRemoval) -> bool:
    """Return whether a rule belongs to the attachment: the interfaces of a container share its chain."""
    if removal.addresses is None:
        return True
    if isinstance(item.content, NftRule):
        return removal.kind == MASQUERADE or not item.content.values.isdisjoint(removal.addresses)
    if removal.kind == PORTS or not item.content.line:
        return bool(removal.addresses)
    source = iptables.value(iptables.words(item.content.line), "-s")
    address, dummy, length = source.partition("/")
    is_host = length in ("", "32", "128")
    # Releases before 0.8 match the network.
    return address in removal.addresses or (bool(removal.addresses) and not is_host)
