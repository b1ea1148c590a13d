# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find firewall rules and chains whose container is lost."""

from __future__ import annotations

import functools
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import FinderBase, GcRun, Items, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, owned_rules, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_names import FORWARD_CHAIN
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import (
    FILTER,
    NAT,
    AddressRules,
    ContainerJump,
    OrphanChain,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.spoof_checks import SpoofCheck

# Where plugins have rules of single containers in nftables: family and name.
_NFT_TABLES = (
    ("", firewall_names.MASQUERADE_TABLE),
    ("", firewall_names.PORTS_TABLE),
    (firewall_names.SPOOF_FAMILY, firewall_names.SPOOF_TABLE),
)


def list_firewall(view: NodeView) -> tuple[list[Leak], str]:
    """List the whole firewall now. What cannot be listed counts as empty.

    Returns:
        An entry for each program that cannot list something, and why rules of containers may exist that are not listed, or an
        empty string.
    """
    listings: list[tuple[str, str, t.Callable[[], object]]] = [
        (iptables.tool(family), "chains", functools.partial(view.require_iptables, family, NAT))
        for family in iptables.FAMILIES
    ]
    listings += [("nft", "rules", functools.partial(view.require_nftables, *place)) for place in _NFT_TABLES]
    errors: list[CniError] = []
    failures: dict[str, str] = {}
    for tool, what, read in listings:
        try:
            read()
        except CniError as exc:
            errors.append(exc)
            failures.setdefault(tool, f"its {what}: {exc}")
    view.accept_unlisted()
    errors = [error for error in errors if not program.is_unsupported(error)]
    entries = [Leak(Kind.CHAIN, "", tool, f"cannot list {failure}") for tool, failure in failures.items()]
    return entries, str(errors[0]) if errors else _find_missing_program()


def _find_missing_program() -> str:
    """Return which program is missing although the kernel has chains of plugins, or an empty string."""
    try:
        for family in iptables.FAMILIES:
            iptables.require_no_chain(family, NAT, firewall_names.is_container_chain)
            iptables.require_no_chain(family, FILTER, FORWARD_CHAIN.__eq__)
        for table in (firewall_names.MASQUERADE_TABLE, firewall_names.PORTS_TABLE):
            nftables.require_no_chain(table)
    except CniError as exc:
        return str(exc)
    return ""


def list_networks(view: NodeView) -> set[str]:
    """Return the networks that the comments of containers' rules name."""
    comments = (rule.comment for rule in owned_rules.list_nftables(view, firewall_names.MASQUERADE_TABLE))
    named = filter(None, map(firewall_names.parse_instance, comments))
    return {jump.network for jump in owned_rules.list_jumps(view)}.union(network for dummy, network, dummy in named)


class IptablesRuleFinder(FinderBase[ContainerJump]):
    """Finds iptables chains that masquerade or map ports for a lost container, by the rules that jump to them."""

    scope = Scope.NETWORK

    def snapshot(self, view: NodeView) -> Items[ContainerJump]:
        return {jump: jump for jump in owned_rules.list_jumps(view) if jump.network in self._run.networks}

    def find(self, items: Items[ContainerJump], owners: Owners) -> t.Iterator[Suspect[ContainerJump]]:
        by_chain: dict[tuple[str, int, str], list[ContainerJump]] = {}
        for jump in items.values():
            if jump.network == owners.network and not owners.has_container(jump.container_id):
                by_chain.setdefault((jump.container_id, jump.family, jump.target), []).append(jump)
        for (container_id, family, chain), jumps in by_chain.items():
            evidence = f"no runtime has a record of container {container_id}, which its comment names"
            leak = Leak(Kind.CHAIN, owners.network, f"{iptables.tool(family)} {NAT} {chain}", evidence)
            yield Suspect(leak, tuple(jumps), container_id=container_id)

    def reason_to_keep(self, suspect: Suspect[ContainerJump], owners: Owners) -> str:
        return owners.reason_to_keep(suspect.container_id, [jump.address for jump in suspect.items])


class OrphanChainFinder(FinderBase[OrphanChain]):
    """Finds iptables chains of lost containers that no rule jumps to.

    Such a chain has no effect. If a container owns it, the missing rule is drift.
    """

    scope = Scope.NODE

    def snapshot(self, view: NodeView) -> Items[OrphanChain]:
        return {(chain.family, chain.name): chain for chain in owned_rules.list_orphan_chains(view)}

    def find(self, items: Items[OrphanChain], owners: Owners) -> t.Iterator[Suspect[OrphanChain]]:
        owned = self._chains_of_owners(owners) if items else set()
        for chain in items.values():
            network, container_id = chain.owner
            if chain.name not in owned and (self._run.all_networks or network in self._run.networks):
                subject = f"{iptables.tool(chain.family)} {NAT} {chain.name}"
                evidence = "no rule jumps to it, and no recorded attachment has a chain of this name"
                yield Suspect(Leak(Kind.CHAIN, network, subject, evidence), (chain,), container_id=container_id)

    def reason_to_keep(self, suspect: Suspect[OrphanChain], owners: Owners) -> str:
        addresses = suspect.items[0].addresses
        return owners.reason_to_keep(suspect.container_id, addresses) or owners.add_in_progress

    def _chains_of_owners(self, owners: Owners) -> set[str]:
        """Return the names of all attachments' chains. Attachments in `valid_attachments` may be of any checked network."""
        names = {record.attachment.key[:2] for record in owners.records}
        names |= {(network, container_id) for network in self._run.networks for container_id, dummy in owners.live}
        return {chain for name in names for chain in firewall_names.container_chains(*name)}


class FirewallRuleFinder(FinderBase[AddressRules]):
    """Finds rules of the plugin firewall for addresses that no attachment has."""

    scope = Scope.ALL_NETWORKS

    def snapshot(self, view: NodeView) -> Items[AddressRules]:
        return {pair: pair for pair in owned_rules.list_address_rules(view)}

    def find(self, items: Items[AddressRules], owners: Owners) -> t.Iterator[Suspect[AddressRules]]:
        recorded = {address for record in owners.records for address in record.addresses} if items else set()
        for pair in items.values():
            if pair.address not in recorded:
                subject = f"{iptables.tool(pair.family)} {FILTER} {FORWARD_CHAIN}: {pair.address}"
                leak = Leak(Kind.RULE, "", subject, "no runtime has a record of an attachment with this address")
                yield Suspect(leak, (pair,), proof="the address is not in use")

    def reason_to_keep(self, suspect: Suspect[AddressRules], owners: Owners) -> str:
        # The next container with the address gets the same rules: an ADD that began just now may have made them.
        addresses = [pair.address for pair in suspect.items]
        reason = owners.reason_to_keep("", addresses) or _reason_by_incomplete_add(owners)
        return reason or gc_owners.find_add_in_progress()


def _reason_by_incomplete_add(owners: Owners) -> str:
    """Return a clause that names a live attachment whose addresses are not known yet, or an empty string."""
    for record in owners.records:
        if record.result is None and owners.has(*record.attachment.key[1:]):
            return f"the {record.attachment}, whose ADD has not finished, may use the address"
    return ""


class _NftRuleFinder:
    """The common part of the finders of both tables."""

    table: str

    def __init__(self, dummy: GcRun) -> None:
        pass

    def snapshot(self, view: NodeView) -> Items[NftRule]:
        return {_identity(rule): rule for rule in owned_rules.list_nftables(view, self.table)}

    def reason_to_keep(self, suspect: Suspect[NftRule], owners: Owners) -> str:
        addresses = [address for rule in suspect.items for address in rule.addresses]
        return owners.reason_to_keep(suspect.container_id, addresses)

    def remove(self, suspect: Suspect[NftRule]) -> None:
        owned_rules.remove_nftables(suspect.items)


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


class SpoofChainFinder(FinderBase[SpoofCheck]):
    """Finds nftables chains that check the MAC address of a lost container's traffic (``macspoofchk`` of bridge)."""

    scope = Scope.ALL_NETWORKS

    def snapshot(self, view: NodeView) -> Items[SpoofCheck]:
        return {(check.owner, check.chains, check.rules): check for check in spoof_checks.listing(view)}

    def find(self, items: Items[SpoofCheck], owners: Owners) -> t.Iterator[Suspect[SpoofCheck]]:
        owned = _spoof_chains(owners) if items else set()
        for check in items.values():
            if owned.isdisjoint(check.chains):
                evidence = f"no runtime has a record of {check.owner}, the container and interface in its name"
                yield Suspect(Leak(Kind.CHAIN, "", check.name, evidence), (check,))

    def reason_to_keep(self, suspect: Suspect[SpoofCheck], owners: Owners) -> str:
        check = suspect.items[0]
        return owners.reason_to_keep_any(check.container_ids) or self._existing_link(check) or owners.add_in_progress

    def _existing_link(self, check: SpoofCheck) -> str:
        """Return a clause that names the link whose traffic is checked, or an empty string. Collected links do not count."""
        links = {name for dummy, name in socket.if_nameindex()} - self._run.list_collected(Kind.LINK)
        names = sorted(links.intersection(map(str, check.words)))
        return f"the link {names[0]}, whose traffic it checks, exists" if names else ""


def _spoof_chains(owners: Owners) -> set[str]:
    return {name for names in owners.names() for name in firewall_names.spoof_names(*names)}
