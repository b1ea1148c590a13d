# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Rules and chains of the firewall that belong to one container each: which there are, whose, and how they are removed.

DEL and gc find and remove them here. `spoof_checks` has those of bridge that check the MAC address.
"""

from __future__ import annotations

import collections
import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.rules import conntrack, iptables, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import ContainerAddress
from ansible_collections.cni.node.plugins.module_utils._reference.rules.forwarding import address_rules

NAT = "nat"
FILTER = "filter"

_DESTINATION = re.compile(r".* --to-destination \[?([0-9a-f.:]+?)\]?:\d+", re.DOTALL)
_UDP = "udp"
_FAMILIES = {"ip": 4, "ip6": 6}


class ContainerJump(t.NamedTuple):
    """A rule of iptables, as iptables-save prints it, that jumps to the chain of a container, which its comment names.

    Attributes:
        target: The chain of the container.
        source: The address or network that the rule matches, or an empty string.
        destination: The address to which the chain maps ports, or an empty string.
        udp_ports: The UDP ports of the node that the chain forwards there.
    """

    network: str
    container_id: str
    family: int
    line: str
    target: str
    source: str
    destination: str = ""
    udp_ports: frozenset[int] = frozenset()

    @property
    def address(self) -> str:
        return str(ipaddress.ip_interface(self.source).ip) if self.source else self.destination

    def remove(self) -> None:
        """Remove the rule as often as it is there, and the chain unless another rule jumps there too.

        The flows to UDP ports that the chain forwarded are forgotten.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        table = iptables.table(self.family, NAT) or Table({}, {})
        times = max(1, table.jumps.get(self.target, []).count(self.line))
        iptables.restore(self.family, {NAT: plan_removal(table, [self.line] * times, [self.target])})
        conntrack.forget_udp(self.family, self.udp_ports, [self.destination] if self.destination else ())


class OrphanChain(t.NamedTuple):
    """A chain of iptables with the name of a container's chain, to which no rule jumps."""

    family: int
    name: str
    rules: t.Sequence[str]

    @property
    def owner(self) -> tuple[str, str]:
        """The network and the container in a comment if the digest in the chain's name confirms them, or empty strings."""
        for rule in self.rules:
            named = firewall_names.owner(iptables.value(iptables.words(rule), "--comment"))
            if named and firewall_names.masquerade_chain(*named) == self.name:
                return named
        return "", ""

    @property
    def addresses(self) -> list[str]:
        """The addresses to which the chain maps ports."""
        return _destinations(self.rules)

    def remove(self) -> None:
        """Remove the chain, and forget the flows to UDP ports that it forwarded.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        iptables.restore(self.family, {NAT: plan_removal(Table({}, {}), (), [self.name])})
        conntrack.forget_udp(self.family, _udp_ports(self.rules), self.addresses)


class AddressRules(t.NamedTuple):
    """The two rules that the plugin firewall makes for an address, each as often as it is there."""

    address: str
    family: int
    rules: tuple[str, ...]

    def remove(self) -> None:
        """Remove the rules in one transaction.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        iptables.restore(self.family, {FILTER: map(iptables.deletion, self.rules)})


def list_jumps(view: NodeView) -> t.Iterator[ContainerJump]:
    """Yield the rules that jump to the chains of containers, of the families that can be listed."""
    for family, table in view.list_tables(NAT):
        for chain in firewall_names.ENTRANCES:
            for jump in find_jumps(family, table, chain):
                if jump.target.startswith(firewall_names.CHAIN_PREFIX):
                    rules = table.rules.get(jump.target, ())
                    destination = next(iter(_destinations(rules)), "")
                    yield jump._replace(destination=destination, udp_ports=_udp_ports(rules))


def find_jumps(
    family: int, table: Table, chain: str, owners: t.Container[tuple[str, str]] | None = None
) -> t.Iterator[ContainerJump]:
    """Yield the rules of a chain whose comments name one of these owners, by default any, without what their targets do.

    Args:
        owners: Pairs of a network and a container.
    """
    for line in table.rules.get(chain, ()):
        if owners is not None and firewall_names.owner_in(line) not in owners:
            continue
        words = iptables.words(line)
        source, target, comment = (iptables.value(words, option) for option in ("-s", "-j", "--comment"))
        named = firewall_names.owner(comment)
        if named is not None and (owners is None or named in owners):
            yield ContainerJump(*named, family, line, target, source)


def list_orphan_chains(view: NodeView) -> t.Iterator[OrphanChain]:
    """Yield the chains of containers to which no rule jumps, of the families that can be listed."""
    for family, table in view.list_tables(NAT):
        for name, rules in table.rules.items():
            if firewall_names.is_container_chain(name) and name not in table.jumps:
                yield OrphanChain(family, name, rules)


def list_address_rules(view: NodeView) -> t.Iterator[AddressRules]:
    """Yield the two rules of each address that has both. A single rule may have been added by hand."""
    for family, table in view.list_tables(FILTER):
        present = collections.Counter(table.rules.get(firewall_names.FORWARD_CHAIN, ()))
        for source in (iptables.value(iptables.words(line), "-s") for line in present):
            try:
                address = ipaddress.ip_interface(source).ip
            except ValueError:
                continue
            host = ContainerAddress(str(address), "", family, address.max_prefixlen)
            to, from_ = (rule.line for rule in address_rules(host))
            if to in present and from_ in present:
                yield AddressRules(host.address, family, (to,) * present[to] + (from_,) * present[from_])


def plan_removal(table: Table, lines: t.Collection[str], chains: t.Iterable[str]) -> list[str]:
    """Return the commands that remove rules, as often as they are given, and the chains to which no other rule jumps then."""
    unused = [chain for chain in chains if all(line in lines for line in table.jumps.get(chain, ()))]
    return [*map(iptables.deletion, lines), *(f"{option} {chain}" for chain in unused for option in ("-F", "-X"))]


def list_nftables(view: NodeView, table: str) -> list[NftRule]:
    """Return the rules with comments, which name their containers, in the tables of nftables with a name.

    Raises:
        CniError: ``IO_FAILURE``: they cannot be listed.
    """
    present = view.require_nftables("", table)
    return present.commented if present else []


def remove_nftables(rules: t.Sequence[NftRule]) -> None:
    """Remove rules of containers in one transaction, and forget the flows to UDP ports that they forwarded.

    Raises:
        CniError: ``IO_FAILURE``, and nothing is removed.
    """
    nftables.remove(*rules)
    for rule in (rule for rule in rules if rule.table == firewall_names.PORTS_TABLE and _UDP in rule.values):
        # The ports of the node and of the container; no other flow leads to the container's address.
        ports = [value for value in rule.values if isinstance(value, int)]
        conntrack.forget_udp(_FAMILIES.get(rule.family, 4), ports, rule.addresses)


def _destinations(rules: t.Iterable[str]) -> list[str]:
    """Return the DNAT addresses of rules."""
    return [match[1] for match in map(_DESTINATION.fullmatch, rules) if match]


def _udp_ports(rules: t.Iterable[str]) -> frozenset[int]:
    """Return the UDP ports of the node that the rules of a chain forward."""
    forwarding = (iptables.words(rule) for rule in rules if _DESTINATION.fullmatch(rule))
    ports = (iptables.value(words, "--dport") for words in forwarding if iptables.value(words, "-p") == _UDP)
    return frozenset(int(port) for port in ports if port.isdecimal())
