# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which chains, rules and links are leaks, with fake tools. Real ones are tested in tests/integration."""

from __future__ import annotations

import dataclasses
import pathlib
import socket
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.plugins.module_utils._linux.links import qdiscs, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule, NftTable
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import Finder, GcRun, collect_leaks, read_node
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.link_leaks import IfbLinkFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.rule_leaks import (
    FirewallRuleFinder,
    IsolationRuleFinder,
    NftMasqueradeFinder,
    OrphanChainFinder,
)
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.nftables_rules import NftablesView

DRY = GcPolicy(0, dry_run=True)
RUN = GcRun(DRY, NODE_PATHS, [], frozenset(["net"]))
ONE_NETWORK = GcRun(DRY, NODE_PATHS, [], frozenset(["net"]), all_networks=False)


def owners(
    *containers: str, pending: t.Iterable[str] = (), broken: t.Iterable[str] = (), result: bool = True
) -> Owners:
    """Return attachments to "net". The address of each follows from its position."""
    records = [
        Record(
            Attachment("net", name, "eth0"),
            b"",
            Result("1.0.0", {"ips": [{"address": f"10.1.0.{place}/16"}]}) if result else None,
        )
        for place, name in enumerate((*containers, *pending), 2)
    ]
    live, leaving = (frozenset((name, "eth0") for name in names) for names in (containers, pending))
    return Owners("", live, leaving, tuple(broken), tuple(records))


def collect(finder: Finder[t.Any], known: Owners) -> list[Leak]:
    again = dataclasses.replace(known, add_in_progress=gc_owners.find_add_in_progress())
    items = finder.snapshot(read_node())
    return list(collect_leaks(finder, items, known, lambda: (again, read_node()), DRY))


