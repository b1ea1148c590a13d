# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue, firewall_names

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.iptables import Table
    from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule
    from ansible_collections.cni.node.plugins.module_utils._reference.nft_listing import NftListing

_Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

_PORTS: t.Final = "portMappings"
_NODE_ITSELF: t.Final = "127.0.0.1"
_IPV6: t.Final = 6
# nft shows a protocol by its number where the node does not name it.
_NUMBERS: t.Final = {"tcp": 6, "udp": 17, "sctp": 132}


class Inside(t.NamedTuple):
    """An address of a container.

    Attributes:
        address, network: As the tools print them.
        family: 4 or 6.
        bits: Of an address of this family.
    """

    address: str
    network: str
    family: int
    bits: int


@dataclasses.dataclass(frozen=True)
class Masquerading:
    """That what a container sends from an address goes out with the node's.

    Attributes:
        backend: What the configuration asks for: ``iptables``, ``nftables`` or nothing.
    """

    record: Record
    inside: Inside
    backend: str
    table: t.ClassVar[str] = firewall_names.MASQUERADE_TABLE

    def lost(self, nat: Table) -> str:
        """Say what iptables lacks of it, or nothing."""
        attachment, (address, network, dummy, bits) = self.record.attachment, self.inside
        chain = firewall_names.masquerade_chain(attachment.network, attachment.container_id)
        # Releases before 0.8 had the network here.
        sources = (f" -s {address}/{bits} ", f" -s {network} ")
        entrances = [rule for rule in nat.jumps.get(chain, ()) if any(source in rule for source in sources)]
        if not _from(firewall_names.MASQUERADE_HOOK, entrances):
            return f"the masquerade rule of {address} is gone"
        rules = nat.rules.get(chain, ())
        if not all(any(word in rule for rule in rules) for word in (f" -d {network} ", " -j MASQUERADE")):
            return f"the chain {chain} lacks rules to masquerade {address}"
        return ""

    def lost_in_nft(self, listing: NftListing) -> str:
        """Return what nftables lacks of it, or an empty string."""
        address = self.inside.address
        owned = listing.owned(firewall_names.instance(*self.record.attachment.key))
        rules = [rule for rule in owned if address in rule.values]
        return _unreached(rules, listing, "postrouting") if rules else f"the masquerade rule of {address} is gone"


@dataclasses.dataclass(frozen=True)
class PortMapping:
    """That what is sent to a port of the node goes to a port of a container.

    Attributes:
        host_ip: The node's address that it is for; empty for all.
        backend: What the configuration asks for: ``iptables``, ``nftables`` or nothing.
        masquerades: Whether connections from the node and from the container itself to the port are masqueraded.
    """

    record: Record
    inside: Inside
    host_ip: str
    host_port: int
    container_port: int
    protocol: str
    backend: str
    masquerades: bool = True
    table: t.ClassVar[str] = firewall_names.PORTS_TABLE

    def __str__(self) -> str:
        return f"the rule that maps host port {_joined(self.host_ip, self.host_port)}/{self.protocol} to {self._to}"

    def lost(self, nat: Table) -> str:
        """Say what iptables lacks of it, or nothing."""
        attachment = self.record.attachment
        chain = firewall_names.ports_chain(attachment.network, attachment.container_id)
        if not any(map(self._maps, nat.rules.get(chain, ()))):
            return f"{self} is gone"
        entrances = [rule for rule in nat.jumps.get(chain, ()) if self._leads_here(rule)]
        if not _from(firewall_names.PORTS_CHAIN, entrances):
            return f"the jump to {self} is gone"
        jumps = nat.jumps.get(firewall_names.PORTS_CHAIN, ())
        missing = [hook for hook in firewall_names.PORTS_HOOKS if not _from(hook, jumps)]
        return f"the jump from {missing[0]} to {firewall_names.PORTS_CHAIN} is gone" if missing else ""

    def lost_in_nft(self, listing: NftListing) -> str:
        """Return what nftables lacks of it, or an empty string."""
        wanted = {self.inside.address, self.host_port, self.container_port, *filter(None, [self.host_ip])}
        protocols = {self.protocol, _NUMBERS.get(self.protocol, self.protocol)}
        owned = listing.owned(self.record.attachment.container_id)
        rules = [rule for rule in owned if wanted <= rule.values and not protocols.isdisjoint(rule.values)]
        if not rules:
            return f"{self} is gone"
        lost = next(filter(None, (_unreached(rules, listing, hook) for hook in ("prerouting", "output"))), "")
        return lost or (self._lost_masquerading(owned, listing) if self.masquerades else "")

    def _lost_masquerading(self, owned: t.Iterable[NftRule], listing: NftListing) -> str:
        """Return which rules for connections of the container to itself, and of the node to it, are missing."""
        found = [
            rule for rule in owned if self.inside.address in rule.values and listing.is_entered(rule, "postrouting")
        ]
        from_node = [_NODE_ITSELF in rule.values for rule in found]
        is_complete = False in from_node and (True in from_node or self.inside.family == _IPV6)
        return (
            ""
            if is_complete
            else f"a rule to masquerade connections to the mapped ports of {self.inside.address} is gone"
        )

    @property
    def _to(self) -> str:
        return _joined(self.inside.address, self.container_port)

    def _maps(self, rule: str) -> bool:
        is_for_it = f" -d {self.host_ip}/" in rule if self.host_ip else " -d " not in rule
        words = (f" -p {self.protocol} ", f" --dport {self.host_port} ")
        return is_for_it and all(word in rule for word in words) and rule.endswith(f" --to-destination {self._to}")

    def _leads_here(self, rule: str) -> bool:
        ports = rule.partition(" --dports ")[2].partition(" ")[0].split(",")
        return f" -p {self.protocol} " in rule and str(self.host_port) in ports


