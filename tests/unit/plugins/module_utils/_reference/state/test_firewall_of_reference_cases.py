# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firewall State of records equals what release 1.9.1 of the plugins has made, in content and in order."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, iptables_rules
from ansible_collections.cni.node.plugins.module_utils._reference.iptables_rules import IptablesView
from ansible_collections.cni.node.plugins.module_utils._reference.nftables_rules import NftablesView
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    NFTABLES,
    FirewallPart,
    IptablesRule,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall_state import firewall_state
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.simulated_chains import (
    apply,
    view_of,
)
from tests.support.reference_cases import Situation, situations

SITUATIONS = {situation.name: situation for situation in situations()}
TABLES = [(4, "nat"), (4, "filter"), (6, "nat"), (6, "filter")]
# Rules that tests have made as an administrator would.
OTHERS = ("-A MY-MARK -j MARK --set-xmark 0x4000/0x4000", "-A MY-ADMIN -s 10.1.0.0/24 -j DROP", "-A FORWARD -j DROP")


def parts_of(situation: Situation) -> list[FirewallPart]:
    return [part for record in situation.records for part in firewall_state(record, record.network())]


def uses_nftables(part: FirewallPart) -> bool:
    return part.backend == NFTABLES or not part.iptables


def recorded_chains(situation: Situation, family: int, table: str) -> dict[str, list[str]]:
    chains = situation.state.get("host", {}).get(iptables.tool(family), {})
    return {
        name.split(" ")[1]: lines[1:]
        for name, lines in chains.items()
        if lines is not None and name.split(" ")[0] == table
    }


def rules_of(situation: Situation, family: int, table: str) -> list[IptablesRule]:
    parts = [part for part in parts_of(situation) if part.family == family and not uses_nftables(part)]
    return [rule for part in parts for rule in part.iptables if rule.table == table]


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize(("family", "table"), TABLES)
def test_right_after_add_no_rule_of_iptables_is_missing_and_none_is_unknown(name: str, family: int, table: str) -> None:
    situation = SITUATIONS[name]
    chains, rules = recorded_chains(situation, family, table), rules_of(situation, family, table)
    assert view_of(chains).find_missing(rules) == ()
    expected = {rule.line for rule in rules}
    recorded = {line for lines in chains.values() for line in lines}
    assert recorded - expected - set(OTHERS) == set()


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize(("family", "table"), TABLES)
def test_rules_restored_on_an_empty_node_are_in_the_order_of_the_plugins(name: str, family: int, table: str) -> None:
    situation = SITUATIONS[name]
    if len(situation.records) > 1 or situation.is_prepared:
        pytest.skip("the order depends on more than one ADD")
    recorded = recorded_chains(situation, family, table)
    view = IptablesView(Table({}, {}))
    assert apply(iptables_rules.plan(view, rules_of(situation, family, table)), {}) == recorded


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize(("family", "table"), TABLES)
def test_each_lost_rule_is_put_back_where_it_was(name: str, family: int, table: str) -> None:
    situation = SITUATIONS[name]
    chains, rules = recorded_chains(situation, family, table), rules_of(situation, family, table)
    if len(situation.records) > 1:
        pytest.skip("rules of several attachments may change places")
    for chain, lines in chains.items():
        for position in range(len(lines)):
            if lines[position] not in {rule.line for rule in rules}:
                continue
            left = {**chains, chain: lines[:position] + lines[position + 1 :]}
            commands = iptables_rules.plan(view_of(left), rules)
            restored = apply(commands, {other: list(own) for other, own in left.items()})
            assert restored[chain] == lines, commands
            # A chain of an administrator that did not change was not recorded.
            assert len([command for command in commands if command != "-N MY-ADMIN"]) == 1


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


@pytest.mark.parametrize("name", SITUATIONS)
def test_right_after_add_no_rule_of_nftables_is_missing(name: str) -> None:
    situation = SITUATIONS[name]
    tables = [part.nftables for part in parts_of(situation) if part.nftables and uses_nftables(part)]
    for table in tables:
        view = nft_view(situation, table.name)
        assert view.drift(table) == []
        assert view.is_framed(table)


@pytest.mark.parametrize("table", [firewall_names.PORTS_TABLE, firewall_names.MASQUERADE_TABLE])
def test_recorded_cases_have_rules_in_each_table_of_nftables(table: str) -> None:
    tables = [part.nftables for situation in situations() for part in parts_of(situation) if uses_nftables(part)]
    assert table in {known.name for known in tables if known}