class PrintingTools:
    """Fake programs that print a given text."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory

    def print_table(self, name: str, *lines: str) -> None:
        self.print("iptables-save", f"*{name}", *lines, "COMMIT")

    def print(self, name: str, *lines: str) -> None:
        text = self._directory / f"{name}.out"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (self._directory / name).write_text(f"#!/bin/sh\n/bin/cat {text}\n", encoding="utf-8")
        (self._directory / name).chmod(0o755)


@pytest.fixture
def tools(program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> PrintingTools:
    monkeypatch.setattr(live_namespaces, "reachable_paths", dict)
    monkeypatch.setattr(gc_owners, "find_add_in_progress", lambda: "")
    return PrintingTools(program_dir)


def actions(leaks: t.Iterable[Leak]) -> dict[str, str]:
    return {leak.subject.rpartition(" ")[2]: leak.action for leak in leaks}


LOST = firewall_names.masquerade_chain("net", "lost")
NOT_THE_PLUGINS = ("CNI-ADMIN", "CNI-HOSTPORT-DNAT", "KUBE-SVC-0a1b", LOST[:-1], LOST + "0", LOST.upper(), f"X{LOST}")


def test_only_chains_with_names_of_the_plugins_are_leaks(tools: PrintingTools) -> None:
    tools.print_table("nat", *(f":{name} - [0:0]" for name in (*NOT_THE_PLUGINS, LOST)))
    assert actions(collect(OrphanChainFinder(RUN), owners())) == {LOST: "removed"}


def test_a_chain_with_a_jump_or_an_owner_is_not_a_leak(tools: PrintingTools) -> None:
    ports = firewall_names.ports_chain("net", "blue")
    tools.print_table("nat", f":{LOST} - [0:0]", f"-A POSTROUTING -s 10.1.0.9/32 -j {LOST}", f":{ports} - [0:0]")
    assert actions(collect(OrphanChainFinder(RUN), owners("blue"))) == {}
    assert actions(collect(OrphanChainFinder(RUN), owners(pending=["blue"]))) == {}
    assert actions(collect(OrphanChainFinder(RUN), owners("red"))) == {ports: "removed"}


def test_an_unrecorded_valid_attachment_owns_its_chain(tools: PrintingTools) -> None:
    tools.print_table("nat", f":{LOST} - [0:0]")
    valid = Owners(live=frozenset([("lost", "eth0")]))
    assert actions(collect(OrphanChainFinder(RUN), valid)) == {}


def test_a_comment_names_the_network_of_a_chain_only_if_the_chains_name_proves_it(tools: PrintingTools) -> None:
    comment = '-m comment --comment "name: \\"{}\\" id: \\"{}\\""'
    liar = firewall_names.masquerade_chain("other", "blue")
    true = f"-A {LOST} -d 10.1.0.0/16 {comment.format('net', 'lost')} -j ACCEPT"
    lie = f"-A {liar} -d 10.1.0.0/16 {comment.format('net', 'lost')} -j ACCEPT"
    tools.print_table("nat", true, lie)
    leaks = collect(OrphanChainFinder(ONE_NETWORK), owners())
    assert [(leak.network, leak.subject) for leak in leaks] == [("net", f"iptables nat {LOST}")]


def test_a_foreign_rule_in_a_chain_does_not_hide_its_owner(tools: PrintingTools) -> None:
    own = f'-A {LOST} -m comment --comment "name: \\"net\\" id: \\"lost\\"" -j ACCEPT'
    tools.print_table("nat", f"-A {LOST} -o it's -j ACCEPT", f'-A {LOST} -m comment --comment "a\nb" -j ACCEPT', own)
    assert actions(collect(OrphanChainFinder(ONE_NETWORK), owners())) == {LOST: "removed"}


def test_an_unreadable_record_or_an_add_in_progress_keeps_a_chain(
    tools: PrintingTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.print_table("nat", f":{LOST} - [0:0]")
    assert actions(collect(OrphanChainFinder(RUN), owners(broken=["x"]))) == {LOST: "kept"}
    monkeypatch.setattr(gc_owners, "find_add_in_progress", lambda: "an ADD is in progress")
    (leak,) = collect(OrphanChainFinder(RUN), owners())
    assert (leak.action, "an ADD is in progress" in leak.evidence) == ("kept", True)


STATE = "-m conntrack --ctstate RELATED,ESTABLISHED"
PAIR = (f"-A CNI-FORWARD -d 10.1.0.9/32 {STATE} -j ACCEPT", "-A CNI-FORWARD -s 10.1.0.9/32 -j ACCEPT")
BY_HAND = {
    "half of a pair": PAIR[:1],
    "the other half": PAIR[1:],
    "another chain": tuple(rule.replace("FORWARD", "ADMIN") for rule in PAIR),
    "a network": tuple(rule.replace("/32", "/24") for rule in PAIR),
    "a port as well": (PAIR[0], PAIR[1].replace("-j", "-p tcp -m tcp --dport 80 -j")),
    "another target": (PAIR[0], PAIR[1].replace("ACCEPT", "DROP")),
}


@pytest.mark.parametrize("rules", BY_HAND.values(), ids=BY_HAND)
def test_a_rule_that_the_plugin_firewall_does_not_write_is_not_a_leak(
    tools: PrintingTools, rules: tuple[str, ...]
) -> None:
    tools.print_table("filter", *rules)
    assert collect(FirewallRuleFinder(RUN), owners()) == []


def test_the_rules_of_an_address_are_a_leak_if_no_record_has_it(tools: PrintingTools) -> None:
    tools.print_table("filter", *PAIR)
    assert actions(collect(FirewallRuleFinder(RUN), owners("blue"))) == {"10.1.0.9": "removed"}
    names = [f"c{number}" for number in range(8)]
    assert collect(FirewallRuleFinder(RUN), owners(*names)) == []
    assert collect(FirewallRuleFinder(RUN), owners(pending=names)) == []


def test_an_add_that_begins_after_the_second_search_keeps_the_rules_of_an_address(
    tools: PrintingTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.print_table("filter", *PAIR)
    reasons = iter(["", "an ADD is in progress"])
    monkeypatch.setattr(gc_owners, "find_add_in_progress", lambda: next(reasons))
    assert actions(collect(FirewallRuleFinder(RUN), owners("blue"))) == {"10.1.0.9": "kept"}


def isolation(link: str, *, out: str = "", policy: str = "same-bridge") -> tuple[str, str]:
    comment = f'-m comment --comment "CNI firewall plugin rules (ingressPolicy: {policy})"'
    return (
        f"-A CNI-ISOLATION-STAGE-1 -i {link} ! -o {out or link} {comment} -j CNI-ISOLATION-STAGE-2",
        f"-A CNI-ISOLATION-STAGE-2 -o {link} {comment} -j DROP",
    )


LOST_LINK = "veth0000abcd"


@pytest.mark.parametrize("policy", ["same-bridge", "isolated", "same-bridge|isolated"])
def test_the_rules_that_isolate_a_pair_are_a_leak_if_no_record_has_the_link_and_it_is_gone(
    tools: PrintingTools, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    tools.print_table("filter", *isolation(LOST_LINK, policy=policy))
    assert actions(collect(IsolationRuleFinder(RUN), owners("blue"))) == {LOST_LINK: "removed"}
    known = owners("blue")
    result = Result("1.0.0", {"interfaces": [{"name": LOST_LINK}, {"name": "eth0", "sandbox": "/x"}]})
    (record,) = known.records
    assert (
        collect(IsolationRuleFinder(RUN), dataclasses.replace(known, records=(record._replace(result=result),))) == []
    )
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(7, LOST_LINK)])
    assert actions(collect(IsolationRuleFinder(RUN), known)) == {LOST_LINK: "kept"}


@pytest.mark.parametrize(
    "rules",
    [
        isolation("cni0"),
        isolation("veth0000abc"),
        isolation(LOST_LINK, out="cni0")[:1],
        tuple(rule.replace("CNI firewall plugin rules", "mine") for rule in isolation(LOST_LINK)),
        tuple(rule.replace("-m comment", "-s 10.1.0.2/32 -m comment") for rule in isolation(LOST_LINK)),
        tuple(rule.replace("ISOLATION-STAGE", "OTHER-STAGE") for rule in isolation(LOST_LINK)),
    ],
    ids=["a bridge", "another name", "two links", "another comment", "an address as well", "another chain"],
)
def test_other_rules_that_isolate_are_not_leaks(tools: PrintingTools, rules: tuple[str, ...]) -> None:
    tools.print_table("filter", *rules)
    assert collect(IsolationRuleFinder(RUN), owners()) == []


def masquerade(network: str, container_id: str) -> NftRule:
    comment = f"{firewall_names.instance(network, container_id, 'eth0')}, net: {network}, if: eth0, id: {container_id}"
    return NftRule("inet", firewall_names.MASQUERADE_TABLE, "masq_checks", 1, comment, (), frozenset())


def test_nftables_rules_of_other_networks_and_of_owners_are_not_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [masquerade(*names) for names in (("net", "lost"), ("net", "blue"), ("x", "lost"))]
    present = NftablesView([NftTable("inet", firewall_names.MASQUERADE_TABLE, {}, rules)])
    monkeypatch.setattr(NodeView, "require_nftables", lambda *dummy: present)
    known, finder = dataclasses.replace(owners("blue"), network="net"), NftMasqueradeFinder(RUN)
    items = finder.snapshot(NodeView())
    assert len(items) == 3
    (suspect,) = finder.find(items, known)
    assert [(item.content, item.container_ids) for item in suspect.items] == [(rules[0], ("lost",))]
    assert list(finder.find(items, dataclasses.replace(known, network="y"))) == []


def test_an_attachment_without_a_result_may_have_any_address(tools: PrintingTools) -> None:
    tools.print_table("filter", *PAIR)
    (leak,) = collect(FirewallRuleFinder(RUN), owners("blue", result=False))
    assert (leak.action, "whose ADD has not finished, may use the address" in leak.evidence) == ("kept", True)


LINK = firewall_names.ifb("net", "lost")
Links = t.Callable[..., None]


@pytest.fixture
def links(tools: PrintingTools, monkeypatch: pytest.MonkeyPatch) -> Links:
    """Return a function that gives the node intermediate functional blocks."""

    def make(*names: str) -> None:
        monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(names, 1)))
        ifb_links = tuple(Link(number, name, "", 1500, True, 0, 0, "ifb") for number, name in enumerate(names, 1))
        monkeypatch.setattr(rtnetlink, "links", lambda: ifb_links)
        monkeypatch.setattr(qdiscs, "redirects", lambda ifindex: set())

    return make


def test_a_link_is_a_leak_if_no_attachment_owns_it_and_no_link_sends_to_it(tools: PrintingTools, links: Links) -> None:
    links(LINK, "ifb0", "bwp0", f"{LINK[:-1]}X")
    assert actions(collect(IfbLinkFinder(RUN), owners("lost"))) == {}
    assert actions(collect(IfbLinkFinder(RUN), owners())) == {LINK: "removed"}


def test_links_are_not_listed_if_no_unowned_link_has_such_a_name(
    tools: PrintingTools, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    links("eth0", "ifb0", LINK)
    monkeypatch.setattr(rtnetlink, "links", None)
    assert collect(IfbLinkFinder(RUN), owners("lost")) == []


def test_a_link_is_kept_while_another_sends_to_it(links: Links, monkeypatch: pytest.MonkeyPatch) -> None:
    links(LINK, "veth1")
    monkeypatch.setattr(qdiscs, "redirects", lambda ifindex: {1} if ifindex == 2 else {99})
    (leak,) = collect(IfbLinkFinder(RUN), owners())
    assert (leak.action, leak.evidence.endswith("but a link of the node redirects traffic to it")) == ("kept", True)
