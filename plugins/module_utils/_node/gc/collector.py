# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find and remove all leaks of a node, one network after the other."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import file_name
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_name
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import NOTHING_REMOVED, Removal
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc import rule_leaks, shared_resources
from ansible_collections.cni.node.plugins.module_utils._node.gc.file_leaks import LeaseFinder, SavedValueFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import (
    Finder,
    GcRun,
    Listed,
    ReadAgain,
    Scope,
    collect_each,
    collect_leaks,
    list_items,
    read_node,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import FAILED, GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.link_leaks import BridgePortFinder, IfbLinkFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.own_files import OwnFiles
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners, ValidAttachments, configurations
from ansible_collections.cni.node.plugins.module_utils._node.gc.records import RecordCollector
from ansible_collections.cni.node.plugins.module_utils._node.gc.rule_leaks import (
    FirewallRuleFinder,
    IptablesRuleFinder,
    IsolationRuleFinder,
    NftMasqueradeFinder,
    NftPortMappingFinder,
    OrphanChainFinder,
    SpoofChainFinder,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory, lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

# In the order of collection: links come before the chains that are kept while their link exists. A new kind of what
# plugins leave is one more class here. Attachments (records.py), leases, which have a finder for each directory, and files of
# this collection (own_files.py) are not in it.
FINDERS: t.Final[tuple[t.Callable[[GcRun], Finder[t.Any]], ...]] = (
    IptablesRuleFinder,
    NftMasqueradeFinder,
    OrphanChainFinder,
    NftPortMappingFinder,
    FirewallRuleFinder,
    IsolationRuleFinder,
    IfbLinkFinder,
    BridgePortFinder,
    SavedValueFinder,
    SpoofChainFinder,
)


class Collector:
    """Finds and removes leaked resources, one network after the other, each with its lock held."""

    def __init__(
        self,
        runtime: Runtime,
        cache_dir: str,
        networks: ConfDir,
        valid: ValidAttachments,
        policy: GcPolicy,
        timeout: float,
        removal: Removal = NOTHING_REMOVED,
    ) -> None:
        """
        Args:
            timeout: Seconds to wait for each lock.
            removal: Networks and attachments that earlier tasks removed. Shared resources of these networks are collected.
        """
        self._runtime = runtime
        self._paths = runtime.paths
        self._cache_dir = cache_dir
        self._networks = networks
        self._policy = policy
        self._timeout = timeout
        self._removal = removal
        self._data_dirs = runtimes.data_dirs(self._paths.root)
        removed = removal.attachments if policy.dry_run else ()
        self._records = RecordCollector(runtime, cache_dir, networks, valid, policy, removed)

    def collect(self, names: t.Sequence[str]) -> list[Leak]:
        """Collect the leaks of these networks, or of all, and this collection's own leaked files."""
        # Firewall rules are listed before records are read: an unrecorded rule that appears later may be that of an ADD.
        view = read_node()
        leaks, unlisted = rule_leaks.list_firewall(view)
        records, unreadable = self._records.read_all()
        all_names = self._network_names(records, view)
        locks = _lock_names(records, {*all_names, *names})
        own_files = OwnFiles(self._cache_dir, self._networks.path, locks, self._policy, self._paths)
        checked = list(dict.fromkeys(names)) or all_names
        run = GcRun(
            self._policy,
            self._paths,
            leaks,
            frozenset(checked),
            not names,
            self._configurations(records, names),
            tuple(self._networks.networks.values()),
            unlisted,
        )
        finders = [make(run) for make in FINDERS]
        with self._exclusive():
            listed = list_items(_select_by_scope(finders, Scope.NETWORK), view, run)
            for name in checked:
                with run.report_errors("this network", name, name):
                    self._collect_network(name, run, listed, may_run_plugins=not unreadable)
            scopes = (Scope.NODE, Scope.ALL_NETWORKS) if run.all_networks else (Scope.NODE,)
            self._collect_node(run, _select_by_scope(finders, *scopes), view)
            self._collect_shared(run)
        reported = {leak.subject for leak in leaks}
        leaks += [leak for leak in unreadable if leak.subject not in reported and not names]
        self._collect_own_files(own_files, run)
        return leaks

    def find_unknown_releases(self) -> list[Key]:
        """Return the attachments to release that are not recorded, or not by another runtime."""
        return self._records.find_unknown_releases()

    def _collect_own_files(self, own_files: OwnFiles, run: GcRun) -> None:
        """Collect this collection's own files last, because they may belong to attachments removed before."""
        removed_paths: set[str] = set()
        if run.policy.dry_run:
            removed = {*self._removal.attachments, *self._records.pending_removal}
            stores = (self._runtime.records, self._runtime.intents)
            removed_paths = run.list_collected().union(store.path_of(key) for store in stores for key in removed)
        with run.report_errors("this collection's own files"):
            run.leaks.extend(own_files.collect(removed_paths))

    def _network_names(self, records: t.Iterable[Record], view: NodeView) -> list[str]:
        recorded = {record.attachment.network for record in records}
        # Other programs may have made such directories or comments.
        named = {
            *lease_files.networks(self._paths.lease_dir),
            *(name for name, path in self._data_dirs.items() if name in lease_files.networks(path)),
            *rule_leaks.list_networks(view),
        }
        return sorted({*self._networks.networks, *recorded, *filter(is_name, named)})

    def _configurations(
        self, records: t.Iterable[Record], names: t.Collection[str]
    ) -> tuple[NetworkConfiguration, ...]:
        known = [*self._networks.networks.values(), *configurations(records)]
        return tuple(network for network in known if not names or network.name in names)

    def _exclusive(self) -> t.ContextManager[None]:
        """Keep other runs from collecting at the same time."""
        if self._policy.dry_run:
            return contextlib.nullcontext()
        path = os.path.join(self._cache_dir, OWN_DIRECTORY, "locks", "gc")
        return hold_lock(path, exclusive=True, timeout=self._timeout, what="leak collection")

    def _collect_network(self, name: str, run: GcRun, listed: Listed, *, may_run_plugins: bool) -> None:
        """Collect leaks that name a network, with its lock held.

        Args:
            listed: The items of finders.
            may_run_plugins: Whether plugins may run GC: only if all records are readable, so that all valid attachments are known.
        """
        dry_run = run.policy.dry_run
        with contextlib.nullcontext() if dry_run else self._runtime.exclusion.lock_network(name):
            owners = self._records.collect(name, run.leaks)

            def read_again() -> tuple[Owners, NodeView]:
                return owners, read_node()  # these owners do not change while their network is locked

            before = len(run.leaks)
            collect_each(listed, owners, read_again, run)
            # Only now: a rule that leads to an address must not outlive its lease. Results list leases first.
            rules, run.leaks[before:] = run.leaks[before:], []
            with run.report_errors("this network", name, name):
                self._collect_leases(owners, read_again, run, _find_failed_rule(rules) or run.unlisted)
            run.leaks.extend(rules)
            if may_run_plugins and not dry_run:
                self._run_plugin_gc(owners)

    def _collect_leases(self, owners: Owners, read_again: ReadAgain, run: GcRun, doubt: str) -> None:
        """Collect the leases of a network; `doubt` is a reason to keep all of them, or an empty string."""
        network = self._networks.networks.get(owners.network)
        reason = self._possible_configuration(owners.network)
        known = [network] if network else []
        others = [path for name, path in self._data_dirs.items() if name == owners.network]
        for path in lease_files.directories(
            owners.network, known, self._paths.lease_dir, *others, recorded=owners.configurations()
        ):
            with lease_directory.hold(path) as directory:
                if directory is not None:
                    finder = LeaseFinder(run.policy, directory, network is not None, reason, doubt)
                    items = finder.snapshot()
                    with finder.lock(owners, self._timeout):
                        run.leaks.extend(collect_leaks(finder, items, owners, read_again, run.policy))

    def _possible_configuration(self, name: str) -> str:
        """Return why a network may have a configuration although none was read, or an empty string."""
        unreadable = [path for path in self._networks.broken if path not in self._networks.refused]
        if unreadable:
            return f"an unreadable configuration may define this network: {unreadable[0]}"
        is_planned = self._policy.dry_run and self._networks.path == self._paths.conf_dir
        usual = self._networks if is_planned else conf_dir.load(self._paths.conf_dir)
        for network in (*usual.networks.values(), *usual.refused.values(), *self._networks.refused.values()):
            if network.name == name:
                return f"{network.source} configures this network"
        return ""

    def _run_plugin_gc(self, owners: Owners) -> None:
        """Run GC of the network's plugins."""
        network = self._networks.networks.get(owners.network)
        if network is not None:
            network_operations.run_plugin_gc(
                self._runtime, network, owners.live | self._records.read_elsewhere(owners.network)
            )

    def _collect_node(self, run: GcRun, finders: t.Sequence[Finder[t.Any]], view: NodeView) -> None:
        """Collect leaks that do not name their network."""
        if run.list_collected() and not run.policy.dry_run:
            view = read_node()
        with run.report_errors("the whole node"):
            collect_each(list_items(finders, view, run), self._records.read_owners(), self._read_owners_again, run)

    def _read_owners_again(self) -> tuple[Owners, NodeView]:
        """Read the owners again: an ADD that has ended in the meantime has been recorded."""
        reason = gc_owners.find_add_in_progress()
        return dataclasses.replace(self._records.read_owners(), add_in_progress=reason), read_node()

    def _collect_shared(self, run: GcRun) -> None:
        """Collect resources that all containers of the node share, if only removed networks used them."""
        if not self._removal.files and not self._removal.earlier:
            return
        with run.report_errors("shared resources", "removed networks"):
            owners, leaks = self._records.read_owners(), tuple(run.leaks)
            run.leaks.extend(shared_resources.collect(run.policy, self._networks.path, self._removal, owners, leaks))


def _select_by_scope(finders: t.Iterable[Finder[t.Any]], *scopes: Scope) -> list[Finder[t.Any]]:
    return [finder for finder in finders if finder.scope in scopes]


def _find_failed_rule(leaks: t.Iterable[Leak]) -> str:
    """Return which rule could not be removed, or an empty string."""
    failed = (leak.subject for leak in leaks if leak.action == FAILED and leak.kind in (Kind.CHAIN, Kind.NETWORK))
    return next((f"{subject} could not be removed" for subject in failed), "")


def _lock_names(records: t.Iterable[Record], networks: t.Iterable[str]) -> set[str]:
    containers = {record.attachment.container_id for record in records}
    return {file_name("network", name) for name in networks} | {file_name("container", name) for name in containers}
