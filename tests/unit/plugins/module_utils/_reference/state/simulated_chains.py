# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chains of one table of iptables, by name, in which commands of iptables-restore take effect."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._reference.iptables_rules import IptablesView

BUILT_IN = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")


def view_of(chains: dict[str, list[str]]) -> IptablesView:
    text = "\n".join(
        ["*x", *(f":{name} - [0:0]" for name in chains), *(line for lines in chains.values() for line in lines)]
    )
    return IptablesView(iptables.parse(f"{text}\nCOMMIT\n")["x"])


def apply(commands: t.Iterable[str], chains: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the chains after commands, as iptables-restore would change them."""
    for command in commands:
        action, chain, rest = (*command.split(" ", 2), "")[:3]
        if action == "-N":
            assert chain not in chains
            chains[chain] = []
        elif action == "-A":
            _find_chain(chains, chain).append(command)
        else:
            number, text = rest.split(" ", 1)
            _find_chain(chains, chain).insert(int(number) - 1, f"-A {chain} {text}")
    return {name: lines for name, lines in chains.items() if lines or not name.isupper() or "-" in name}


def _find_chain(chains: dict[str, list[str]], name: str) -> list[str]:
    """Return the rules of a chain that is there; the built-in ones always are."""
    assert name in chains or name in BUILT_IN, f"there is no chain {name}"
    return chains.setdefault(name, [])
