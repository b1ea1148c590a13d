# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find iptables chains that masquerade or map ports for a lost container."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat
from ansible_collections.cni.node.plugins.module_utils._linux.nat import Rule
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


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

    def snapshot(self, node: NodeSnapshot) -> Items[ContainerRule]:
        return {item: item for item in _list_rules(node) if item.network in self._networks}

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


def list_networks(node: NodeSnapshot) -> set[str]:
    """Return the networks that the comments of such rules name."""
    return {item.network for item in _list_rules(node)}


def _list_rules(node: NodeSnapshot) -> t.Iterator[ContainerRule]:
    for family in iptables.FAMILIES:
        table = node.iptables.table(family, nat.TABLE)
        for rule in nat.rules_leading_to(family, table, firewall_names.ENTRANCES, firewall_names.CHAIN_PREFIX):
            named = firewall_names.owner(rule.comment)
            if named:
                yield ContainerRule(*named, rule)


__all__ = ("ContainerRule", "IptablesRuleFinder", "list_networks")
