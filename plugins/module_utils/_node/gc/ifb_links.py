# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find links of the plugin bandwidth whose container is lost."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import ifb
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


class IfbLinkFinder:
    """Finds links to which the plugin bandwidth redirects the traffic of lost containers."""

    scope = Scope.ALL_NETWORKS

    def __init__(self, dummy: GcRun) -> None:
        pass

    def snapshot(self, node: NodeSnapshot) -> Items[str]:
        return {name: name for name in sorted(node.link_names) if firewall_names.is_ifb(name)}

    def find(self, items: Items[str], owners: Owners) -> t.Iterator[Suspect[str]]:
        # Their names contain only a digest of network and container.
        owned = {firewall_names.ifb(*record.attachment.key[:2]) for record in owners.records} if items else set()
        unowned = [name for name in items.values() if name not in owned]
        if not unowned:
            return
        for name in (name for name in ifb.names() if name in unowned):
            leak = Leak(Kind.LINK, "", name, "no recorded attachment has a link of this name")
            yield Suspect(leak, (name,), proof=", and no link redirects traffic to it")

    def reason_to_keep(self, suspect: Suspect[str], owners: Owners) -> str:
        return owners.reason_to_keep("", ()) or owners.add_in_progress or self._reason_by_traffic(suspect.leak.subject)

    def remove(self, suspect: Suspect[str]) -> None:
        for name in suspect.items:
            ifb.remove(name)

    def _reason_by_traffic(self, name: str) -> str:
        if self._targets is None:
            return "tc is not installed, so it is unknown whether a link redirects traffic to it"
        return "a link of the node redirects traffic to it" if name in self._targets else ""

    @functools.cached_property
    def _targets(self) -> set[str] | None:
        """The links to which other links redirect traffic, or None without tc.

        They are listed after the ADDs in progress, so that they include the link of an ADD that has just ended.
        """
        return ifb.targets()


__all__ = ("IfbLinkFinder",)
