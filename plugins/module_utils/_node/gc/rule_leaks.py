# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find firewall rules and chains whose container is lost."""

from __future__ import annotations

import collections
import ipaddress
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import conntrack, iptables, nat, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nat import Rule
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_names import FORWARD_CHAIN
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.spoof_checks import SpoofCheck
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import ContainerAddress
from ansible_collections.cni.node.plugins.module_utils._reference.state.forwarding import address_rules

_FILTER: t.Final = "filter"
_UDP: t.Final = "udp"
_FAMILIES: t.Final = {"ip": 4, "ip6": 6}


def _list_nft_rules(view: NodeView, table: str) -> list[NftRule]:
    """Return the rules with comments in the tables of nftables with a name."""
    present = view.require_nftables("", table)
    return present.commented if present else []


class ContainerRule(t.NamedTuple):
    """A rule that jumps to the chain of a container, and the names in its comment."""

    network: str
    container_id: str
    rule: Rule


class IptablesRuleFinder:
    """Finds iptables chains that masquerade or map ports for a lost container, by the rules that jump to them."""

    scope = Scope.NETWORK

    def __init__(self, run: GcRun) -> None:
        self._networks = run.networks

    def snapshot(self, view: NodeView) -> Items[ContainerRule]:
        return {item: item for item in _list_rules(view) if item.network in self._networks}

    def find(self, items: Items[ContainerRule], owners: Owners) -> t.Iterator[Suspect[ContainerRule]]:
        by_chain: dict[tuple[str, int, str], list[ContainerRule]] = {}
        for item in items.values():
            if item.network == owners.network and not owners.has_container(item.container_id):
                by_chain.setdefault((item.container_id, item.rule.family, item.rule.target), []).append(item)
        for (container_id, family, chain), rules in by_chain.items():
            evidence = f"no runtime has a record of container {container_id}, which its comment names"
            leak = Leak(Kind.CHAIN, owners.network, f"{iptables.tool(family)} nat {chain}", evidence)
            yield Suspect(leak, tuple(rules), container_id=container_id)

    def reason_to_keep(self, suspect: Suspect[ContainerRule], owners: Owners) -> str:
        return owners.reason_to_keep(suspect.container_id, [item.rule.address for item in suspect.items])

    def remove(self, suspect: Suspect[ContainerRule]) -> None:
        for item in suspect.items:
            nat.remove(item.rule)


def list_networks(view: NodeView) -> set[str]:
    """Return the networks that the comments of containers' rules name."""
    comments = (rule.comment for rule in _list_nft_rules(view, firewall_names.MASQUERADE_TABLE))
    named = filter(None, map(firewall_names.parse_instance, comments))
    return {item.network for item in _list_rules(view)}.union(network for dummy, network, dummy in named)


def _list_rules(view: NodeView) -> t.Iterator[ContainerRule]:
    for family, table in view.list_tables(nat.TABLE):
        for rule in nat.rules_leading_to(family, table, firewall_names.ENTRANCES, firewall_names.CHAIN_PREFIX):
            named = firewall_names.owner(rule.comment)
            if named:
                yield ContainerRule(*named, rule)


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

    def snapshot(self, view: NodeView) -> Items[OrphanChain]:
        return {
            (family, name): OrphanChain(family, name, rules)
            for family, table in view.list_tables(nat.TABLE)
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

    def snapshot(self, view: NodeView) -> Items[AddressRules]:
        return {pair: pair for family, table in view.list_tables(_FILTER) for pair in _pairs(family, table)}

    def find(self, items: Items[AddressRules], owners: Owners) -> t.Iterator[Suspect[AddressRules]]:
        recorded = {address for record in owners.records for address in record.addresses} if items else set()
        for pair in items.values():
            if pair.address not in recorded:
                subject = f"{iptables.tool(pair.family)} {_FILTER} {FORWARD_CHAIN}: {pair.address}"
                leak = Leak(Kind.RULE, "", subject, "no runtime has a record of an attachment with this address")
                yield Suspect(leak, (pair,), proof=", and the address is not in use")

    def reason_to_keep(self, suspect: Suspect[AddressRules], owners: Owners) -> str:
        # The next container with the address gets the same rules: an ADD that began just now may have made them.
        addresses = [pair.address for pair in suspect.items]
        reason = owners.reason_to_keep("", addresses) or _reason_by_incomplete_add(owners)
        return reason or gc_owners.find_add_in_progress()

    def remove(self, suspect: Suspect[AddressRules]) -> None:
        for pair in suspect.items:
            iptables.change(pair.family, _FILTER, *(("-D", *rule.split()[1:]) for rule in pair.rules))


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


class _NftRuleFinder:
    """The common part of the finders of both tables."""

    table: str

    def __init__(self, dummy: GcRun) -> None:
        pass

    def snapshot(self, view: NodeView) -> Items[NftRule]:
        return {_identity(rule): rule for rule in _list_nft_rules(view, self.table)}

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


class SpoofChainFinder:
    """Finds nftables chains that check the MAC address of a lost container's traffic (``macspoofchk`` of bridge)."""

    scope = Scope.ALL_NETWORKS

    def __init__(self, run: GcRun) -> None:
        self._run = run

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


def _spoof_chains(owners: Owners) -> set[str]:
    return {name for names in owners.names() for name in firewall_names.spoof_names(*names)}


__all__ = (
    "AddressRules",
    "ContainerRule",
    "FirewallRuleFinder",
    "IptablesRuleFinder",
    "NftMasqueradeFinder",
    "NftPortMappingFinder",
    "OrphanChain",
    "OrphanChainFinder",
    "SpoofChainFinder",
    "list_networks",
)
