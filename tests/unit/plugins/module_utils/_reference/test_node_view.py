# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a view of the node lists firewall rules."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.tests.support.error_of import error_of

RULES = "*nat\\n:A - [0:0]\\nCOMMIT\\n*filter\\n:B - [0:0]\\nCOMMIT\\n"
Calls = t.Callable[[], list[str]]


@pytest.fixture
def calls(program_dir: pathlib.Path) -> Calls:
    """Return a function that returns the calls of iptables-save, which prints two tables, and of nft, which fails."""
    log = program_dir / "log"
    for name, end in (("iptables-save", f'printf "{RULES}"'), ("nft", "echo no >&2\nexit 1")):
        path = program_dir / name
        path.write_text(f'#!/bin/sh\necho "${{0##*/}}" "$@" >>{log}\n{end}\n', encoding="utf-8")
        path.chmod(0o755)
    return lambda: log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_each_table_is_listed_once_and_when_it_is_needed(calls: Calls) -> None:
    view = NodeView()
    assert calls() == []
    for _again in range(2):
        assert [table and [*table.table.rules] for table in (view.iptables(4, "nat"), view.iptables(6, "nat"))] == [
            ["A"],
            None,
        ]
    assert calls() == ["iptables-save -t nat"]


def test_all_tables_are_listed_together_and_none_is_named(calls: Calls) -> None:
    view = NodeView(all_tables=True)
    chains = {name: [(family, *table.rules) for family, table in view.list_tables(name)] for name in ("nat", "filter")}
    assert chains == {"nat": [(4, "A")], "filter": [(4, "B")]}
    assert [(family, table.rules) for family, table in view.list_tables("mangle")] == [(4, {})]
    assert calls() == ["iptables-save"]


def test_a_failed_listing_is_an_error_each_time_until_it_is_accepted(calls: Calls) -> None:
    view = NodeView()
    require = functools.partial(view.require_nftables, "", "cni_hostport")
    assert view.nftables("", "cni_hostport") is None
    assert {error_of(require).code for _again in range(2)} == {Code.IO_FAILURE}
    view.accept_unlisted()
    assert require() is None
    assert calls() == ["nft -j list tables"]


def test_a_failed_listing_of_all_tables_is_the_error_of_each_table(calls: Calls, program_dir: pathlib.Path) -> None:
    (program_dir / "iptables-save").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    view = NodeView(all_tables=True)
    assert {error_of(view.require_iptables, 4, name).msg for name in ("nat", "filter")} == {"iptables-save failed"}
    assert list(view.list_tables("nat")) == []
    assert view.require_iptables(6, "nat") is None
    assert calls() == []
