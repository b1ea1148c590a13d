# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname, is_name
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import host_local, lease_directory
from ansible_collections.cni.node.plugins.module_utils._reference.lease_directory import Lease, LeaseDirectory


class LeaseLeaks:
    """Finds addresses that host-local has given to nobody who is still there, and directories of lost networks."""

    def __init__(self, scope: Scope, timeout: float) -> None:
        self._scope = scope
        self._timeout = timeout

    def of(self, claims: Claims, configured: NetworkConfiguration | None, doubt: str) -> t.Iterator[Leak]:
        """Collect what there is of a network.

        Args:
            doubt: Why the network may be configured although it is not found.
        """
        known = [*claims.configurations(), *([configured] if configured else [])]
        for path in host_local.directories(claims.network, known):
            with lease_directory.opened(path) as directory:
                if directory is not None:
                    yield from self._within(directory, _Look(directory, claims, configured is not None, doubt))

    def _within(self, directory: LeaseDirectory, look: _Look) -> t.Iterator[Leak]:
        found = list(look.collect(dataclasses.replace(self._scope, dry_run=True)))
        if not self._scope.dry_run and any(leak.collected for leak in found):
            with directory.exclusive(self._timeout):
                yield from look.collect(self._scope)
        else:
            yield from found


class _Look(t.NamedTuple):
    directory: LeaseDirectory
    claims: Claims
    configured: bool
    doubt: str

    def collect(self, scope: Scope) -> t.Iterator[Leak]:
        leases = self.directory.leases()
        youngest = 0.0 if self.configured else self.directory.youngest()
        freed = {lease.path for lease in leases if self.claims.frees(lease.container_id, lease.ifname)}
        unclaimed = [one for one in leases if not self.claims.has(one.container_id, one.ifname)]
        gone = set(freed)
        for lease in (lease for lease in unclaimed if lease.path not in freed):
            leak = self._lease(lease, scope)
            gone |= {leak.subject} if leak.collected else set()
            yield leak
        if not self.configured and not self.claims.staying and not self.directory.others(gone):
            # A DEL that a dry run does not run would have changed it.
            yield self._itself(scope.now if freed else youngest, scope)

    def _lease(self, lease: Lease, scope: Scope) -> Leak:
        leak = Leak("lease", self.claims.network, lease.path, f"no runtime has a record of {lease}")
        if not lease.container_id:
            leak.kind, leak.evidence = "empty lease", "it names no container, so no DEL will ever free the address"
        elif not is_name(lease.container_id) or not is_ifname(lease.ifname or "eth0"):
            leak.evidence = "what it holds is no container's id; did somebody write it by hand?"
            return leak
        doubt = scope.young(lease.changed) or self.claims.doubt(lease.container_id, [lease.address])
        leak.evidence += "" if doubt else ", and its address is in use nowhere"
        return scope.settle(leak, doubt, lambda: self.directory.free(lease))

    def _itself(self, youngest: float, scope: Scope) -> Leak:
        evidence = "the network has neither a configuration nor an attachment, and no address of it is given away"
        leak = Leak("lease directory", self.claims.network, self.directory.path, evidence)
        doubt = self.doubt or self.claims.doubt("", ()) or scope.young(youngest)
        return scope.settle(leak, doubt, self.directory.remove)


__all__ = ("LeaseLeaks",)
