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
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import ContainerAddress
from ansible_collections.cni.node.plugins.module_utils._reference.rules.forwarding import address_rules
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import HOST_END

NAT = "nat"
FILTER = "filter"

_DESTINATION = re.compile(r".* --to-destination \[?([0-9a-f.:]+?)\]?:\d+", re.DOTALL)
_STAGE_1, _STAGE_2 = firewall_names.ISOLATION_CHAINS
# Releases differ in the policies that the comment names.
_ISOLATION = re.compile(
    rf"-A (?:{_STAGE_1} -i (\S+) (?:! )?-o \1|{_STAGE_2} -o \S+)"
    rf' -m comment --comment "CNI firewall plugin rules \(ingressPolicy: [a-z|-]+\)" -j (?:DROP|{_STAGE_2})'
)
_UDP = "udp"
_FAMILIES = {"ip": 4, "ip6": 6}


class ContainerChain(t.NamedTuple):
    """The chain of a container in iptables, with a rule that jumps to it.

    Attributes:
        line: The rule, as iptables-save prints it; an empty string if no rule jumps to the chain.
        destinations: The addresses to which the chain maps ports.
        udp_ports: The UDP ports of the node that the chain forwards there.
    """

    family: int
    name: str
    line: str
    destinations: tuple[str, ...]
    udp_ports: frozenset[int]


class MappedPorts(t.NamedTuple):
    """The rules of a container's chain that map ports to some of its addresses."""

    family: int
    chain: str
    addresses: frozenset[str]


class FilterRules(t.NamedTuple):
    """Rules that the plugin firewall makes for an address or a link, each as often as it is there."""

    family: int
    rules: tuple[str, ...]


def list_jumps(
    view: NodeView,
    owners: t.Container[t.Hashable] | None = None,
    *,
    family: int,
    hooks: t.Sequence[str] = firewall_names.ENTRANCES,
) -> t.Iterator[OwnedItem]:
    """Yield the rules whose comments name the container to whose chain they jump, by default those of all containers.

    A rule belongs to the network and the container, and is removed with its chain, unless another rule jumps there too.

    Args:
        owners: Pairs of a network and a container.
        hooks: The chains with the rules.

    Raises:
        CniError: ``IO_FAILURE``: they cannot be listed.
    """
    table = _nat(view, family)
    for line in (line for hook in hooks for line in table.rules.get(hook, ())):
        if owners is not None and firewall_names.owner_in(line) not in owners:
            continue
        words = iptables.words(line)
        source, target, comment = (iptables.value(words, option) for option in ("-s", "-j", "--comment"))
        named = firewall_names.owner(comment)
        if named is not None and (owners is None or named in owners):
            chain = _chain(family, target, line, table)
            addresses = (source.partition("/")[0],) if source else chain.destinations
            yield _chain_item(chain, named, *named, addresses, _explain_comment(named[1]))


def list_orphans(
    view: NodeView, owners: t.Container[t.Hashable] | None = None, *, family: int
) -> t.Iterator[OwnedItem]:
    """Yield the chains of containers to which no rule jumps; they belong to the attachments that have chains of these names.

    Args:
        owners: The names of chains; all by default.

    Raises:
        CniError: ``IO_FAILURE``: they cannot be listed.
    """
    table = _nat(view, family)
    for name in table.rules if owners is None else (name for name in table.rules if name in owners):
        if firewall_names.is_container_chain(name) and name not in table.jumps:
            chain = _chain(family, name, "", table)
            evidence = "no rule jumps to it, and no recorded attachment has a chain of this name"
            yield _chain_item(chain, name, *_find_owner(name, table), chain.destinations, evidence)


def list_chains(view: NodeView, owners: t.AbstractSet[t.Hashable], *, family: int) -> t.Iterator[OwnedItem]:
    """Yield the chains with these names, each once for every rule that jumps to it, or once if none does.

    Raises:
        CniError: ``IO_FAILURE``: they cannot be listed; ``NOT_AVAILABLE``: the kernel has one, but the node lacks the tool.
    """
    present = view.require_iptables(family, NAT)
    if present is None:
        iptables.require_no_chain(family, NAT, owners.__contains__)
        return
    for name in owners:
        if name in present.table.rules:
            for line in present.table.jumps.get(name) or ("",):
                yield _chain_item(ContainerChain(family, name, line, (), frozenset()), name, "", "", (), "")


