# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import file_name
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_name
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._node.gc.bridge_ports import LinkLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.firewall_rules import FirewallLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.ifb_links import IfbLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.iptables_rules import RuleLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.leases import LeaseLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.nftables_rules import NftLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.orphan_chains import ChainLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.own_files import OwnLeftovers
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims, Valid
from ansible_collections.cni.node.plugins.module_utils._node.gc.records import RecordLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.removal import NOTHING_REMOVED, Removal
from ansible_collections.cni.node.plugins.module_utils._node.gc.spoof_chains import SpoofLeaks
from ansible_collections.cni.node.plugins.module_utils._node.gc.tuning_files import SavedValueLeaks
from ansible_collections.cni.node.plugins.module_utils._reference import host_local

# Where other runtimes have their networks, wherever this collection's are.
_USUAL_CONF_DIR: t.Final = "/etc/cni/net.d"


class Garbage:
    """Finds and collects what nobody owns any more, one network after the other, each with its lock held."""

    def __init__(
        self,
        runtime: Runtime,
        cache_dir: str,
        networks: ConfDir,
        valid: Valid,
        scope: Scope,
        timeout: float,
        removal: Removal = NOTHING_REMOVED,
    ) -> None:
        """
        Args:
            timeout: Seconds to wait for each lock.
            removal: Whose shared resources are collected as well.
        """
        self._runtime = runtime
        self._cache_dir = cache_dir
        self._networks = networks
        self._scope = scope
        self._timeout = timeout
        self._removal = removal
        self._records = RecordLeaks(runtime, networks, valid, scope, removal.attachments if scope.dry_run else ())
        self._leases = LeaseLeaks(scope, timeout)
        self._listed = iptables.listing()
        self._rules = RuleLeaks(scope, self._listed)
        self._nft = NftLeaks(scope)
        self._spoof_checks = SpoofLeaks(scope)
        self._saved_values = SavedValueLeaks(scope)
        self._chains = ChainLeaks(scope)
        self._firewall = FirewallLeaks(scope, self._listed)
        self._ifbs = IfbLeaks(scope)
        self._links = LinkLeaks(scope)

    def collect(self, names: t.Sequence[str]) -> list[Leak]:
        """Collect what there is of these networks, or of all, and what this collection itself has left."""
        attachments, unreadable = self._records.known()
        every = self._every_network(attachments)
        locks = _locks(attachments, {*every, *names})
        leftovers = OwnLeftovers(self._cache_dir, self._networks.path, locks, self._scope)
        leaks = [*self._rules.unlisted, *(self._nft.unlisted or self._spoof_checks.unlisted)]
        with self._alone():
            looked_at = list(dict.fromkeys(names)) or every
            for name in looked_at:
                self._collect(name, leaks, may_ask=not unreadable)
            self._collect_shared(looked_at, leaks, every=not names)
            self._collect_unshared(leaks)
        told = {leak.subject for leak in leaks}
        leaks += [leak for leak in unreadable if leak.subject not in told and not names]
        gone = {leak.subject for leak in leaks if leak.collected} if self._scope.dry_run else set()
        gone |= set(map(self._runtime.records.path_of, self._removal.attachments)) if self._scope.dry_run else set()
        with _reported(
            leaks, Leak("network", "", "all networks", "not all of this collection's files could be looked at")
        ):
            leaks += leftovers.collect(gone)
        return leaks

    def _every_network(self, attachments: t.Iterable[Attachment]) -> list[str]:
        recorded = {attachment.network for attachment in attachments}
        # Anybody may make a directory, or write a comment.
        told = {*host_local.networks(), *self._rules.networks(), *self._nft.networks()}
        return sorted({*self._networks.networks, *recorded, *filter(is_name, told)})

    def _alone(self) -> t.ContextManager[None]:
        """Keep other runs from collecting at the same time."""
        if self._scope.dry_run:
            return contextlib.nullcontext()
        path = os.path.join(self._cache_dir, OWN_DIRECTORY, "locks", "gc")
        return hold_lock(path, exclusive=True, timeout=self._timeout, what="garbage collection")

    def _collect(self, name: str, leaks: list[Leak], *, may_ask: bool) -> None:
        def part() -> t.ContextManager[None]:
            return _reported(leaks, Leak("network", name, name, "not all of it could be looked at"))

        with part(), contextlib.nullcontext() if self._scope.dry_run else self._runtime.exclusion.lock_network(name):
            claims = self._records.of(name, leaks)
            with part():
                leaks += self._leases.of(claims, self._networks.networks.get(name), self._doubt(name))
            with part():
                leaks += self._rules.of(claims)
            with part():
                leaks += self._nft.of(claims)
            if may_ask and not self._scope.dry_run:
                self._ask_plugins(claims)

    def _collect_shared(self, names: t.Collection[str], leaks: list[Leak], *, every: bool) -> None:
        """Collect what does not tell its network."""

        def part() -> t.ContextManager[None]:
            return _reported(leaks, Leak("network", "", "all networks", "not all that they share could be looked at"))

        with part():
            claims = self._records.everywhere()
            configured = [network for name, network in self._networks.networks.items() if name in names]
            recorded = [network for network in claims.configurations() if network.name in names]
            with part():
                listed = iptables.listing() if any(leak.collected for leak in leaks) else self._listed
                leaks += self._chains.of(names, claims, listed, every=every)
            for find in (self._nft.without_network, self._firewall.of, self._ifbs.of) if every else ():
                with part():
                    leaks += find(claims)
            with part():
                leaks += self._links.of([*configured, *recorded], claims)
            if every:
                with part():
                    leaks += self._saved_values.collect([*configured, *recorded], claims, self._records.everywhere)
                removed = {leak.subject for leak in leaks if leak.kind == "link" and leak.collected}
                leaks += self._spoof_checks.collect(claims, removed)

    def _collect_unshared(self, leaks: list[Leak]) -> None:
        """Collect what containers of a node share, and only those of removed networks did."""
        if not self._removal.files:
            return
        from ansible_collections.cni.node.plugins.module_utils._node.gc.removed_networks import SharedLeaks

        with _reported(leaks, Leak("network", "", "removed networks", "not all that they shared could be looked at")):
            shared = SharedLeaks(self._scope, self._networks.path, self._removal)
            leaks += shared.find(self._records.everywhere(), tuple(leaks))

    def _ask_plugins(self, claims: Claims) -> None:
        network = self._networks.networks.get(claims.network)
        if network is not None:
            self._runtime.collect(network, claims.staying | self._records.elsewhere(claims.network))

    def _doubt(self, name: str) -> str:
        """Say why a network may be configured although it is not found, or nothing."""
        if self._networks.broken:
            return f"a configuration that cannot be read may be this network's: {next(iter(self._networks.broken))}"
        foretold = self._scope.dry_run and self._networks.path == _USUAL_CONF_DIR
        usual = (self._networks if foretold else conf_dir.load(_USUAL_CONF_DIR)).networks
        return f"{usual[name].source} is a configuration of this network" if name in usual else ""


@contextlib.contextmanager
def _reported(leaks: list[Leak], part: Leak) -> t.Iterator[None]:
    """Report an error, foreseen or not, beside what has been found and done until then; once where several parts have it."""
    try:
        yield
    except Exception as exc:
        part.fail(as_error(exc))
        if not any((leak.subject, str(leak.error)) == (part.subject, str(part.error)) for leak in leaks):
            leaks.append(part)


def _locks(attachments: t.Iterable[Attachment], networks: t.Iterable[str]) -> set[str]:
    containers = {attachment.container_id for attachment in attachments}
    return {file_name("network", name) for name in networks} | {file_name("container", one) for one in containers}


__all__ = ("Garbage",)