@dataclasses.dataclass(frozen=True)
class SpoofChecking:
    """That what a container sends from another MAC than its own is dropped; bridge does so by nftables only.

    Attributes:
        ports: The interfaces of the node that the result names; none in an old one.
        mac: The container's; empty where another plugin may have changed it since.
    """

    record: Record
    ports: frozenset[str]
    mac: str
    table: t.ClassVar[str] = firewall_names.SPOOF_TABLE

    def lost_in_nft(self, listing: NftListing) -> str:
        """Return what nftables lacks of it, or an empty string."""
        owner = firewall_names.spoof_owner(*self.record.attachment.key[1:])
        chain, of_macs = firewall_names.spoof_chains(owner)
        rules = listing.owned(f"{firewall_names.SPOOF_COMMENT_PREFIX}{owner}")
        jumps = [rule for rule in rules if chain in rule.targets and (not self.ports or self.ports & rule.values)]
        if not any(listing.is_entered(rule, "prerouting") for rule in jumps):
            return f"the rule that leads to the chain {chain} is gone"
        checks = [rule for rule in rules if rule.chain == of_macs]
        is_led_on = any(rule.chain == chain and of_macs in rule.targets for rule in rules)
        lets_pass = any((self.mac or "ether") in rule.values for rule in checks)
        return "" if is_led_on and lets_pass and len(checks) > 1 else f"the chain {chain} lacks rules to check MACs"


Promise = t.Union[Masquerading, PortMapping, SpoofChecking]


def promises(record: Record, network: NetworkConfiguration) -> list[Promise]:
    """Return what plugins have told the node's firewall to do for an attachment.

    Args:
        network: The configuration that is recorded.

    Raises:
        CniError: The result cannot be used.
    """
    masquerading = [
        one for one in network.plugins if catalogue.row(one.type).masquerades and one.keys.get("ipMasq") is True
    ]
    mapping = [one for one in network.plugins if catalogue.row(one.type).maps_ports and _PORTS in one.capabilities]
    checking = any(
        catalogue.row(one.type).checks_macs and one.keys.get("macspoofchk") is True for one in network.plugins
    )
    ports = record.attachment.capability_args.get(_PORTS)
    if record.result is None or not (masquerading or checking or (mapping and ports)):
        return []
    result = record.result.to("1.1.0").keys
    interfaces = _of_the_container(result, record.attachment.ifname)
    found: list[Promise] = [
        Masquerading(record, one, _backend(plugin, "ipMasqBackend")) for plugin in masquerading for one in interfaces
    ]
    firsts: dict[int, Inside] = {}
    for one in interfaces:
        firsts.setdefault(one.family, one)
    for plugin in mapping:
        for one in firsts.values():  # portmap takes one of each family
            found += _mappings(record, one, ports, plugin)
    return [*found, _spoof_checking(record, result, network)] if checking else found


def _spoof_checking(record: Record, result: t.Mapping[str, t.Any], network: NetworkConfiguration) -> SpoofChecking:
    interfaces = result.get("interfaces") or ()
    ports = frozenset(one["name"] for one in interfaces if one.get("name") and not one.get("sandbox"))
    own = [one for one in interfaces if one.get("sandbox") and one.get("name") == record.attachment.ifname]
    is_final = not any(catalogue.row(plugin.type).tunes_interface for plugin in network.plugins)
    return SpoofChecking(record, ports, str(own[0].get("mac") or "").lower() if own and is_final else "")


def _mappings(record: Record, inside: Inside, ports: t.Any, plugin: PluginConfiguration) -> list[PortMapping]:
    """Return the mappings to an address; none where one is written as only portmap itself can read it."""
    found = []
    how = _backend(plugin, "backend"), plugin.keys.get("snat") is not False
    try:
        for entry in ports:
            given = entry.get("hostIP")
            host_ip = ipaddress.ip_address(given) if given else None
            if host_ip is None or host_ip.version == inside.family:
                host = "" if host_ip is None or host_ip.is_unspecified else str(host_ip)
                numbers = int(entry["hostPort"]), int(entry["containerPort"])
                found.append(PortMapping(record, inside, host, *numbers, entry["protocol"].lower(), *how))
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
    return found


def _of_the_container(result: t.Mapping[str, t.Any], ifname: str) -> list[Inside]:
    """Return the addresses of its interface, and those that are not said to be any interface's."""
    interfaces = dict(enumerate(result.get("interfaces") or ()))
    found = []
    for ip in result.get("ips") or ():
        one = interfaces.get(ip.get("interface"))
        if one is None or (one.get("name") == ifname and one.get("sandbox")):
            inside = ipaddress.ip_interface(ip["address"])
            found.append(Inside(str(inside.ip), _text(inside.network), inside.version, inside.max_prefixlen))
    return found


# Most attachments of a node have the same.
@functools.lru_cache(maxsize=64)
def _text(network: _Network) -> str:
    return str(network)


def _unreached(rules: t.Sequence[NftRule], listing: NftListing, hook: str) -> str:
    """Return the jump that is missing where the kernel does not come to any of these rules, or an empty string."""
    if any(listing.is_entered(rule, hook) for rule in rules):
        return ""
    return f"the jump from {hook} to the chain {rules[0].chain} of {rules[0].family} {rules[0].table} is gone"


def _backend(plugin: PluginConfiguration, key: str) -> str:
    return str(plugin.keys.get(key) or "")


def _from(chain: str, rules: t.Iterable[str]) -> bool:
    return any(rule.startswith(f"-A {chain} ") for rule in rules)


def _joined(address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}" if host else str(port)


__all__ = ("Inside", "Masquerading", "PortMapping", "Promise", "SpoofChecking", "promises")
