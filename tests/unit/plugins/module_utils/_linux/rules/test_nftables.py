# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules as nft prints them. tests/integration removes real rules."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
from ansible_collections.cni.node.tests.support.error_of import error_of

DAEMON = {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "127.0.0.1"}}
OUTSIDE = {"match": {"op": "!=", "left": {}, "right": {"prefix": {"addr": "10.1.0.0", "len": 16}}}}
DNAT = {"dnat": {"family": "ip", "addr": "10.1.0.2", "port": 80}}


def rule(handle: int, comment: str | None = None, *expressions: JsonObject) -> JsonObject:
    commented = {"comment": comment} if comment else {}
    place = {"family": "ip", "table": "cni_hostport", "chain": "hostports", "handle": handle}
    return {"rule": {**place, **commented, "expr": list(expressions)}}


@pytest.fixture
def prints(program_dir: pathlib.Path) -> t.Callable[..., None]:
    """Return a function that writes a program with an output for each joined list of arguments."""

    def install(name: str, **answers: str) -> None:
        cases = "".join(f"'{words.replace('_', ' ')}') cat {program_dir}/{words};;\n" for words in answers)
        for words, answer in answers.items():
            (program_dir / words).write_text(answer, encoding="utf-8")
        path = program_dir / name
        path.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\ncase "$*" in\n{cases}esac\n', encoding="utf-8")
        path.chmod(0o755)

    return install


def _nft(*entries: JsonObject) -> str:
    return json.dumps({"nftables": [{"metainfo": {}}, *entries]})


def test_rules_come_with_their_comments_and_their_containers_addresses(prints: t.Callable[..., None]) -> None:
    tables = _nft({"table": {"family": "ip", "name": "hosts"}}, {"table": {"family": "ip6", "name": "other"}})
    listed = _nft(rule(4, "blue", DAEMON, OUTSIDE, DNAT), rule(5))
    prints("nft", **{"-j_list_tables": tables, "-j_list_table_ip_hosts": listed})
    (table,) = nftables.tables("hosts")
    assert [(entry.handle, entry.comment, entry.addresses) for entry in table.rules] == [
        (4, "blue", ("10.1.0.2",)),
        (5, "", ()),
    ]
    assert nftables.tables("none") == []


def test_a_node_without_the_tool_has_no_rules(prints: t.Callable[..., None]) -> None:
    assert nftables.tables("hosts") == []


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("no json here", "is not JSON"),
        ("{}", "is not a listing"),
        ("[1]", "is not a listing"),
        ('{"nftables": [1]}', "is not a listing"),
    ],
)
def test_output_that_is_not_a_listing_is_an_error(prints: t.Callable[..., None], output: str, problem: str) -> None:
    prints("nft", **{"-j_list_tables": output})
    error = error_of(nftables.tables, "hosts")
    assert (error.code, problem in error.msg) == (Code.IO_FAILURE, True)


def test_a_program_that_prints_something_instead_of_writing_is_an_error(prints: t.Callable[..., None]) -> None:
    prints("nft", **{"-f_-": "nonsense"})
    error = error_of(nftables.change, ["add table ip net"])
    assert (error.code, error.details) == (Code.IO_FAILURE, "nonsense")


def test_only_veths_whose_peer_is_in_another_namespace_count(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = Link(7, "cni0", "", 1500, True, 0, 0, "bridge")
    there = Link(3, "veth0", "", 1500, True, 7, 2, "veth", peer_netns=4)
    here = Link(5, "veth1", "", 1500, True, 0, 4, "veth")
    monkeypatch.setattr(rtnetlink, "links", lambda: (bridge, there, here))
    assert veth.veths() == [veth.Veth("veth0", 3, 2, "cni0", 4)]
