# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nftables chains check a container's MAC address, as bridge 1.1.1 and 1.9.1 make them."""

from __future__ import annotations

import json
import pathlib
import socket
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, collect_leaks, read_node
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.rule_leaks import SpoofChainFinder
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import remove_groups
from ansible_collections.cni.node.plugins.module_utils._reference.rules import spoof_checks

NO_OWNERS = Owners()
TABLE: JsonObject = {"family": "bridge", "table": "nat"}
HOOKED: JsonObject = {"type": "filter", "hook": "prerouting", "prio": -300, "policy": "accept"}
PROGRAM = """\
#!/bin/sh
case "$*" in
"-j list tables") /bin/cat {directory}/tables ;;
"-j list table bridge nat") /bin/cat {directory}/table ;;
*) /bin/cat >>{directory}/commands ;;
esac
"""


def chain(name: str, **keys: t.Any) -> JsonObject:
    return {"chain": {**TABLE, "name": name, "handle": 1, **keys}}


def rule(place: str, handle: int, *expr: JsonObject, comment: str = "") -> JsonObject:
    commented = {"comment": comment} if comment else {}
    return {"rule": {**TABLE, "chain": place, "handle": handle, **commented, "expr": list(expr)}}


def jump(to: str) -> JsonObject:
    return {"jump": {"target": to}}


