# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One plan repairs any rules that attachments have lost, and leaves rules of others in their order."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules import iptables_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import IptablesRule
from ansible_collections.cni.node.plugins.module_utils._reference.rules.iptables_rules import IptablesView
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.simulated_chains import (
    BUILT_IN,
    apply,
    view_of,
)

Chains = dict[str, list[str]]
TABLES = [(4, "nat"), (4, "filter"), (6, "nat"), (6, "filter")]
every_table = pytest.mark.parametrize(("family", "table"), TABLES)


@st.composite
def mappings(draw: st.DrawFn) -> JsonObject:
    protocol = draw(st.sampled_from(["tcp", "udp", "sctp"]))
    host = draw(st.sampled_from([{}, {"hostIP": "192.0.2.1"}, {"hostIP": "2001:db8::1"}, {"hostIP": "0.0.0.0"}]))
    ports = st.integers(1, 65535)
    return {"hostPort": draw(ports), "containerPort": draw(ports), "protocol": protocol, **host}


@st.composite
def records(draw: st.DrawFn, number: int, policies: t.Sequence[str]) -> Record:
    """Return an attachment; those with the same network share its bridge and its policy."""
    network = draw(st.integers(0, len(policies) - 1))
    policy = policies[network]
    bridge = {"type": "bridge", "bridge": f"cni{network}", "ipMasq": draw(st.booleans())}
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": draw(st.booleans())}
    firewall = {"type": "firewall", **({"ingressPolicy": policy} if policy else {})}
    plugins = [bridge, *draw(st.permutations([portmap, firewall]))[: draw(st.integers(0, 2))]]
    config = {"cniVersion": "1.0.0", "name": f"net{network}", "plugins": plugins}
    addresses = draw(st.sampled_from([(4,), (6,), (4, 6), (4, 4, 6)]))
    host = {4: f"10.{network}.{{}}.{number + 2}/16", 6: f"fd00:{network}:0:{{}}::{number + 2:x}/48"}
    result = {
        "cniVersion": "1.0.0",
        "interfaces": [{"name": f"cni{network}"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": [
            {"address": host[family].format(position), "interface": 1} for position, family in enumerate(addresses)
        ],
    }
    ports = draw(st.lists(mappings(), max_size=20))
    attachment = Attachment(
        f"net{network}", f"container{number}", "eth0", "/run/netns/x", capability_args={"portMappings": ports}
    )
    return Record(attachment, json.dumps(config).encode(), Result("1.0.0", result))


@st.composite
def nodes(draw: st.DrawFn) -> list[Record]:
    policy = st.sampled_from(["", "open", "same-bridge", "isolated"])
    policies = draw(st.lists(policy, min_size=3, max_size=3))
    return [draw(records(number, policies)) for number in range(draw(st.integers(1, 5)))]


def rules_of(made: t.Iterable[Record], family: int, table: str) -> list[IptablesRule]:
    parts = [part for record in made for part in firewall_state(RecordedRequests(record)) if part.family == family]
    return [rule for part in parts for rule in part.iptables if rule.table == table]


def shared_chains(rules: t.Iterable[IptablesRule]) -> list[str]:
    return sorted({*BUILT_IN, *(rule.chain for rule in rules if not rule.is_own_chain)})


def with_others(data: st.DataObject, chains: Chains, rules: list[IptablesRule]) -> Chains:
    """Return the chains with rules of other programs between those of plugins, and at both ends."""
    mixed = {name: list(lines) for name, lines in chains.items()}
    for number in range(data.draw(st.integers(0, 6))):
        chain = data.draw(st.sampled_from(shared_chains(rules)))
        lines = mixed.setdefault(chain, [])
        lines.insert(data.draw(st.integers(0, len(lines))), f"-A {chain} -i other{number} -j ACCEPT")
    return mixed


def after_losses(data: st.DataObject, chains: Chains) -> Chains:
    """Return the chains without some rules, lost one after the other, and without whole chains."""
    left = {name: list(lines) for name, lines in chains.items()}
    own = [(name, line) for name, lines in chains.items() for line in lines if " other" not in line]
    for name, line in data.draw(st.lists(st.sampled_from(own), unique=True)) if own else []:
        left[name].remove(line)
    for name in data.draw(st.sets(st.sampled_from(sorted(left)))) if left else ():
        left[name] = []
        if name not in BUILT_IN and data.draw(st.booleans()):
            del left[name]
    return left


def others(chains: Chains) -> Chains:
    return {name: kept for name, lines in chains.items() if (kept := [line for line in lines if " other" in line])}


def own_chains(rules: t.Iterable[IptablesRule]) -> Chains:
    """Return the chains of single containers as the plugins write them."""
    chains: dict[str, dict[str, None]] = {}
    for rule in rules:
        if rule.is_own_chain:
            chains.setdefault(rule.chain, {})[rule.line] = None
    return {name: list(lines) for name, lines in chains.items()}


@every_table
@given(made=nodes(), data=st.data())
def test_any_loss_of_rules_is_repaired_by_one_plan(
    made: list[Record], data: st.DataObject, family: int, table: str
) -> None:
    rules = rules_of(made, family, table)
    before = with_others(data, apply(iptables_rules.plan(view_of({}), rules), {}), rules)
    lost = after_losses(data, before)
    repaired = apply(iptables_rules.plan(view_of(lost), rules), {name: list(lines) for name, lines in lost.items()})
    view: IptablesView = view_of(repaired)
    assert view.find_missing(rules) == ()
    assert iptables_rules.plan(view, rules) == []
    assert others(repaired) == others(lost)
    assert {name: repaired[name] for name in own_chains(rules)} == own_chains(rules)
    assert sorted(line for lines in repaired.values() for line in lines if " other" not in line) == sorted(
        {rule.line for rule in rules}
    )


@every_table
@given(made=nodes(), data=st.data())
def test_a_chain_that_isolates_bridges_returns_last(
    made: list[Record], data: st.DataObject, family: int, table: str
) -> None:
    rules = rules_of(made, family, table)
    lost = after_losses(data, apply(iptables_rules.plan(view_of({}), rules), {}))
    repaired = apply(iptables_rules.plan(view_of(lost), rules), lost)
    for name in ("CNI-ISOLATION-STAGE-1", "CNI-ISOLATION-STAGE-2"):
        assert not any(line.endswith("-j RETURN") for line in repaired.get(name, [""])[:-1])


@given(made=nodes(), data=st.data())
def test_undoing_the_rules_of_one_attachment_keeps_those_of_others(made: list[Record], data: st.DataObject) -> None:
    for family, table in TABLES:
        rules, gone = rules_of(made, family, table), rules_of(made[:1], family, table)
        chains = with_others(data, apply(iptables_rules.plan(view_of({}), rules), {}), rules)
        # Plugins that ran at the same time have written some of them twice.
        for rule in data.draw(st.lists(st.sampled_from(gone), unique=True)) if gone else ():
            chains[rule.chain].append(rule.line)
        removed = iptables_rules.plan_removal(view_of(chains), [rule for rule in gone if not rule.is_shared])
        left = apply(removed, {name: list(lines) for name, lines in chains.items()})
        kept = rules_of(made[1:], family, table)
        assert view_of(left).find_missing(kept) == ()
        lines = {line for chain in left.values() for line in chain} - {rule.line for rule in kept}
        assert not any(rule.line in lines for rule in gone if not rule.is_shared)
        assert others(left) == others(chains)
