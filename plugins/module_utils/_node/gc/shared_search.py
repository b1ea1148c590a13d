# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide whether a resource that containers share is still needed after networks were removed."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import NetworkUsers


class SharedSearch(t.NamedTuple):
    """The facts that decide whether the resources of removed networks are collected.

    Attributes:
        users: The networks and attachments that remain.
        traces: In a dry run, the names that shared resources have of what a run would have removed by now, as `Leak.traces`.
        doubt: A reason to keep everything, or an empty string.
    """

    policy: GcPolicy
    users: NetworkUsers
    traces: frozenset[str]
    doubt: str

    def collect(self, leak: Leak, reason: str, conclusion: str, remove: t.Callable[[], object]) -> Leak:
        """Collect a resource, or add the reason to keep it to its evidence.

        Args:
            conclusion: Added to the evidence if there is no reason to keep it.
        """
        reason = reason or self.doubt
        leak.evidence += "" if reason else f", {conclusion}"
        return self.policy.collect_unless(reason, leak, remove)