def list_address_rules(view: NodeView) -> t.Iterator[OwnedItem]:
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
                rules = FilterRules(family, (to,) * present[to] + (from_,) * present[from_])
                tool = iptables.tool(family)
                yield OwnedItem(
                    host.address,
                    f"{tool} {FILTER} {firewall_names.FORWARD_CHAIN}: {host.address}",
                    "no runtime has a record of an attachment with this address",
                    rules,
                    rules,
                    _remove_filter_rules,
                    tool,
                    addresses=(host.address,),
                )


def list_isolated_links(view: NodeView, owners: t.Container[t.Hashable] | None = None) -> t.Iterator[OwnedItem]:
    """Yield the rules that isolate the node's end of one container's pair.

    The plugin firewall isolates the first interface of a result. With ptp, that is no bridge, which containers share.

    Args:
        owners: The names of links; all by default.
    """
    for family, table in view.list_tables(FILTER):
        by_link: dict[str, list[str]] = {}
        for line in (line for chain in firewall_names.ISOLATION_CHAINS for line in table.rules.get(chain, ())):
            link = iptables.value(iptables.words(line), "-o") if _ISOLATION.fullmatch(line) else ""
            if HOST_END.fullmatch(link) and (owners is None or link in owners):
                by_link.setdefault(link, []).append(line)
        tool, chains = iptables.tool(family), "/".join(firewall_names.ISOLATION_CHAINS)
        for link, lines in by_link.items():
            rules = FilterRules(family, tuple(lines))
            subject, evidence = f"{tool} {FILTER} {chains}: {link}", "no attachment has a link of this name"
            yield OwnedItem(link, subject, evidence, rules, rules, _remove_filter_rules, tool)


def list_nftables(view: NodeView, owners: t.Iterable[t.Hashable] | None = None, *, table: str) -> t.Iterator[OwnedItem]:
    """Yield the rules with comments, which name their containers, in the tables of nftables with a name.

    Args:
        owners: The first words of comments, up to the first comma; all by default.

    Raises:
        CniError: ``IO_FAILURE``: they cannot be listed.
    """
    present = view.require_nftables("", table)
    if present is None:
        return
    rules = present.commented if owners is None else [rule for owner in owners for rule in present.find_owned(owner)]
    if not all(rule.handle for rule in rules):  # written in this run
        yield from list_nftables(NodeView(with_handles=True), owners, table=table)
        return
    for rule in rules:
        named = firewall_names.parse_instance(rule.comment) if table == firewall_names.MASQUERADE_TABLE else None
        dummy, network, container_id = named or ("", "", rule.comment)
        yield OwnedItem(
            rule.comment.partition(",")[0],
            f"nft {rule.family} {rule.table}: {rule.comment}",
            _explain_comment(container_id),
            rule,
            # Without counters.
            (rule.family, rule.table, rule.chain, rule.handle, rule.comment, rule.addresses),
            _remove_nftables,
            "nft",
            network,
            (container_id,),
            rule.addresses,
        )


def plan_removal(table: Table, lines: t.Collection[str], chains: t.Iterable[str]) -> list[str]:
    """Return the commands that remove rules, as often as they are given, and the chains to which no other rule jumps then."""
    unused = [chain for chain in chains if all(line in lines for line in table.jumps.get(chain, ()))]
    return [*map(iptables.deletion, lines), *(f"{option} {chain}" for chain in unused for option in ("-F", "-X"))]


def remove_mapped_ports(parts: t.Sequence[MappedPorts], view: NodeView) -> None:
    """Remove rules that map ports, and each chain that then maps no port, with all jumps to it."""
    table = _nat(view, parts[0].family)
    addresses: dict[str, set[str]] = {}
    for part in parts:
        addresses.setdefault(part.chain, set()).update(part.addresses)
    commands = [command for chain, own in addresses.items() for command in _plan_unmapping(table, chain, own)]
    if commands:
        iptables.restore(parts[0].family, {NAT: commands})


