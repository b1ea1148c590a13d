# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find leases and saved values whose container is lost."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname, is_name
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import FinderBase, GcRun, Items, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import Lease, LeaseDirectory
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem, own_file


class LeaseFinder:
    """Finds leases of host-local for lost containers, in one directory, and the directory itself if its network is gone."""

    scope = Scope.NETWORK

    def __init__(
        self, policy: GcPolicy, directory: LeaseDirectory, is_configured: bool, reason: str, doubt: str = ""
    ) -> None:
        """
        Args:
            is_configured: Whether the network has a configuration.
            reason: Why the network may have a configuration although none is found, or an empty string.
            doubt: Why a rule of the firewall may still lead to an address without an owner, or an empty string.
        """
        self._policy = policy
        self._directory = directory
        self._is_configured = is_configured
        self._reason = reason
        self._doubt = doubt
        self._last_change = 0.0  # of the directory, before this run removes leases

    def snapshot(self, view: NodeView | None = None) -> Items[Lease]:
        del view  # these are files
        return {lease: lease for lease in self._directory.leases()}

    def find(self, items: Items[Lease], owners: Owners) -> t.Iterator[Suspect[Lease]]:
        self._last_change = 0.0 if self._is_configured else self._directory.last_change()
        removed_paths: set[str] = set()
        for lease in (lease for lease in items.values() if not owners.has(lease.container_id, lease.ifname)):
            if owners.is_pending_removal(lease.container_id, lease.ifname):
                # A run would have freed it by DEL, just now.
                removed_paths.add(lease.path)
                self._last_change = self._policy.now
                continue
            suspect = _suspect(lease, owners)
            yield suspect
            if suspect.leak.collected:
                removed_paths.add(lease.path)
        if not self._is_configured and not owners.live and not self._directory.other_names(removed_paths):
            evidence = "the network has no configuration, no attachment and no lease"
            yield Suspect(Leak(Kind.LEASE_DIRECTORY, owners.network, self._directory.path, evidence), ())

    def reason_to_keep(self, suspect: Suspect[Lease], owners: Owners) -> str:
        if not suspect.items:  # the directory
            return self._reason or owners.reason_to_keep("", ()) or self._policy.reason_for_age(self._last_change)
        (lease,) = suspect.items
        if lease.container_id and not _names_container(lease):
            return "its content may have been written by hand"
        reason = self._policy.reason_for_age(lease.changed)
        reason = reason or owners.reason_to_keep(lease.container_id, [lease.address])
        return reason or (self._doubt and f"a rule of the firewall may lead to its address: {self._doubt}")

    def remove(self, suspect: Suspect[Lease]) -> None:
        for lease in suspect.items:
            self._directory.free(lease)
        if not suspect.items:
            self._directory.remove()

    def lock(self, owners: Owners, timeout: float) -> t.ContextManager[None]:
        """Lock the directory as host-local does, if something will be removed.

        Raises:
            CniError: ``TRY_AGAIN`` after the timeout.
        """
        suspects = () if self._policy.dry_run else self.find(self.snapshot(), owners)
        if all(self.reason_to_keep(suspect, owners) for suspect in suspects):
            return contextlib.nullcontext()
        return self._directory.lock(timeout)


def _suspect(lease: Lease, owners: Owners) -> Suspect[Lease]:
    leak = Leak(Kind.LEASE, owners.network, lease.path, f"no runtime has a record of {lease}")
    if not lease.container_id:
        leak.kind, leak.evidence = Kind.EMPTY_LEASE, "it names no container, so no DEL will free the address"
    elif not _names_container(lease):
        # The content may be confidential.
        leak.evidence = "it does not hold a container ID"
    return Suspect(leak, (lease,), proof="its address is not in use")


def _names_container(lease: Lease) -> bool:
    return is_name(lease.container_id) and is_ifname(lease.ifname or "eth0")


class SavedValueFinder(FinderBase):
    """Finds files in which the plugin tuning keeps the earlier values of lost containers' interfaces."""

    scope = Scope.ALL_NETWORKS
    kind = Kind.SAVED_VALUES

    def __init__(self, run: GcRun) -> None:
        super().__init__(run)
        default = run.paths.tuning_dir
        self._directories = {default}.union(
            *(saved_values.directories(each, default, is_trusted=each in run.current) for each in run.configurations)
        )

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        del view  # these are files
        return (own_file(file) for path in sorted(self._directories) for file in saved_values.listing(path))

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        return {saved_values.owner(*names) for names in owners.names()}

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        age = self._run.policy.reason_for_age(suspect.items[0].content.changed)
        return age or super().reason_to_keep(suspect, owners) or owners.add_in_progress
