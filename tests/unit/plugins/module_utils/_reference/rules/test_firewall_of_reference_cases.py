# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firewall State of records equals what release 1.9.1 of the plugins has made, in content and in order."""

from __future__ import annotations

import functools
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, iptables_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    NFTABLES,
    FirewallPart,
    IptablesRule,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.iptables_rules import IptablesView
from ansible_collections.cni.node.plugins.module_utils._reference.rules.nftables_rules import NftablesView
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.simulated_chains import (
    apply,
    view_of,
)
from tests.support.check_each import check_each
from tests.support.reference_cases import Situation, situations

SITUATIONS = {situation.name: situation for situation in situations()}
# Rules that tests have made as an administrator would.
OTHERS = ("-A MY-MARK -j MARK --set-xmark 0x4000/0x4000", "-A MY-ADMIN -s 10.1.0.0/24 -j DROP", "-A FORWARD -j DROP")


class TableCase(t.NamedTuple):
    """One table of iptables in one situation."""

    situation: Situation
    family: int
    table: str

    def recorded_chains(self) -> dict[str, list[str]]:
        chains = self.situation.state.get("host", {}).get(iptables.tool(self.family), {})
        return {
            name.split(" ")[1]: lines[1:]
            for name, lines in chains.items()
            if lines is not None and name.split(" ")[0] == self.table
        }

    def rules(self) -> list[IptablesRule]:
        parts = [part for part in find_parts(self.situation.name) if part.family == self.family]
        return [rule for part in parts if not uses_nftables(part) for rule in part.iptables if rule.table == self.table]


TABLES = {
    f"{name}, {iptables.tool(family)} {table}": TableCase(situation, family, table)
    for name, situation in SITUATIONS.items()
    for family in (4, 6)
    for table in ("nat", "filter")
}
# With several attachments, the order of the rules depends on more than one ADD.
SINGLE = {name: case for name, case in TABLES.items() if len(case.situation.records) == 1}
UNPREPARED = {name: case for name, case in SINGLE.items() if not case.situation.is_prepared}


@functools.cache
def find_parts(name: str) -> list[FirewallPart]:
    """Return the firewall state of all records of a situation."""
    return [part for record in SITUATIONS[name].records for part in firewall_state(RecordedRequests(record))]


def uses_nftables(part: FirewallPart) -> bool:
    return part.backend == NFTABLES or not part.iptables


def require_exact_rules(case: TableCase) -> None:
    chains, rules = case.recorded_chains(), case.rules()
    assert view_of(chains).find_missing(rules) == ()
    expected = {rule.line for rule in rules}
    recorded = {line for lines in chains.values() for line in lines}
    assert recorded - expected - set(OTHERS) == set()


def test_iptables_has_exactly_the_expected_rules_after_add() -> None:
    check_each(TABLES, require_exact_rules)


def require_order_of_plugins(case: TableCase) -> None:
    commands = iptables_rules.plan(IptablesView(Table({}, {})), case.rules())
    assert apply(commands, {}) == case.recorded_chains()


def test_a_repair_without_any_rules_writes_them_in_the_order_of_the_plugins() -> None:
    check_each(UNPREPARED, require_order_of_plugins)


def require_repair_in_place(case: TableCase) -> None:
    chains, rules = case.recorded_chains(), case.rules()
    for chain, lines in chains.items():
        for position in range(len(lines)):
            if lines[position] not in {rule.line for rule in rules}:
                continue
            damaged = {**chains, chain: lines[:position] + lines[position + 1 :]}
            commands = iptables_rules.plan(view_of(damaged), rules)
            repaired = apply(commands, {other: list(own) for other, own in damaged.items()})
            assert repaired[chain] == lines, commands
            # A chain of an administrator that did not change was not recorded.
            assert len([command for command in commands if command != "-N MY-ADMIN"]) == 1


def test_repair_inserts_each_lost_rule_at_its_former_position() -> None:
    check_each(SINGLE, require_repair_in_place)


def nft_view(situation: Situation, name: str) -> NftablesView:
    """Return the tables of a name as `nftables.tables` would have read them."""
    listed: dict[str, list[JsonObject]] = {}
    for key, value in situation.state.get("host", {}).get("nft", {}).items():
        kind, family, table, *chain = key.split(" ")
        if kind == "chain" and table == name and value is not None:
            place = {"family": family, "table": table}
            entries = listed.setdefault(family, [])
            entries.append({"chain": {**place, "name": chain[0], "hook": value.get("hook", "")}})
            rules = value["rules"]
            entries += [{"rule": {**place, "chain": chain[0], "handle": 0, **rule}} for rule in rules]
    return NftablesView(nftables.parse_table(family, name, entries) for family, entries in listed.items())


def require_nftables_without_drift(situation: Situation) -> None:
    tables = [part.nftables for part in find_parts(situation.name) if part.nftables and uses_nftables(part)]
    for table in tables:
        view = nft_view(situation, table.name)
        assert view.drift(table) == []
        assert view.is_framed(table)


def test_nftables_has_no_drift_after_add() -> None:
    check_each(SITUATIONS, require_nftables_without_drift)


@pytest.mark.parametrize("table", [firewall_names.PORTS_TABLE, firewall_names.MASQUERADE_TABLE])
def test_recorded_cases_have_rules_in_each_table_of_nftables(table: str) -> None:
    tables = [part.nftables for name in SITUATIONS for part in find_parts(name) if uses_nftables(part)]
    assert table in {known.name for known in tables if known}
