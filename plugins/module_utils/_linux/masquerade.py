# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import ipaddress
import re
import shlex
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import program

_CHAIN: t.Final = "POSTROUTING"
# Where the reference plugins' rules are that lead to the chain of a single container.
_ENTRANCES: t.Final = (_CHAIN, "CNI-HOSTPORT-DNAT")
_DESTINATION: t.Final = re.compile(r"^-A (\S+) .*--to-destination \[?([0-9a-f.:]+?)\]?:\d+$", re.MULTILINE)
# A node of many containers has many rules, of some hundred bytes each.
_OUTPUT_LIMIT: t.Final = 256 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of the table nat, as iptables-save prints it.

    Attributes:
        source: What it is for.
        target: The chain it jumps to.
        destination: The address that this chain sends to, where it is a port mapping's.
    """

    family: int
    words: tuple[str, ...]
    source: str
    target: str
    comment: str
    destination: str = ""

    @property
    def chain(self) -> str:
        return self.words[1]

    @property
    def address(self) -> str:
        return str(ipaddress.ip_interface(self.source).ip) if self.source else self.destination


def rules(family: int, chain: str = _CHAIN) -> list[Rule]:
    """Return the rules of a chain of nat for 4 or 6; none where the tool is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _rules(family, _saved(family), chain)


def entrances(family: int) -> list[Rule]:
    """Return the rules of nat for 4 or 6 that lead to the chain of a single container, with its address.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    saved = _saved(family)
    destinations = dict(_DESTINATION.findall(saved))
    found = [rule for chain in _ENTRANCES for rule in _rules(family, saved, chain) if rule.target.startswith("CNI-")]
    return [dataclasses.replace(rule, destination=destinations.get(rule.target, "")) for rule in found]


def remove(rule: Rule) -> None:
    """Remove a rule, and the chain it jumps to unless another rule does so too.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    _run(rule.family, "", "-w", "-t", "nat", "-D", *rule.words[1:])
    if rule.target and all(other.target != rule.target for other in rules(rule.family, rule.chain)):
        _run(rule.family, "", "-w", "-t", "nat", "-F", rule.target)
        _run(rule.family, "", "-w", "-t", "nat", "-X", rule.target)


def tool(family: int) -> str:
    """Return the name of the program that has the rules for 4 or 6."""
    return "iptables" if family == 4 else "ip6tables"


def _saved(family: int) -> str:
    return _run(family, "-save", "-t", "nat")


def _rules(family: int, saved: str, chain: str) -> list[Rule]:
    lines = [line for line in saved.splitlines() if line.startswith(f"-A {chain} ")]
    return [_parsed(family, tuple(shlex.split(line))) for line in lines]


def _parsed(family: int, words: tuple[str, ...]) -> Rule:
    def value(option: str) -> str:
        return words[words.index(option) + 1] if option in words else ""

    return Rule(family, words, value("-s"), value("-j"), value("--comment"))


def _run(family: int, suffix: str, *arguments: str) -> str:
    path = program.find(tool(family) + suffix)
    return program.output([path, *arguments], limit=_OUTPUT_LIMIT) if path else ""


__all__ = ("Rule", "entrances", "remove", "rules", "tool")
