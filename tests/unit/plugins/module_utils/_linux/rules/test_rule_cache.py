# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a kept listing of rules is used; that it is right is in tests/integration/builtin/test_kept_rules.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables, rule_cache


class CountedRules:
    """Rules whose changes the kernel counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.generation: int | None = 1
        self.rules: tuple[str, ...] = ()
        self.listings = 0
        self.is_counted = True
        monkeypatch.setattr(nf_tables, "generation", lambda: self.generation)

    def read(self) -> tuple[str, ...]:
        return rule_cache.read(("tool", "table"), self._list)

    def _list(self) -> tuple[tuple[str, ...], bool]:
        self.listings += 1
        return self.rules, self.is_counted

    def add(self, rule: str) -> None:
        self.rules += (rule,)
        self.generation = None if self.generation is None else self.generation + 1

    def write(self, *rules: str, fails: bool = False) -> None:
        def change() -> None:
            for rule in rules:
                self.add(rule)
            if fails:
                raise RuntimeError

        rule_cache.write(change, note(rules))


def note(rules: tuple[str, ...]) -> rule_cache.Addition:
    def add(listings: rule_cache.Listings) -> None:
        for key, listing in listings.items():
            listings[key] = listing + rules

    return add


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> t.Iterator[CountedRules]:
    with rule_cache.keep():
        yield CountedRules(monkeypatch)


def test_a_run_lists_rules_once_and_adds_its_own_writes(counted: CountedRules) -> None:
    assert counted.read() == ()
    counted.write("a")
    counted.write("b")
    assert (counted.read(), counted.listings) == (("a", "b"), 1)


def test_rules_are_listed_again_after_another_program_has_changed_them(counted: CountedRules) -> None:
    counted.read()
    counted.add("foreign")
    assert (counted.read(), counted.listings) == (("foreign",), 2)
    counted.add("foreign too")
    counted.write("own")
    assert (counted.read(), counted.listings) == (("foreign", "foreign too", "own"), 3)


def test_a_write_that_another_program_has_joined_is_not_added(counted: CountedRules) -> None:
    counted.read()
    counted.write("own", "foreign")
    assert (counted.read(), counted.listings) == (("own", "foreign"), 2)


def test_a_write_that_has_failed_is_not_added(counted: CountedRules) -> None:
    counted.read()
    with pytest.raises(RuntimeError):
        counted.write(fails=True)
    assert (counted.read(), counted.listings) == ((), 1)
    with pytest.raises(RuntimeError):
        counted.write("half of it", fails=True)
    assert (counted.read(), counted.listings) == (("half of it",), 2)


def test_rules_whose_changes_are_not_counted_are_listed_each_time(counted: CountedRules) -> None:
    counted.is_counted = False
    counted.read()
    counted.read()
    counted.is_counted, counted.generation = True, None
    counted.read()
    counted.read()
    assert counted.listings == 4


def test_a_listing_during_which_rules_change_is_not_kept(counted: CountedRules) -> None:
    def list_slowly() -> tuple[str, bool]:
        counted.add("foreign")
        return "before", True

    assert rule_cache.read(("tool", "slow"), list_slowly) == "before"
    assert rule_cache.read(("tool", "slow"), lambda: ("after", True)) == "after"


def test_rules_are_listed_each_time_outside_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = CountedRules(monkeypatch)
    counted.read()
    counted.read()
    counted.write("own")
    assert counted.listings == 2


def test_only_the_listings_of_one_tool_are_forgotten(counted: CountedRules) -> None:
    counted.read()
    rule_cache.forget("another tool")
    counted.read()
    assert counted.listings == 1
    rule_cache.forget("tool")
    counted.read()
    assert counted.listings == 2
