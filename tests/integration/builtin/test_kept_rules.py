# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run lists the node's rules once, however many attachments it has, and again after another program has changed them."""

from __future__ import annotations

import collections
import functools
import os
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables, rule_cache
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftTable
from ansible_collections.cni.node.plugins.module_utils._linux.worker_processes import run_shares
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush, map_port, rules
from ansible_collections.cni.node.tests.support.namespaces import namespaces

pytestmark = [pytest.mark.requires_root]

BACKENDS = ("iptables", "nftables")
COUNT = 4


def network(backend: str) -> JsonObject:
    """Return a network whose plugins write rules of every kind."""
    bridge = reference_networks.bridge(ipMasq=True, ipMasqBackend=backend, macspoofchk=True)
    portmap = {**reference_networks.PORTMAP, "backend": backend}
    return reference_networks.network(bridge, portmap, {"type": "firewall", "backend": "iptables"})


@pytest.fixture
def items() -> t.Iterator[list[JsonObject]]:
    with namespaces(*(f"c{number}" for number in range(COUNT))) as made:
        yield [map_port(each, number) for number, each in enumerate(made)]


class Programs:
    """The programs that this process has run.

    Attributes:
        disturb: Called before and after each program with its name.
    """

    def __init__(self) -> None:
        self.run: list[str] = []
        self.disturb: t.Callable[[str, str], None] = lambda when, name: None

    def listings(self) -> collections.Counter[str]:
        """Return how often each listing was made since the last call."""
        found = collections.Counter(command for command in self.run if "save" in command or " list " in command)
        self.run.clear()
        return found


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    made, run = Programs(), process.run

    def note(argv: t.Sequence[str], *arguments: t.Any) -> process.ProcessResult:
        name = os.path.basename(argv[0])
        made.run.append(" ".join([name, *argv[1:]]))
        made.disturb("before", name)
        result = run(argv, *arguments)
        made.disturb("after", name)
        return result

    monkeypatch.setattr(process, "run", note)
    return made


def ensure(engine: Engine, items: t.Iterable[JsonObject], action: str) -> None:
    """Attach or detach containers in one run, each as a group of its own."""
    with rule_cache.keep():
        outcomes = [engine.ensure(item, present=action != "removed", check="never") for item in items]
    assert [(outcome.action, outcome.error) for outcome in outcomes] == [(action, None)] * len(outcomes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_number_of_listings_does_not_grow_with_the_number_of_attachments(
    node: EngineNode, here: Engine, items: list[JsonObject], programs: Programs, backend: str
) -> None:
    node.write(network(backend))
    ensure(here, items[:1], "added")
    programs.listings()
    ensure(here, items[1:2], "added")
    one = programs.listings()
    ensure(here, items[2:], "added")
    assert programs.listings() == one
    assert set(one.values()) == {1}
    ensure(here, items[:1], "removed")
    one = programs.listings()
    ensure(here, items[1:], "removed")
    assert programs.listings() == one
    assert set(one.values()) == {1}


def describe(listing: t.Any) -> t.Any:
    """Return what a listing says, without the handles of rules."""
    if isinstance(listing, Table):
        jumps = {chain: sorted(lines) for chain, lines in listing.jumps.items()}
        return listing.rules, jumps
    if isinstance(listing, NftTable):
        by_chain: dict[str, list[t.Any]] = {}
        for rule in listing.rules:
            by_chain.setdefault(rule.chain, []).append((rule.comment, rule.addresses, rule.targets))
        return listing.hooks, by_chain
    return sorted(listing)


def values(listing: t.Any) -> dict[str, list[frozenset[str | int]]]:
    by_chain: dict[str, list[frozenset[str | int]]] = {}
    for rule in listing.rules if isinstance(listing, NftTable) else ():
        by_chain.setdefault(rule.chain, []).append(rule.values)
    return by_chain


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[rule_cache.Key]:
    """Compare each listing that a run uses with a new one, unless rules change meanwhile; return what was compared."""
    read, keys = rule_cache.read, list[rule_cache.Key]()

    def compare(key: rule_cache.Key, list_rules: t.Callable[[], tuple[t.Any, bool]]) -> t.Any:
        before = nf_tables.generation()
        used, new = read(key, list_rules), list_rules()[0]
        if nf_tables.generation() == before:
            keys.append(key)
            assert describe(used) == describe(new)
            for chain, each in values(used).items():
                assert all(own <= whole for own, whole in zip(each, values(new)[chain]))
        return used

    monkeypatch.setattr(rule_cache, "read", compare)
    return keys


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kept_listing_is_what_a_new_one_shows(
    node: EngineNode, here: Engine, items: list[JsonObject], compared: list[rule_cache.Key], backend: str
) -> None:
    node.write(network(backend))
    for action in ("added", "removed", "added", "removed"):
        ensure(here, items, action)
    tables = [(4, "nat"), (4, "filter"), ("bridge", "nat")]
    tables += [("inet", "cni_plugins_masquerade"), ("ip", "cni_hostport")] if backend == "nftables" else []
    assert set(tables) <= {key[1:] for key in compared}


@pytest.mark.usefixtures("compared")
@pytest.mark.parametrize("backend", BACKENDS)
def test_processes_of_a_run_know_each_others_writes(
    node: EngineNode, here: Engine, items: list[JsonObject], backend: str
) -> None:
    node.write(network(backend))
    for action in ("added", "removed"):
        with rule_cache.keep():
            rule_cache.share()
            shares = run_shares([items[::2], items[1::2]], functools.partial(ensure, here, action=action))
        assert shares == [None, None]
        written = [line for line in rules().splitlines() if line.startswith("-A ")]
        assert len(written) == len(set(written))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("is_changed", "expected"), [(False, "listed before"), (True, "listed again")])
def test_processes_keep_what_was_listed_before_they_began_unless_rules_have_changed(
    is_changed: bool, expected: str
) -> None:
    key = (rule_cache.NFT, "inet", "net")
    with rule_cache.keep():
        rule_cache.read(key, lambda: ("listed before", True))
        rule_cache.share()
        if is_changed:
            prepend()
        shares = run_shares([1, 2], lambda dummy: rule_cache.read(key, lambda: ("listed again", True)))
    assert shares == [expected, expected]


def once(action: t.Callable[[], t.Any], when: str) -> t.Callable[[str, str], None]:
    """Return a disturbance of the first write."""
    left = [action]

    def disturb(moment: str, name: str) -> None:
        if moment == when and name in ("iptables-restore", "nft") and left and nf_tables.generation():
            left.pop()()

    return disturb


def prepend() -> None:
    subprocess.run(["iptables", "-t", "nat", "-I", "POSTROUTING", "-s", "192.0.2.1", "-j", "RETURN"], check=True)


@pytest.mark.parametrize("change", [flush, prepend])
@pytest.mark.parametrize("when", ["before", "after"])
def test_rules_are_complete_after_another_program_has_changed_them_meanwhile(
    node: EngineNode,
    here: Engine,
    items: list[JsonObject],
    programs: Programs,
    change: t.Callable[[], None],
    when: str,
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.PORTMAP))
    ensure(here, items[:2], "added")
    expected = sorted(rules().splitlines())
    ensure(here, items[:2], "removed")
    shutil.rmtree("/var/lib/cni/networks/net")  # so that the same addresses are allocated
    programs.disturb = once(change, when)
    ensure(here, items[:2], "added")
    present = [line for line in rules().splitlines() if "192.0.2.1" not in line]
    assert sorted(present) == expected
    assert rules().count("192.0.2.1") == (1 if change is prepend else 0)
