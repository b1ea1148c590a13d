# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.iptables import Table
    from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule, NftTable


class NftListing:
    """The tables of one name in all families, indexed by the owners of their rules."""

    def __init__(self, tables: t.Iterable[NftTable]) -> None:
        self._tables = {table.family: table for table in tables}
        self._reached: dict[tuple[str, str], frozenset[str]] = {}
        self._rules_by_owner: dict[str, list[NftRule]] = {}
        for table in self._tables.values():
            for rule in (rule for rule in table.rules if rule.comment):
                self._rules_by_owner.setdefault(_key(rule.comment), []).append(rule)

    def rules_of(self, owner: str) -> list[NftRule]:
        """Return the rules whose comment is an owner, or begins with an owner and a comma."""
        rules = self._rules_by_owner.get(_key(owner), ())
        return [rule for rule in rules if f"{rule.comment},".startswith(f"{owner},")]

    def is_entered(self, rule: NftRule, hook: str) -> bool:
        """Return whether the kernel reaches the chain of a rule from a hook, such as ``prerouting``."""
        key = (rule.family, hook)
        if key not in self._reached:
            self._reached[key] = self._tables[rule.family].reached_from(hook)
        return rule.chain in self._reached[key]


def _key(comment: str) -> str:
    return comment.partition(",")[0]


_LOOPBACK: t.Final = "127.0.0.1"
_IPV6: t.Final = 6
# nft prints the number of a protocol whose name the node does not know.
_PROTOCOL_NUMBERS: t.Final = {"tcp": 6, "udp": 17, "sctp": 132}


class ContainerAddress(t.NamedTuple):
    """An address of a container.

    Attributes:
        address, network: As iptables and nft print them.
        family: 4 or 6.
        bits: The length of an address of this family.
    """

    address: str
    network: str
    family: int
    bits: int


@dataclasses.dataclass(frozen=True)
class Masquerading:
    """Rules that replace a container's source address by the node's.

    Attributes:
        backend: The backend in the configuration: ``iptables``, ``nftables`` or an empty string.
    """

    record: Record
    address: ContainerAddress
    backend: str
    table: t.ClassVar[str] = firewall_names.MASQUERADE_TABLE

    def drift_in_iptables(self, nat: Table) -> str:
        """Return which rule is missing in iptables, or an empty string."""
        attachment, (address, network, dummy, bits) = self.record.attachment, self.address
        chain = firewall_names.masquerade_chain(attachment.network, attachment.container_id)
        # Releases before 0.8 match the network instead of the address.
        sources = (f" -s {address}/{bits} ", f" -s {network} ")
        entrances = [rule for rule in nat.jumps.get(chain, ()) if any(source in rule for source in sources)]
        if not _has_rule_in_chain(firewall_names.MASQUERADE_HOOK, entrances):
            return self._missing
        rules = nat.rules.get(chain, ())
        if not all(any(word in rule for rule in rules) for word in (f" -d {network} ", " -j MASQUERADE")):
            return f"the chain {chain} lacks rules to masquerade {address}"
        return ""

    def drift_in_nftables(self, listing: NftListing) -> str:
        """Return which rule is missing in nftables, or an empty string."""
        comment = firewall_names.instance(*self.record.attachment.key)
        rules = [rule for rule in listing.rules_of(comment) if self.address.address in rule.values]
        return _missing_jump(rules, listing, "postrouting") if rules else self._missing

    @property
    def _missing(self) -> str:
        return f"the masquerade rule of {self.address.address} is gone"