def check(owner: str, link: str, handle: int = 4) -> list[JsonObject]:
    name, comment = f"cni-br-iface-{owner}", f"macspoofchk-{owner}"
    arriving = {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": link}}
    ether = {"payload": {"protocol": "ether", "field": "saddr"}}
    sender = {"match": {"op": "==", "left": ether, "right": "42:2f:d9:ea:39:2d"}}
    return [
        chain(name),
        chain(f"{name}-mac"),
        rule("PREROUTING", handle, arriving, jump(name), comment=comment),
        rule(name, handle + 1, jump(f"{name}-mac"), comment=comment),
        rule(f"{name}-mac", handle + 2, sender, {"return": None}, comment=comment),
        rule(f"{name}-mac", handle + 3, {"drop": None}, comment=comment),
    ]


class Table:
    """A fake nft: the table that it prints, and the commands that it gets."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        path = directory / "nft"
        path.write_text(PROGRAM.format(directory=directory), encoding="utf-8")
        path.chmod(0o755)
        self._print("tables", [{"table": {"family": "bridge", "name": "nat"}}])

    def has(self, *entries: JsonObject) -> None:
        self._print("table", [chain("PREROUTING", **HOOKED), *entries])

    def commands(self) -> t.Any:
        return json.loads((self._directory / "commands").read_text(encoding="utf-8"))["nftables"]

    def _print(self, name: str, entries: list[JsonObject]) -> None:
        (self._directory / name).write_text(json.dumps({"nftables": [{"metainfo": {}}, *entries]}), encoding="utf-8")


@pytest.fixture
def table(program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(gc_owners, "find_add_in_progress", lambda: "")
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(2, "vethblue")])
    return Table(program_dir)


def owners() -> list[tuple[str, int]]:
    return [(check.owner, len(check.rules)) for check in spoof_checks.listing(read_node())]


def test_a_spoof_check_consists_of_its_chains_and_the_rules_in_them_and_to_them(table: Table) -> None:
    table.has(*check("blue-eth0", "vethblue"), *check("a-b-eth0", "vetha", 10))
    assert owners() == [("a-b-eth0", 4), ("blue-eth0", 4)]
    first, second = spoof_checks.listing(read_node())
    assert (first.container_ids, second.container_ids) == (["a", "a-b"], ["blue"])
    assert "vethblue" in second.words
    view = read_node()
    assert remove_groups([spoof_checks.list_owned(view, {second.owner})], view) == {}
    names = [{"chain": {**TABLE, "name": name}} for name in ("cni-br-iface-blue-eth0", "cni-br-iface-blue-eth0-mac")]
    assert table.commands() == [
        {"delete": {"rule": {**TABLE, "chain": "PREROUTING", "handle": 4}}},
        *({"flush": name} for name in names),
        *({"delete": name} for name in names),
    ]


def test_an_interface_name_may_end_like_the_name_of_a_chain(table: Table) -> None:
    table.has(*check("blue-x-mac", "vethblue"))
    assert owners() == [("blue-x-mac", 4)]


def test_empty_chains_of_a_killed_plugin_are_a_spoof_check(table: Table) -> None:
    table.has(chain("cni-br-iface-blue-eth0"), chain("cni-br-iface-blue-eth0-mac"))
    assert owners() == [("blue-eth0", 0)]
    table.has(chain("cni-br-iface-blue-eth0-mac"))
    assert owners() == [("blue-eth0", 0)]


FOREIGN = {
    "a rule in it": [rule("cni-br-iface-blue-eth0", 20, {"accept": None})],
    "a rule that leads to it": [rule("PREROUTING", 20, jump("cni-br-iface-blue-eth0-mac"))],
    "a rule with another comment": [rule("cni-br-iface-blue-eth0-mac", 20, {"drop": None}, comment="mine")],
    "a map that leads to it": [
        rule("PREROUTING", 20, {"vmap": {"data": {"set": [["a", jump("cni-br-iface-blue-eth0")]]}}})
    ],
}


@pytest.mark.parametrize("entries", FOREIGN.values(), ids=FOREIGN)
def test_chains_with_foreign_rules_are_ignored(table: Table, entries: list[JsonObject]) -> None:
    table.has(*check("blue-eth0", "vethblue"), *entries)
    assert owners() == []


def test_chains_of_other_names_are_ignored(table: Table) -> None:
    table.has(chain("cni-br-iface-"), chain("cni-br-iface-blue"), chain("blue-eth0"))
    assert owners() == []


def findings(table: Table, owners: Owners, *removed_links: str) -> list[tuple[str, str]]:
    run = GcRun(GcPolicy(0, dry_run=True), NODE_PATHS, [])
    run.leaks.extend(Leak(Kind.LINK, "", name, "", "removed") for name in removed_links)
    finder = SpoofChainFinder(run)
    items = finder.snapshot(read_node())
    leaks = collect_leaks(finder, items, owners, lambda: (owners, read_node()), run.policy)
    return [(leak.subject.rpartition("iface-")[2], leak.action) for leak in leaks]


def test_a_spoof_check_is_kept_while_its_link_exists(table: Table) -> None:
    table.has(*check("blue-eth0", "vethblue"), *check("red-eth0", "vethred", 10))
    assert findings(table, NO_OWNERS) == [("red-eth0", "removed"), ("blue-eth0", "kept")]
    assert findings(table, NO_OWNERS, "vethblue") == [("red-eth0", "removed"), ("blue-eth0", "removed")]


def test_an_attachment_owns_every_spoof_check_with_its_names(table: Table) -> None:
    """The end of the container ID within the name is unknown."""
    table.has(*check("a-b-eth0", "vetha"))
    for names in (("a-b", "eth0"), ("a", "b-eth0")):
        record = Record(Attachment("net", *names), b"")
        assert findings(table, Owners(records=(record,))) == []
        assert findings(table, Owners(live=frozenset([names]))) == []
        assert findings(table, Owners(pending_removal=frozenset([names]))) == []


def test_a_spoof_check_that_is_made_or_changed_meanwhile_is_ignored(table: Table) -> None:
    table.has(*check("lost-eth0", "vetha"), *check("back-eth0", "vethb", 10))
    policy = GcPolicy(0, dry_run=False)
    finder = SpoofChainFinder(GcRun(policy, NODE_PATHS, []))
    items = finder.snapshot(read_node())
    table.has(*check("lost-eth0", "vetha"), *check("back-eth0", "vethc", 20), *check("new-eth0", "vethd", 30))
    leaks = collect_leaks(finder, items, NO_OWNERS, lambda: (NO_OWNERS, read_node()), policy)
    assert [leak.subject for leak in leaks] == ["nft bridge nat cni-br-iface-lost-eth0"]
