# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chains of iptables, by name, in which commands of iptables-restore take effect."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._reference.rules.iptables_rules import IptablesView

BUILT_IN = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")


def table_of(chains: dict[str, list[str]]) -> iptables.Table:
    text = "\n".join(
        ["*x", *(f":{name} - [0:0]" for name in chains), *(line for lines in chains.values() for line in lines)]
    )
    return iptables.parse(f"{text}\nCOMMIT\n")["x"]


def view_of(chains: dict[str, list[str]]) -> IptablesView:
    return IptablesView(table_of(chains))


def apply(commands: t.Iterable[str], chains: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the chains after commands, as iptables-restore would change them."""
    for command in commands:
        action, chain, rest = (*command.split(" ", 2), "")[:3]
        if action == "-N":
            assert chain not in chains
            chains[chain] = []
        elif action == "-A":
            _find_chain(chains, chain).append(command)
        elif action == "-D":
            _find_chain(chains, chain).remove(f"-A {chain} {rest}")
        elif action == "-F":
            chains[chain].clear()
        elif action == "-X":
            assert not any(line.endswith(f" -j {chain}") for lines in chains.values() for line in lines)
            assert chains.pop(chain) == []
        else:
            number, text = rest.split(" ", 1)
            _find_chain(chains, chain).insert(int(number) - 1, f"-A {chain} {text}")
    return {name: lines for name, lines in chains.items() if lines or not name.isupper() or "-" in name}


def _find_chain(chains: dict[str, list[str]], name: str) -> list[str]:
    """Return the rules of a chain that is there; the built-in ones always are."""
    assert name in chains or name in BUILT_IN, f"there is no chain {name}"
    return chains.setdefault(name, [])


class SimulatedIptables:
    """All tables of a node, by family and name, in place of the programs that list and change them.

    Attributes:
        list_error: Raised instead of a listing.
        write_error: Raised instead of a change that has this text in a command.
        on_list: Called after each listing, before its result is used.
        on_write: Called after each change.
    """

    def __init__(self) -> None:
        self.tables: dict[tuple[int, str], dict[str, list[str]]] = {}
        self.list_error: CniError | None = None
        self.write_error: tuple[str, Exception] | None = None
        self.on_list: t.Callable[[], object] = lambda: None
        self.on_write: t.Callable[[], object] = lambda: None

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(iptables, "table", self._list)
        monkeypatch.setattr(iptables, "legacy_table", lambda *dummy: None)
        monkeypatch.setattr(iptables, "restore", self._restore)

    def rules(self) -> list[str]:
        """Return the rules of all tables."""
        return sorted(line for chains in self.tables.values() for lines in chains.values() for line in lines)

    def flush(self) -> None:
        """Remove all rules and chains, as a firewall does that is started again."""
        self.tables.clear()

    def _list(self, family: int, name: str) -> iptables.Table:
        if self.list_error is not None:
            raise self.list_error
        table = table_of(self.tables.get((family, name), {}))
        self.on_list()
        return table

    def _restore(self, family: int, tables: t.Mapping[str, t.Iterable[str]]) -> None:
        for name, commands in tables.items():
            if self.write_error and any(self.write_error[0] in command for command in commands):
                raise self.write_error[1]
            self.tables[family, name] = apply(commands, self.tables.get((family, name), {}))
        self.on_write()