@dataclasses.dataclass(frozen=True)
class PortMapping:
    """Rules that forward a port of the node to a port of a container.

    Attributes:
        host_ip: The node's address whose port is forwarded; empty for all addresses.
        backend: The backend in the configuration: ``iptables``, ``nftables`` or an empty string.
        masquerades: Whether connections from the node and from the container itself to the port are masqueraded.
    """

    record: Record
    address: ContainerAddress
    host_ip: str
    host_port: int
    container_port: int
    protocol: str
    backend: str
    masquerades: bool = True
    table: t.ClassVar[str] = firewall_names.PORTS_TABLE

    def __str__(self) -> str:
        host = _join(self.host_ip, self.host_port)
        return f"the rule that maps host port {host}/{self.protocol} to {self._destination}"

    def drift_in_iptables(self, nat: Table) -> str:
        """Return which rule is missing in iptables, or an empty string."""
        attachment = self.record.attachment
        chain = firewall_names.ports_chain(attachment.network, attachment.container_id)
        if not any(map(self._is_mapping, nat.rules.get(chain, ()))):
            return f"{self} is gone"
        entrances = [rule for rule in nat.jumps.get(chain, ()) if self._is_entrance(rule)]
        if not _has_rule_in_chain(firewall_names.PORTS_CHAIN, entrances):
            return f"the jump to {self} is gone"
        jumps = nat.jumps.get(firewall_names.PORTS_CHAIN, ())
        missing = [hook for hook in firewall_names.PORTS_HOOKS if not _has_rule_in_chain(hook, jumps)]
        return f"the jump from {missing[0]} to {firewall_names.PORTS_CHAIN} is gone" if missing else ""

    def drift_in_nftables(self, listing: NftListing) -> str:
        """Return which rule is missing in nftables, or an empty string."""
        values = {self.address.address, self.host_port, self.container_port, *filter(None, [self.host_ip])}
        protocols = {self.protocol, _PROTOCOL_NUMBERS.get(self.protocol, self.protocol)}
        container_rules = listing.rules_of(self.record.attachment.container_id)
        rules = [rule for rule in container_rules if values <= rule.values and not protocols.isdisjoint(rule.values)]
        if not rules:
            return f"{self} is gone"
        missing_jumps = (_missing_jump(rules, listing, hook) for hook in ("prerouting", "output"))
        drift = next(filter(None, missing_jumps), "")
        return drift or (self._missing_masquerading(container_rules, listing) if self.masquerades else "")

    def _missing_masquerading(self, container_rules: t.Iterable[NftRule], listing: NftListing) -> str:
        """Return a message if a rule for connections from the node or the container itself is missing, or an empty string."""
        address = self.address.address
        rules = [rule for rule in container_rules if address in rule.values and listing.is_entered(rule, "postrouting")]
        from_node = [_LOOPBACK in rule.values for rule in rules]
        if False in from_node and (True in from_node or self.address.family == _IPV6):
            return ""
        return f"a rule to masquerade connections to the mapped ports of {address} is gone"

    @property
    def _destination(self) -> str:
        return _join(self.address.address, self.container_port)

    def _is_mapping(self, rule: str) -> bool:
        has_host_ip = f" -d {self.host_ip}/" in rule if self.host_ip else " -d " not in rule
        words = (f" -p {self.protocol} ", f" --dport {self.host_port} ")
        end = f" --to-destination {self._destination}"
        return has_host_ip and all(word in rule for word in words) and rule.endswith(end)

    def _is_entrance(self, rule: str) -> bool:
        ports = rule.partition(" --dports ")[2].partition(" ")[0].split(",")
        return f" -p {self.protocol} " in rule and str(self.host_port) in ports


@dataclasses.dataclass(frozen=True)
class SpoofChecking:
    """Rules that drop packets of a container with a foreign source MAC. The plugin bridge uses nftables only.

    Attributes:
        ports: The node's interfaces in the result; empty for an old result.
        mac: The container's MAC; empty if another plugin may have changed it since.
    """

    record: Record
    ports: frozenset[str]
    mac: str
    table: t.ClassVar[str] = firewall_names.SPOOF_TABLE

    def drift_in_nftables(self, listing: NftListing) -> str:
        """Return which rule is missing in nftables, or an empty string."""
        owner = firewall_names.spoof_owner(*self.record.attachment.key[1:])
        chain, mac_chain = firewall_names.spoof_chains(owner)
        rules = listing.rules_of(f"{firewall_names.SPOOF_COMMENT_PREFIX}{owner}")
        jumps = [rule for rule in rules if chain in rule.targets and (not self.ports or self.ports & rule.values)]
        if not any(listing.is_entered(rule, "prerouting") for rule in jumps):
            return f"the rule that leads to the chain {chain} is gone"
        checks = [rule for rule in rules if rule.chain == mac_chain]
        has_jump = any(rule.chain == chain and mac_chain in rule.targets for rule in rules)
        accepts_mac = any((self.mac or "ether") in rule.values for rule in checks)
        is_complete = has_jump and accepts_mac and len(checks) > 1
        return "" if is_complete else f"the chain {chain} lacks rules to check MACs"


ExpectedRule = t.Union[Masquerading, PortMapping, SpoofChecking]


def _missing_jump(rules: t.Sequence[NftRule], listing: NftListing, hook: str) -> str:
    """Return which jump is missing if the kernel reaches none of these rules, or an empty string."""
    if any(listing.is_entered(rule, hook) for rule in rules):
        return ""
    return f"the jump from {hook} to the chain {rules[0].chain} of {rules[0].family} {rules[0].table} is gone"


def _has_rule_in_chain(chain: str, rules: t.Iterable[str]) -> bool:
    return any(rule.startswith(f"-A {chain} ") for rule in rules)


def _join(address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}" if host else str(port)


__all__ = ("ContainerAddress", "ExpectedRule", "Masquerading", "NftListing", "PortMapping", "SpoofChecking")
