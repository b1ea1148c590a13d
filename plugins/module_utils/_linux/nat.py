# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables

_DESTINATION: t.Final = re.compile(r".* --to-destination \[?([0-9a-f.:]+?)\]?:\d+", re.DOTALL)
TABLE: t.Final = "nat"


class Rule(t.NamedTuple):
    """A rule of the table nat, as iptables-save prints it.

    Attributes:
        source: What it is for.
        target: The chain it jumps to.
        destination: The address that this chain sends to, where it is a port mapping's.
    """

    family: int
    words: tuple[str, ...]
    source: str
    target: str
    comment: str
    destination: str = ""

    @property
    def chain(self) -> str:
        return self.words[1]

    @property
    def address(self) -> str:
        return str(ipaddress.ip_interface(self.source).ip) if self.source else self.destination


def rules(family: int, chain: str) -> list[Rule]:
    """Return the rules of a chain of nat for 4 or 6; none where the tool is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _rules(family, _table(family), chain)


def rules_and_orphan(family: int, chain: str, own: str) -> tuple[list[Rule], bool]:
    """Return the same, and whether there is the chain `own` and no rule that leads to it.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    table = _table(family)
    return _rules(family, table, chain), own in table.rules and own not in table.jumps


def rules_leading_to(family: int, table: iptables.Table, chains: t.Iterable[str], prefix: str) -> list[Rule]:
    """Return the rules of chains that lead to one whose name begins so, with the address that it sends to."""
    found = [rule for chain in chains for rule in _rules(family, table, chain) if rule.target.startswith(prefix)]
    to = {rule.target: next(iter(destinations(table.rules.get(rule.target, ()))), "") for rule in found}
    return [rule._replace(destination=to[rule.target]) for rule in found]


def destinations(rules: t.Iterable[str]) -> list[str]:
    """Return the addresses that rules send to, as iptables-save prints them."""
    return [found[1] for found in map(_DESTINATION.fullmatch, rules) if found]


def remove(rule: Rule) -> None:
    """Remove a rule, and the chain it jumps to unless another rule does so too.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    commands = [("-D", *rule.words[1:])]
    if rule.target and sum(other.target == rule.target for other in rules(rule.family, rule.chain)) < 2:
        commands += [("-F", rule.target), ("-X", rule.target)]
    iptables.change(rule.family, TABLE, *commands)


def remove_chain(family: int, chain: str) -> None:
    """Remove a chain that no rule leads to.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    iptables.change(family, TABLE, ("-F", chain), ("-X", chain))


def _table(family: int) -> iptables.Table:
    return iptables.table(family, TABLE) or iptables.Table({}, {})


def _rules(family: int, table: iptables.Table, chain: str) -> list[Rule]:
    return [_parsed(family, iptables.words(rule)) for rule in table.rules.get(chain, ())]


def _parsed(family: int, words: tuple[str, ...]) -> Rule:
    source, target, comment = (iptables.value(words, option) for option in ("-s", "-j", "--comment"))
    return Rule(family, words, source, target, comment)


__all__ = ("TABLE", "Rule", "destinations", "remove", "remove_chain", "rules", "rules_and_orphan", "rules_leading_to")
