# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import Users
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._node.gc.removal import Removal
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_bridges import SharedBridges, bridges
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_chains import Expected, SharedChains
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_tables import SharedTables
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


class SharedLeaks:
    """Finds what plugins make once for all containers and never take away, and only removed networks used."""

    def __init__(self, scope: Scope, directory: str, removal: Removal) -> None:
        """
        Args:
            directory: Where the networks of this collection are.
        """
        self._scope = scope
        self._directory = directory
        self._removal = removal

    def find(self, claims: Claims, leaks: t.Iterable[Leak]) -> t.Iterator[Leak]:
        """Collect it.

        Args:
            claims: Of all networks of the node.
            leaks: What has been collected before, or would have been.
        """
        networks = self._removal.networks()
        if not networks:
            return
        going = [record for record in claims.records if self._is_pending(record, claims)]
        staying = [record for record in claims.records if record not in going]
        users = Users.of_node(self._directory, staying, self._removal.paths if self._scope.dry_run else ())
        broken = f"a record that cannot be read may need it: {claims.broken[0]}" if claims.broken else ""
        doubt = broken or birth()
        collected = {leak.subject for leak in leaks if leak.collected} if self._scope.dry_run else set()
        wanted, view = bridges(networks), rtnetlink.snapshot(routes=False)
        gone = {one.name for one in wanted} - {link.name for link in view.links}
        for leak in SharedBridges(self._scope, users, view, _ports(going, view) | collected).find(wanted, doubt):
            gone |= {leak.subject} if leak.collected else set()
            yield leak
        yield from SharedChains(self._scope, users, _expected(going, collected), gone).find(networks, doubt)
        yield from SharedTables(self._scope, users, _Comments(going, collected)).find(networks, doubt)

    def _is_pending(self, record: Record, claims: Claims) -> bool:
        """Return whether a dry run has found that a run would have deleted an attachment."""
        return self._scope.dry_run and record.attachment.key[1:] in claims.going


def _ports(going: t.Sequence[Record], view: View) -> set[str]:
    """Return the ports of attachments that a dry run leaves where they are."""
    found = {
        one["name"] for record in going for one in _interfaces(record) if one.get("name") and not one.get("sandbox")
    }
    namespaces = {_inode(record.attachment.netns) for record in going} - {0}
    unknown = [link for link in view.links if link.kind == "veth" and link.master and link.name not in found]
    if not namespaces or not unknown:
        return found
    # A result of a version before 0.3.0 does not tell its interfaces.
    from ansible_collections.cni.node.plugins.module_utils._linux import veth

    ends = veth.other_ends().found
    return found | {one.name for one in unknown if _inode(ends.get((one.peer, one.ifindex), "")) in namespaces}


def _interfaces(record: Record) -> t.Sequence[t.Mapping[str, t.Any]]:
    return (record.result.keys.get("interfaces") if record.result else None) or ()


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return 0


def _expected(going: t.Iterable[Record], collected: t.Iterable[str]) -> Expected:
    names = [record.attachment.key[:2] for record in going]
    chains = {name(*one) for one in names for name in (firewall_names.ports_chain, firewall_names.masquerade_chain)}
    addresses = {address for record in going for address in record.addresses}
    words = [subject.split(" ") for subject in collected]
    chains |= {some[2] for some in words if some[1:2] == ["nat"] and len(some) == 3}
    addresses |= {some[3] for some in words if some[1:3] == ["filter", "CNI-FORWARD:"] and len(some) == 4}
    return Expected(frozenset(chains), frozenset(addresses))


class _Comments:
    """Comments of rules of nftables, and names of chains, that a dry run leaves where they are."""

    def __init__(self, going: t.Iterable[Record], collected: t.Iterable[str]) -> None:
        keys = [record.attachment.key for record in going]
        self._containers = {key[1] for key in keys}
        self._instances = {firewall_names.instance(*key) for key in keys}
        owners = {firewall_names.spoof_owner(*key[1:]) for key in keys}
        self._spoof_checks = {f"{firewall_names.SPOOF_COMMENT_PREFIX}{owner}" for owner in owners}
        self._spoof_checks |= {chain for owner in owners for chain in firewall_names.spoof_chains(owner)}
        self._collected = [subject.partition(": ")[2] for subject in collected if subject.startswith("nft ")]

    def __call__(self, comment: str) -> bool:
        is_going = comment in self._containers | self._spoof_checks or comment.partition(",")[0] in self._instances
        return is_going or comment in self._collected


__all__ = ("SharedLeaks",)
