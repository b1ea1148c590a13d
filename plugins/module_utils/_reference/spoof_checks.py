# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule, NftTable
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


class SpoofCheck(t.NamedTuple):
    """The chains with which bridge drops what a container sends from another MAC, and the rules that lead there.

    Attributes:
        owner: The container's id and the interface, joined; where one ends and the other begins cannot be told.
        chains: Those of both that exist.
        rules: All rules in these chains, and those that lead to them.
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
        """Return each id that the container may have."""
        parts = self.owner.split("-")
        return ["-".join(parts[:end]) for end in range(1, len(parts))]

    @property
    def words(self) -> frozenset[str | int]:
        """Return what the rules that lead to it look for; the name of a link of the node is among that."""
        return frozenset(value for rule in self._jumps() for value in rule.values)

    def is_same(self, other: SpoofCheck) -> bool:
        """Return whether the other has the same chains and rules, by their numbers."""
        return (self.owner, self.chains, self.rules) == (other.owner, other.chains, other.rules)

    def remove(self) -> None:
        """Remove the chains, their rules and the rules that lead there, all of it or nothing.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        nftables.remove_chains(self.table, self.chains, self._jumps())

    def _jumps(self) -> list[NftRule]:
        return [rule for rule in self.rules if rule.chain not in self.chains]


def listing() -> list[SpoofCheck]:
    """Return every check that is written as bridge writes it.

    A chain that has a rule of anyone else, or that such a rule leads to, is left out.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    tables = nftables.tables(firewall_names.SPOOF_TABLE, family=firewall_names.SPOOF_FAMILY)
    return [check for table in tables for check in _checks(table)]


def _checks(table: NftTable) -> list[SpoofCheck]:
    found: list[SpoofCheck] = []
    taken: set[str] = set()
    for owner in sorted(_owners(table), key=lambda name: (len(name), name)):
        chains = tuple(
            chain for chain in firewall_names.spoof_chains(owner) if chain in table.hooks and chain not in taken
        )
        rules = tuple(rule for rule in table.rules if rule.chain in chains or not rule.targets.isdisjoint(chains))
        comment = f"{firewall_names.SPOOF_COMMENT_PREFIX}{owner}"
        if chains and all(rule.comment == comment for rule in rules):
            found.append(SpoofCheck(owner, table, chains, rules))
            taken.update(chains)
    return found


def _owners(table: NftTable) -> set[str]:
    """Return whom comments name, and whom chains do: of a bridge that was killed, they may be empty."""
    prefix, comment = firewall_names.SPOOF_CHAIN_PREFIX, firewall_names.SPOOF_COMMENT_PREFIX
    named = {chain[len(prefix) :] for chain in table.hooks if chain.startswith(prefix)}
    named |= {name[: -len("-mac")] for name in named if name.endswith("-mac")}
    named |= {rule.comment[len(comment) :] for rule in table.rules if rule.comment.startswith(comment)}
    return {name for name in named if "-" in name}


__all__ = ("SpoofCheck", "listing")
