# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the rules of a State in a table of iptables, and the commands that add missing ones."""

from __future__ import annotations

import collections
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import IptablesRule

# Options with several names, and those that say nothing about which packets match.
_SAME = {"--destination-ports": "--dports", "--set-mark": "--set-xmark", "--destination-port": "--dport"}
_IGNORED = ("-m", "--comment")


class IptablesView:
    """A table of iptables, in which rules are looked up."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._positions: dict[str, dict[str, int]] = {}
        self._by_target: dict[str, dict[str, list[int]]] = {}

    def find(self, rule: IptablesRule) -> int | None:
        """Return the position of a rule in its chain, or None."""
        lines = self.table.rules.get(rule.chain)
        if not lines:
            return None
        position = self._index(rule.chain, lines).get(rule.line)
        return position if position is not None else next(self._find_similar(rule, lines), None)

    def find_lines(self, rule: IptablesRule) -> list[str]:
        """Return all lines of a rule, which plugins may write twice if they run at the same time."""
        lines = self.table.rules.get(rule.chain, [])
        same = [rule.line] * lines.count(rule.line)
        return same or [lines[position] for position in self._find_similar(rule, lines)]

    def find_missing(self, rules: t.Iterable[IptablesRule]) -> tuple[IptablesRule, ...]:
        return tuple(rule for rule in rules if self.find(rule) is None)

    def _index(self, chain: str, lines: t.Sequence[str]) -> dict[str, int]:
        if chain not in self._positions:
            self._positions[chain] = {line: position for position, line in enumerate(lines)}
        return self._positions[chain]

    def _find_similar(self, rule: IptablesRule, lines: t.Sequence[str]) -> t.Iterator[int]:
        """Yield the positions of a rule that another release or another version of iptables has written differently.

        Every form of a rule has the same target. Of many rules in a chain, most lead to the chain of another container.
        """
        if rule.chain not in self._by_target:
            by_target = self._by_target[rule.chain] = {}
            for position, line in enumerate(lines):
                by_target.setdefault(iptables.target(line), []).append(position)
        forms = [_normalize(rule.line), *(_normalize(f"-A {rule.chain} {text}") for text in rule.older)]
        for position in self._by_target[rule.chain].get(iptables.target(rule.line), ()):
            present = _normalize(lines[position])
            if any(_matches(rule, form, present) for form in forms):
                yield position


def _matches(rule: IptablesRule, form: frozenset[str], present: frozenset[str]) -> bool:
    if not rule.accepts_more:
        return form == present
    return form <= present and (form != present or not rule.requires_more or form == _normalize(rule.line))


@functools.lru_cache(maxsize=65536)
def _normalize(line: str) -> frozenset[str]:
    """Return the options of a rule with their values, without its comment and the names of matches."""
    options: list[list[str]] = []
    for word in _split_options(iptables.words(line)[2:]):
        is_value = options and not (word.startswith("-") or word == "!" or options[-1] == ["!"])
        if is_value:
            options[-1].append(word)
        elif options and options[-1] == ["!"]:
            options[-1].append(_SAME.get(word, word))
        else:
            options.append([_SAME.get(word, word)])
    return frozenset(" ".join(option) for option in options if option[0] not in _IGNORED)


def _split_options(words: t.Iterable[str]) -> t.Iterator[str]:
    """Yield words with each ``--option=value`` as two of them."""
    for word in words:
        option, equals, value = word.partition("=")
        yield from (option, value) if equals and option.startswith("--") else (word,)


class Insertion(t.NamedTuple):
    """A rule to insert, and its place in the chain at that moment; None appends it."""

    rule: IptablesRule
    position: int | None

    @property
    def command(self) -> str:
        if self.position is None:
            return self.rule.line
        return f"-I {self.rule.chain} {self.position + 1} {self.rule.text}"


def plan(view: IptablesView, rules: t.Iterable[IptablesRule]) -> list[str]:
    """Return the commands that add missing rules of one table; existing rules keep their order.

    Args:
        rules: All rules that are expected in the table. Some may be given several times.
    """
    chains: dict[str, dict[str, IptablesRule]] = {}
    for rule in rules:
        chains.setdefault(rule.chain, {}).setdefault(rule.text, rule)
    insertions = [item for chain, own in chains.items() for item in _plan_chain(view, chain, list(own.values()))]
    needed = {name: None for item in insertions for name in (item.rule.chain, item.rule.target) if name}
    created = [f"-N {name}" for name in needed if name not in view.table.rules]
    return [*created, *(item.command for item in insertions)]


def plan_removal(view: IptablesView, rules: t.Iterable[IptablesRule]) -> list[str]:
    """Return the commands that remove rules of one table, and the container's chains that this leaves empty.

    A chain to which another rule jumps stays as it is: a container that another runtime attaches anew has the same chain.
    """
    unique = {rule.line: rule for rule in rules}.values()
    present = [(rule, line) for rule in unique for line in view.find_lines(rule)]
    lines = {line for dummy, line in present}
    used = {chain for chain, jumps in view.table.jumps.items() if not lines.issuperset(jumps)}
    present = [(rule, line) for rule, line in present if not (rule.is_own_chain and rule.chain in used)]
    removed = collections.Counter(rule.chain for rule, dummy in present)
    own_chains = dict.fromkeys(rule.chain for rule, dummy in present if rule.is_own_chain)
    empty = [chain for chain in own_chains if removed[chain] == len(view.table.rules[chain])]
    return [*(iptables.deletion(line) for dummy, line in present), *(f"-X {chain}" for chain in empty)]


def plan_without_duplicates(view: IptablesView, rules: t.Iterable[IptablesRule]) -> list[str]:
    """Return the commands that remove duplicates of these rules."""
    own = dict.fromkeys(rules)
    counts = {chain: collections.Counter(view.table.rules.get(chain, ())) for chain in {rule.chain for rule in own}}
    return [f"-D {rule.chain} {rule.text}" for rule in own for _again in range(counts[rule.chain][rule.line] - 1)]


def _plan_chain(view: IptablesView, chain: str, rules: t.Sequence[IptablesRule]) -> list[Insertion]:
    present: list[int | None] = [view.find(rule) for rule in rules]
    if None not in present:
        return []
    following = _find_successors(rules, present)
    # The chain as it will be: numbers of rules that are there, texts of inserted ones.
    order: list[int | str] = list(range(len(view.table.rules.get(chain, ()))))
    insertions: list[Insertion] = []
    first_end: int | str | None = None  # the last rule so far that belongs to the beginning of the chain
    previous: int | str | None = None
    for rule, position, successor in zip(rules, present, following):
        place: int | str = rule.text if position is None else position
        if position is None:
            anchor = first_end if rule.is_first else previous
            index = _place(order, rule, anchor, successor)
            insertions.append(Insertion(rule, None if index == len(order) else index))
            order.insert(index, place)
        first_end = place if rule.is_first else first_end
        previous = place
    return insertions


def _place(order: t.Sequence[int | str], rule: IptablesRule, anchor: int | str | None, successor: int | None) -> int:
    """Return the index at which a rule is inserted.

    A rule of the beginning comes first or after its predecessor. A rule of a container's own chain follows its
    predecessor. Any other rule precedes its successor or comes last.
    """
    if rule.is_first or rule.is_own_chain:
        return 0 if anchor is None else order.index(anchor) + 1
    return len(order) if successor is None else order.index(successor)


def _find_successors(rules: t.Sequence[IptablesRule], present: t.Sequence[int | None]) -> list[int | None]:
    """Return the position of the next rule in the chain that is there, for each rule."""
    following: list[int | None] = []
    successor: int | None = None
    for rule, position in zip(reversed(rules), reversed(present)):
        following.append(successor)
        if position is not None and not rule.is_first:
            successor = position
    return following[::-1]
