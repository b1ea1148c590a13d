# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule, NftTable


class NftListing:
    """The tables of one name, asked for the rules of many attachments."""

    def __init__(self, tables: t.Iterable[NftTable]) -> None:
        self._tables = {table.family: table for table in tables}
        self._reached: dict[tuple[str, str], frozenset[str]] = {}
        self._rules_by_owner: dict[str, list[NftRule]] = {}
        for table in self._tables.values():
            for rule in (rule for rule in table.rules if rule.comment):
                self._rules_by_owner.setdefault(_key(rule.comment), []).append(rule)

    def rules_of(self, owner: str) -> list[NftRule]:
        """Return the rules whose comment names an owner, alone or before a comma."""
        rules = self._rules_by_owner.get(_key(owner), ())
        return [rule for rule in rules if f"{rule.comment},".startswith(f"{owner},")]

    def is_entered(self, rule: NftRule, hook: str) -> bool:
        """Return whether the kernel comes to the chain of a rule from a hook, such as ``prerouting``."""
        key = (rule.family, hook)
        if key not in self._reached:
            self._reached[key] = self._tables[rule.family].reached_from(hook)
        return rule.chain in self._reached[key]


def _key(comment: str) -> str:
    return comment.partition(",")[0]


__all__ = ("NftListing",)
