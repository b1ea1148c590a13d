# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find resources that all containers shared, and that only removed networks used."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import Removal
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns, rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import NetworkUsers
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_bridges import SharedBridges, list_bridges
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_chains import ExpectedRemovals, SharedChains
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_tables import SharedTables
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


class SharedResources:
    """Finds resources that plugins make once for all containers and never remove, if only removed networks used them."""

    def __init__(self, policy: GcPolicy, directory: str, removal: Removal) -> None:
        """
        Args:
            directory: The conf dir of this collection.
        """
        self._policy = policy
        self._directory = directory
        self._removal = removal

    def collect(self, owners: Owners, leaks: t.Iterable[Leak]) -> t.Iterator[Leak]:
        """Collect shared resources.

        Args:
            owners: The owners in all networks of the node.
            leaks: The leaks that have been reported before.
        """
        networks = self._removal.networks()
        if not networks:
            return
        pending = [record for record in owners.records if self._is_pending(record, owners)]
        live = [record for record in owners.records if record not in pending]
        users = NetworkUsers.read(self._directory, live, self._removal.paths if self._policy.dry_run else ())
        broken = f"an unreadable record may use it: {owners.broken[0]}" if owners.broken else ""
        reason = broken or gc_owners.find_add_in_progress()
        collected = {leak.subject for leak in leaks if leak.collected} if self._policy.dry_run else set()
        bridges, view = list_bridges(networks), rtnetlink.snapshot(routes=False)
        absent_links = {bridge.name for bridge in bridges} - {link.name for link in view.links}
        ports = _pending_ports(pending, view) | collected
        for leak in SharedBridges(self._policy, users, view, ports).collect(bridges, reason):
            absent_links |= {leak.subject} if leak.collected else set()
            yield leak
        yield from SharedChains(self._policy, users, _list_expected(pending, collected), absent_links).collect(
            networks, reason
        )
        yield from SharedTables(self._policy, users, _PendingComments(pending, collected)).collect(networks, reason)

    def _is_pending(self, record: Record, owners: Owners) -> bool:
        """Return whether a run would have deleted an attachment by now, in a dry run."""
        return self._policy.dry_run and record.attachment.key[1:] in owners.pending_removal


def _pending_ports(pending: t.Sequence[Record], view: View) -> set[str]:
    """Return the ports of attachments that are pending removal."""
    ports = {name for record in pending for name in record.node_interfaces}
    namespaces = {netns.inode(record.attachment.netns) for record in pending} - {0}
    unknown = [link for link in view.links if link.kind == "veth" and link.master and link.name not in ports]
    if not namespaces or not unknown:
        return ports
    # A result of a version before 0.3.0 does not list its interfaces.
    ends = veth.find_veth_ends().netns_by_ends
    return ports | {link.name for link in unknown if netns.inode(ends.get((link.peer, link.ifindex), "")) in namespaces}


def _list_expected(pending: t.Iterable[Record], collected: t.Iterable[str]) -> ExpectedRemovals:
    names = [record.attachment.key[:2] for record in pending]
    chains = {chain for name in names for chain in firewall_names.container_chains(*name)}
    addresses = {address for record in pending for address in record.addresses}
    subjects = [subject.split(" ") for subject in collected]
    chains |= {words[2] for words in subjects if words[1:2] == ["nat"] and len(words) == 3}
    addresses |= {
        words[3]
        for words in subjects
        if words[1:3] == ["filter", f"{firewall_names.FORWARD_CHAIN}:"] and len(words) == 4
    }
    return ExpectedRemovals(frozenset(chains), frozenset(addresses))


class _PendingComments:
    """Comments of nftables rules, and names of chains, that are pending removal in a dry run."""

    def __init__(self, pending: t.Iterable[Record], collected: t.Iterable[str]) -> None:
        keys = [record.attachment.key for record in pending]
        self._containers = {key[1] for key in keys}
        self._instances = {firewall_names.instance(*key) for key in keys}
        self._spoof_checks = {name for key in keys for name in firewall_names.spoof_names(*key[1:])}
        self._collected = [subject.partition(": ")[2] for subject in collected if subject.startswith("nft ")]

    def __call__(self, comment: str) -> bool:
        is_pending = comment in self._containers | self._spoof_checks or comment.partition(",")[0] in self._instances
        return is_pending or comment in self._collected


__all__ = ("SharedResources",)
