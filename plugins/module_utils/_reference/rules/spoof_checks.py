# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The chains in which the plugin bridge checks the MAC addresses of containers."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule, NftTable
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem, name_in_evidence
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names


class SpoofCheck(t.NamedTuple):
    """The chains in which bridge drops packets of a container with a foreign source MAC, and the jumps to the chains.

    Attributes:
        owner: The container's id and the interface, joined by a character that either may contain.
        chains: The existing chains; there are at most two.
        rules: All rules in these chains, and the rules that jump to them.
    """

    owner: str
    table: NftTable
    chains: tuple[str, ...]
    rules: tuple[NftRule, ...]

    @property
    def name(self) -> str:
        return f"nft {self.table.family} {self.table.name} {self.chains[0]}"

    @property
    def container_ids(self) -> list[str]:
        """Return every possible id of the container."""
        parts = self.owner.split("-")
        return ["-".join(parts[:end]) for end in range(1, len(parts))]

    @property
    def words(self) -> frozenset[str | int]:
        """Return the values that the jumps to the chains match, such as the name of a link of the node."""
        return frozenset(value for rule in self.jumps for value in rule.values)

    @property
    def jumps(self) -> list[NftRule]:
        """The rules that jump to the chains from elsewhere."""
        return [rule for rule in self.rules if rule.chain not in self.chains]


def listing(view: NodeView) -> list[SpoofCheck]:
    """Return the checks of all containers that only the plugin bridge has written.

    Chains with a rule from elsewhere, or with a jump from such a rule, are omitted.

    Args:
        view: A view with handles.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    present = view.require_nftables(firewall_names.SPOOF_FAMILY, firewall_names.SPOOF_TABLE)
    return [check for table in present.tables for check in _checks(table)] if present else []


def list_owned(view: NodeView, owners: t.Container[t.Hashable] | None = None) -> t.Iterator[OwnedItem]:
    """Yield the checks of these owners, by default of all, as items; arguments and errors as `listing`."""
    for check in listing(view):
        if owners is None or check.owner in owners:
            yield OwnedItem(
                check.owner,
                check.name,
                name_in_evidence(check.owner),
                check,
                (check.owner, check.chains, check.rules),
                _remove,
                "nft",
                container_ids=tuple(check.container_ids),
            )


def _remove(checks: t.Sequence[SpoofCheck], dummy: NodeView) -> None:
    chains = dict.fromkeys(chain for check in checks for chain in check.chains)
    jumps = {rule.handle: rule for check in checks for rule in check.jumps}
    nftables.remove_chains(checks[0].table, list(chains), list(jumps.values()))


def _checks(table: NftTable) -> list[SpoofCheck]:
    checks: list[SpoofCheck] = []
    assigned: set[str] = set()
    # The positions of the rules in a chain, and of those that jump to it.
    positions: dict[str, list[int]] = {}
    for position, rule in enumerate(table.rules):
        for chain in {rule.chain, *rule.targets}:
            positions.setdefault(chain, []).append(position)
    for owner in sorted(_owners(table), key=lambda name: (len(name), name)):
        chains = tuple(
            chain for chain in firewall_names.spoof_chains(owner) if chain in table.hooks and chain not in assigned
        )
        own = {position for chain in chains for position in positions.get(chain, ())}
        rules = tuple(table.rules[position] for position in sorted(own))
        comment = f"{firewall_names.SPOOF_COMMENT_PREFIX}{owner}"
        if chains and all(rule.comment == comment for rule in rules):
            checks.append(SpoofCheck(owner, table, chains, rules))
            assigned.update(chains)
    return checks


def _owners(table: NftTable) -> set[str]:
    """Return the owners that comments or chains name. A killed bridge may leave empty chains."""
    prefix, comment = firewall_names.SPOOF_CHAIN_PREFIX, firewall_names.SPOOF_COMMENT_PREFIX
    owners = {chain[len(prefix) :] for chain in table.hooks if chain.startswith(prefix)}
    owners |= {name[: -len("-mac")] for name in owners if name.endswith("-mac")}
    owners |= {rule.comment[len(comment) :] for rule in table.rules if rule.comment.startswith(comment)}
    return {name for name in owners if "-" in name}
