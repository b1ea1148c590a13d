# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Rules of the table nat of iptables, and their removal."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import conntrack, iptables

_DESTINATION: t.Final = re.compile(r".* --to-destination \[?([0-9a-f.:]+?)\]?:\d+", re.DOTALL)
TABLE: t.Final = "nat"


class Rule(t.NamedTuple):
    """A rule of the table nat, as iptables-save prints it.

    Attributes:
        source: The source address or network that it matches.
        target: The chain that it jumps to.
        destination: The DNAT address in that chain, for a port mapping.
        udp_ports: The UDP ports of the node that the chain forwards there.
    """

    family: int
    words: tuple[str, ...]
    source: str
    target: str
    comment: str
    destination: str = ""
    udp_ports: frozenset[int] = frozenset()

    @property
    def chain(self) -> str:
        return self.words[1]

    @property
    def address(self) -> str:
        return str(ipaddress.ip_interface(self.source).ip) if self.source else self.destination


def rules(family: int, chain: str) -> list[Rule]:
    """Return the rules of a chain of nat for family 4 or 6; an empty list if the tool is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _rules(family, _table(family), chain)


def rules_leading_to(family: int, table: iptables.Table, chains: t.Iterable[str], prefix: str) -> list[Rule]:
    """Return the rules that jump to a chain with the prefix, with the DNAT address and the UDP ports in it."""
    jumps = [rule for chain in chains for rule in _rules(family, table, chain) if rule.target.startswith(prefix)]
    to = {rule.target: table.rules.get(rule.target, ()) for rule in jumps}
    return [
        rule._replace(
            destination=next(iter(destinations(to[rule.target])), ""), udp_ports=_list_udp_ports(to[rule.target])
        )
        for rule in jumps
    ]


def destinations(rules: t.Iterable[str]) -> list[str]:
    """Return the DNAT addresses of rules, as iptables-save prints them."""
    return [match[1] for match in map(_DESTINATION.fullmatch, rules) if match]


def _list_udp_ports(rules: t.Iterable[str]) -> frozenset[int]:
    """Return the UDP ports of the node that the rules of a chain forward."""
    forwarding = (iptables.words(rule) for rule in rules if _DESTINATION.fullmatch(rule))
    ports = (iptables.value(words, "--dport") for words in forwarding if iptables.value(words, "-p") == "udp")
    return frozenset(int(port) for port in ports if port.isdecimal())


def remove(rule: Rule) -> None:
    """Remove a rule as often as it is there, and the chain that it jumps to unless another rule jumps there too.

    The flows to UDP ports that the chain forwarded are forgotten.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    present = rules(rule.family, rule.chain)
    times = max(1, sum(other.words == rule.words for other in present))
    commands = [("-D", *rule.words[1:])] * times
    if rule.target and sum(other.target == rule.target for other in present) <= times:
        commands += [("-F", rule.target), ("-X", rule.target)]
    iptables.change(rule.family, TABLE, *commands)
    conntrack.forget_udp(rule.family, rule.udp_ports, [rule.destination] if rule.destination else ())


def remove_chain(family: int, chain: str, rules: t.Collection[str] = ()) -> None:
    """Remove a chain that no rule jumps to, and forget the flows to UDP ports that it forwarded.

    Args:
        rules: Its rules.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    iptables.change(family, TABLE, ("-F", chain), ("-X", chain))
    conntrack.forget_udp(family, _list_udp_ports(rules), destinations(rules))


def _table(family: int) -> iptables.Table:
    return iptables.table(family, TABLE) or iptables.Table({}, {})


def _rules(family: int, table: iptables.Table, chain: str) -> list[Rule]:
    return [parse(family, rule) for rule in table.rules.get(chain, ())]


def parse(family: int, line: str) -> Rule:
    """Return a rule that iptables-save has printed."""
    words = iptables.words(line)
    source, target, comment = (iptables.value(words, option) for option in ("-s", "-j", "--comment"))
    return Rule(family, words, source, target, comment)


__all__ = (
    "TABLE",
    "Rule",
    "destinations",
    "parse",
    "remove",
    "remove_chain",
    "rules",
    "rules_leading_to",
)
