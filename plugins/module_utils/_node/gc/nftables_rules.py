# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find nftables rules that masquerade or map ports for a lost container."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import conntrack, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

_UDP: t.Final = "udp"
_FAMILIES: t.Final = {"ip": 4, "ip6": 6}


class _NftRuleFinder:
    """The common part of the finders of both tables."""

    table: str

    def __init__(self, dummy: GcRun) -> None:
        pass

    def snapshot(self, node: NodeSnapshot) -> Items[NftRule]:
        return {_identity(rule): rule for rule in node.nft_rules if rule.table == self.table}

    def reason_to_keep(self, suspect: Suspect[NftRule], owners: Owners) -> str:
        addresses = [address for rule in suspect.items for address in rule.addresses]
        return owners.reason_to_keep(suspect.container_id, addresses)

    def remove(self, suspect: Suspect[NftRule]) -> None:
        for rule in suspect.items:
            nftables.remove(rule)


class NftMasqueradeFinder(_NftRuleFinder):
    """Finds nftables rules that masquerade for a lost container."""

    scope = Scope.NETWORK
    table = firewall_names.MASQUERADE_TABLE

    def find(self, items: Items[NftRule], owners: Owners) -> t.Iterator[Suspect[NftRule]]:
        names = owners.live | owners.pending_removal
        owned = {firewall_names.instance(owners.network, *name) for name in names}
        comments = ((rule, firewall_names.parse_instance(rule.comment)) for rule in items.values())
        rules = [rule for rule, named in comments if named and named[1] == owners.network and named[0] not in owned]
        return _by_owner(rules, owners.network)


class NftPortMappingFinder(_NftRuleFinder):
    """Finds nftables rules that map ports for a lost container. They do not name their network."""

    scope = Scope.ALL_NETWORKS
    table = firewall_names.PORTS_TABLE

    def find(self, items: Items[NftRule], owners: Owners) -> t.Iterator[Suspect[NftRule]]:
        return _by_owner([rule for rule in items.values() if not owners.has_container(rule.comment)], owners.network)

    def remove(self, suspect: Suspect[NftRule]) -> None:
        super().remove(suspect)
        for rule in (rule for rule in suspect.items if _UDP in rule.values):
            # The ports of the node and of the container; no other flow leads to the container's address.
            ports = [value for value in rule.values if isinstance(value, int)]
            conntrack.forget_udp(_FAMILIES.get(rule.family, 4), ports, rule.addresses)


def list_networks(node: NodeSnapshot) -> set[str]:
    """Return the networks that the comments of masquerade rules name."""
    comments = (rule.comment for rule in node.nft_rules if rule.table == firewall_names.MASQUERADE_TABLE)
    return {named[1] for named in map(firewall_names.parse_instance, comments) if named}


def _by_owner(rules: t.Iterable[NftRule], network: str) -> t.Iterator[Suspect[NftRule]]:
    by_owner: dict[tuple[str, str], list[NftRule]] = {}
    for rule in rules:
        by_owner.setdefault((rule.family, rule.comment), []).append(rule)
    for (family, comment), owned in by_owner.items():
        is_masquerade = owned[0].table == firewall_names.MASQUERADE_TABLE
        named = firewall_names.parse_instance(comment) if is_masquerade else None
        container_id = named[2] if named else comment
        evidence = f"no runtime has a record of container {container_id}, which its comment names"
        leak = Leak(Kind.CHAIN, network, f"nft {family} {owned[0].table}: {comment}", evidence)
        yield Suspect(leak, tuple(owned), container_id=container_id)


def _identity(rule: NftRule) -> tuple[t.Any, ...]:
    """Return the parts of a rule that do not change, unlike its counters."""
    return rule.family, rule.chain, rule.handle, rule.comment, rule.addresses


__all__ = ("NftMasqueradeFinder", "NftPortMappingFinder", "list_networks")
