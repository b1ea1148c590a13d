# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the rules of a State in a table of nftables, and the commands that add missing ones."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule, NftTable
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    MissingRule,
    NftablesRule,
    NftablesTable,
)


class NftablesView:
    """The tables of one name in all families, in which rules are looked up."""

    def __init__(self, tables: t.Iterable[NftTable]) -> None:
        self.tables = tuple(tables)
        self._tables = {table.family: table for table in self.tables}
        self._reached: dict[tuple[str, str], frozenset[str]] = {}
        self._by_owner: dict[t.Hashable, list[NftRule]] = {}
        for rule in self.commented:
            self._by_owner.setdefault(rule.comment.partition(",")[0], []).append(rule)

    @property
    def commented(self) -> list[NftRule]:
        """All rules with a comment, which names their owner."""
        return [rule for table in self.tables for rule in table.rules if rule.comment]

    def drift(self, table: NftablesTable) -> list[MissingRule]:
        """Return the rules that are missing or not reached."""
        checked = (self._drift_of(table.family, rule) for rule in table.rules)
        return [missing for missing in checked if missing is not None]

    def find(self, family: str, rule: NftablesRule) -> NftRule | None:
        """Return the rule as it is in the kernel, or None."""
        return next(self.find_all(family, rule), None)

    def find_all(self, family: str, rule: NftablesRule) -> t.Iterator[NftRule]:
        """Yield each copy of the rule in the kernel: plugins that run at the same time write it twice."""
        own = self.find_owned(rule.owner.partition(",")[0])
        return (present for present in own if present.family == family and _is_same(rule, present))

    def find_owned(self, owner: t.Hashable) -> list[NftRule]:
        """Return the rules of an owner: those whose comment, up to the first comma, is this text."""
        return self._by_owner.get(owner, [])

    def has_chain(self, family: str, chain: str) -> bool:
        return family in self._tables and chain in self._tables[family].hooks

    def _drift_of(self, family: str, rule: NftablesRule) -> MissingRule | None:
        present = self.find(family, rule)
        if present is None:
            return MissingRule(rule, rule.lost)
        unreached = tuple(hook for hook in rule.hooks if not self._is_reached(present, hook))
        if not unreached:
            return None
        where = f"{present.family} {present.table}"
        jump = f"the jump from {unreached[0]} to the chain {present.chain} of {where} is gone"
        return MissingRule(rule, rule.lost if rule.chain_matters else jump, unreached)

    def is_framed(self, table: NftablesTable) -> bool:
        """Return whether the kernel reaches the chains of a table's rules."""
        if table.family not in self._tables or not set(table.own_chains) <= self._tables[table.family].hooks.keys():
            return False
        return all(rule.chain in self._reached_from(table.family, hook) for rule in table.rules for hook in rule.hooks)

    def _is_reached(self, rule: NftRule, hook: str) -> bool:
        return rule.chain in self._reached_from(rule.family, hook)

    def _reached_from(self, family: str, hook: str) -> frozenset[str]:
        key = (family, hook)
        if key not in self._reached:
            self._reached[key] = self._tables[family].reached_from(hook)
        return self._reached[key]


def _is_same(rule: NftablesRule, present: NftRule) -> bool:
    if not f"{present.comment},".startswith(f"{rule.owner},") or (rule.chain_matters and present.chain != rule.chain):
        return False
    values = present.values | present.targets
    return (
        rule.values <= values
        and rule.none_of.isdisjoint(values)
        and (not rule.any_of or not rule.any_of.isdisjoint(values))
    )


def plan(view: NftablesView, tables: t.Iterable[NftablesTable]) -> list[str]:
    """Return the commands of nft that add missing rules, in one transaction.

    Args:
        tables: Tables of the same name, one for each attachment and plugin.
    """
    frames: dict[str, None] = {}
    rules: list[str] = []
    for table in tables:
        drift = {each.rule for each in view.drift(table)}
        missing = [rule for rule in table.rules if rule in drift]
        if not missing or not all(rule.text for rule in table.rules):
            continue
        if not view.is_framed(table):
            frames.update(dict.fromkeys(table.frame))
        place = f"{table.family} {table.name}"
        if any(rule.chain in table.own_chains for rule in missing):
            rules += [f"flush chain {place} {chain}" for chain in table.own_chains]
            missing = [rule for rule in table.rules if rule in missing or rule.chain in table.own_chains]
        absent = [rule for rule in missing if rule.chain in table.own_chains or view.find(table.family, rule) is None]
        rules += [f'add rule {place} {rule.chain} {rule.text} comment "{rule.comment}"' for rule in absent]
    return [*frames, *rules]


def plan_removal(view: NftablesView, tables: t.Iterable[NftablesTable]) -> list[str]:
    """Return the commands of nft that remove the rules of attachments, and their own chains."""
    rules: list[str] = []
    chains: list[str] = []
    for table in tables:
        place = f"{table.family} {table.name}"
        found = {each.handle: each for rule in table.rules for each in view.find_all(table.family, rule)}
        rules += [f"delete rule {place} {present.chain} handle {handle}" for handle, present in found.items()]
        chains += [f"delete chain {place} {chain}" for chain in table.own_chains if view.has_chain(table.family, chain)]
    return [*rules, *chains]
