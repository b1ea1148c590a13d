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
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import FinderBase, GcRun, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, owned_rules, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_names import FORWARD_CHAIN
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import FILTER, NAT
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
    rules = owned_rules.list_nftables(view, table=firewall_names.MASQUERADE_TABLE)
    return {item.network for item in (*_list_jumps(view), *rules)} - {""}


def _list_jumps(view: NodeView) -> t.Iterator[OwnedItem]:
    """Yield the jumps to the chains of containers, of the families that can be listed."""
    for family, dummy in view.list_tables(NAT):
        for item in owned_rules.list_jumps(view, family=family):
            if item.content.name.startswith(firewall_names.CHAIN_PREFIX):
                yield item


class IptablesRuleFinder(FinderBase):
    """Finds iptables chains that masquerade or map ports for a lost container, by the rules that jump to them."""

    scope = Scope.NETWORK

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return (item for item in _list_jumps(view) if item.network in self._run.networks)

    def traces(self, item: OwnedItem) -> t.Iterable[str]:
        return (item.content.name,)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {(owners.network, container_id) for container_id, dummy in owners.live | owners.pending_removal}


class OrphanChainFinder(FinderBase):
    """Finds iptables chains of lost containers that no rule jumps to.

    Such a chain has no effect. If a container owns it, the missing rule is drift.
    """

    scope = Scope.NODE

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        families = (family for family, dummy in view.list_tables(NAT))
        items = (item for family in families for item in owned_rules.list_orphans(view, family=family))
        return (item for item in items if self._run.all_networks or item.network in self._run.networks)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        """Return the names of all attachments' chains. Attachments in `valid_attachments` may be of any checked network."""
        names = {record.attachment.key[:2] for record in owners.records}
        names |= {(network, container_id) for network in self._run.networks for container_id, dummy in owners.live}
        return {chain for name in names for chain in firewall_names.container_chains(*name)}

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        return super().reason_to_keep(suspect, owners) or owners.add_in_progress


class FirewallRuleFinder(FinderBase):
    """Finds rules of the plugin firewall for addresses that no attachment has."""

    scope = Scope.ALL_NETWORKS
    kind = Kind.RULE
    proof = "the address is not in use"

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return owned_rules.list_address_rules(view)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {address for record in owners.records for address in record.addresses}

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        # The next container with the address gets the same rules: an ADD that began just now may have made them.
        reason = super().reason_to_keep(suspect, owners) or _reason_by_incomplete_add(owners)
        return reason or gc_owners.find_add_in_progress()


class IsolationRuleFinder(FinderBase):
    """Finds rules of the plugin firewall that isolate the node's end of a pair, which is gone."""

    scope = Scope.ALL_NETWORKS
    kind = Kind.RULE

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return owned_rules.list_isolated_links(view)

    def traces(self, item: OwnedItem) -> t.Iterable[str]:
        return (str(item.owner),)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {name for record in owners.records for name in record.node_interfaces}

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        link = _find_existing_link(self._run, {str(item.owner) for item in suspect.items})
        reason = super().reason_to_keep(suspect, owners) or (link and f"the link {link} exists")
        return reason or gc_owners.find_add_in_progress()


def _find_existing_link(run: GcRun, names: t.AbstractSet[str]) -> str:
    """Return the first of these links that the node has, or an empty string. Collected links do not count."""
    links = {name for dummy, name in socket.if_nameindex()} - run.list_collected(Kind.LINK)
    return next(iter(sorted(links & names)), "")


def _reason_by_incomplete_add(owners: Owners) -> str:
    """Return a clause that names a live attachment whose addresses are not known yet, or an empty string."""
    for record in owners.records:
        if record.result is None and owners.has(*record.attachment.key[1:]):
            return f"the {record.attachment}, whose ADD has not finished, may use the address"
    return ""


class NftMasqueradeFinder(FinderBase):
    """Finds nftables rules that masquerade for a lost container."""

    scope = Scope.NETWORK

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return owned_rules.list_nftables(view, table=firewall_names.MASQUERADE_TABLE)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {firewall_names.instance(owners.network, *name) for name in owners.live | owners.pending_removal}


class NftPortMappingFinder(FinderBase):
    """Finds nftables rules that map ports for a lost container. They do not name their network."""

    scope = Scope.ALL_NETWORKS

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return owned_rules.list_nftables(view, table=firewall_names.PORTS_TABLE)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {container_id for container_id, dummy in owners.live | owners.pending_removal}

    def names(self, item: OwnedItem) -> t.Iterable[t.Hashable]:
        return item.container_ids


class SpoofChainFinder(FinderBase):
    """Finds nftables chains that check the MAC address of a lost container's traffic (``macspoofchk`` of bridge)."""

    scope = Scope.ALL_NETWORKS

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        return spoof_checks.list_owned(view)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {name for names in owners.names() for name in firewall_names.spoof_names(*names)}

    def names(self, item: OwnedItem) -> t.Iterable[t.Hashable]:
        chains: tuple[str, ...] = item.content.chains
        return chains

    def traces(self, item: OwnedItem) -> t.Iterable[str]:
        return {*item.content.chains, *(rule.comment for rule in item.content.rules)}

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        reason = super().reason_to_keep(suspect, owners)
        return reason or self._existing_link(suspect.items[0].content) or owners.add_in_progress

    def _existing_link(self, check: SpoofCheck) -> str:
        """Return a clause that names the link whose traffic is checked, or an empty string."""
        link = _find_existing_link(self._run, set(map(str, check.words)))
        return link and f"the link {link}, whose traffic it checks, exists"