def _plan_unmapping(table: Table, chain: str, addresses: t.Container[str]) -> list[str]:
    rules, jumps = table.rules.get(chain, ()), table.jumps.get(chain, ())
    destinations = {rule: match[1] for rule, match in ((rule, _DESTINATION.fullmatch(rule)) for rule in rules) if match}
    own = {_match(rule) for rule, address in destinations.items() if address in addresses}
    others = {_match(rule) for rule, address in destinations.items() if address not in addresses}
    if not others:
        return plan_removal(table, jumps, [chain])
    # A rule without a destination marks the connections to a mapped port.
    lines = [
        rule
        for rule in rules
        if (destinations[rule] in addresses if rule in destinations else _match(rule) in own - others)
    ]
    own_ports, other_ports = ({(protocol, port) for dummy, protocol, port in matches} for matches in (own, others))
    lines += [jump for jump in jumps if own_ports & _ports(jump) and not other_ports & _ports(jump)]
    return plan_removal(table, lines, ())


def _match(rule: str) -> tuple[str, str, str]:
    """Return the address, the protocol and the port of the node that a rule is for."""
    words = iptables.words(rule)
    return iptables.value(words, "-d"), iptables.value(words, "-p"), iptables.value(words, "--dport")


def _ports(jump: str) -> set[tuple[str, str]]:
    words = iptables.words(jump)
    return {(iptables.value(words, "-p"), port) for port in iptables.value(words, "--dports").split(",")}


def _nat(view: NodeView, family: int) -> Table:
    present = view.require_iptables(family, NAT)
    return present.table if present else Table({}, {})


def _chain(family: int, name: str, line: str, table: Table) -> ContainerChain:
    rules = table.rules.get(name, ())
    destinations = (match[1] for match in map(_DESTINATION.fullmatch, rules) if match)
    forwarding = (iptables.words(rule) for rule in rules if _DESTINATION.fullmatch(rule))
    ports = (iptables.value(words, "--dport") for words in forwarding if iptables.value(words, "-p") == _UDP)
    udp_ports = frozenset(int(port) for port in ports if port.isdecimal())
    return ContainerChain(family, name, line, tuple(dict.fromkeys(destinations)), udp_ports)


def _chain_item(
    chain: ContainerChain,
    owner: t.Hashable,
    network: str,
    container_id: str,
    addresses: tuple[str, ...],
    evidence: str,
) -> OwnedItem:
    tool = iptables.tool(chain.family)
    subject, ids = f"{tool} {NAT} {chain.name}", (container_id,) if container_id else ()
    return OwnedItem(owner, subject, evidence, chain, chain, _remove_chains, tool, network, ids, addresses)


def _explain_comment(container_id: str) -> str:
    return f"no runtime has a record of container {container_id}, which its comment names"


def _find_owner(chain: str, table: Table) -> tuple[str, str]:
    """Return the network and the container in a comment if the digest in the chain's name confirms them, or empty strings."""
    for rule in table.rules[chain]:
        named = firewall_names.owner(iptables.value(iptables.words(rule), "--comment"))
        if named and firewall_names.masquerade_chain(*named) == chain:
            return named
    return "", ""


def _remove_chains(chains: t.Sequence[ContainerChain], view: NodeView) -> None:
    """Remove each rule as often as it is there, and the chains to which no other rule jumps.

    The flows to UDP ports that the chains forwarded are forgotten.
    """
    family = chains[0].family
    jumps = {chain.line: chain.name for chain in chains if chain.line}
    table = _nat(view, family) if jumps else Table({}, {})
    lines = [line for line, name in jumps.items() for dummy in range(max(1, table.jumps.get(name, []).count(line)))]
    own = dict.fromkeys(chain.name for chain in chains if firewall_names.is_container_chain(chain.name))
    iptables.restore(family, {NAT: plan_removal(table, lines, own)})
    for chain in chains:
        conntrack.forget_udp(family, chain.udp_ports, chain.destinations)


def _remove_filter_rules(groups: t.Sequence[FilterRules], dummy: NodeView) -> None:
    iptables.restore(groups[0].family, {FILTER: [iptables.deletion(rule) for group in groups for rule in group.rules]})


def _remove_nftables(rules: t.Sequence[NftRule], dummy: NodeView) -> None:
    """Remove rules, and forget the flows to UDP ports that they forwarded."""
    nftables.remove(*rules)
    for rule in (rule for rule in rules if rule.table == firewall_names.PORTS_TABLE and _UDP in rule.values):
        # The ports of the node and of the container; no other flow leads to the container's address.
        ports = [value for value in rule.values if isinstance(value, int)]
        conntrack.forget_udp(_FAMILIES.get(rule.family, 4), ports, rule.addresses)
