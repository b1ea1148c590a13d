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
from ansible_collections.cni.node.plugins.module_utils._node import rule_names

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.iptables import Table
    from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule

_Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
_Object = t.Mapping[str, t.Any]

_MASQUERADES: t.Final = frozenset(("bridge", "ptp"))
_MAPS_PORTS: t.Final = "portmap"
_PORTS: t.Final = "portMappings"
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
    table: t.ClassVar[str] = rule_names.MASQUERADE_TABLE

    def lost(self, nat: Table) -> str:
        """Say what iptables lacks of it, or nothing."""
        attachment, (address, network, dummy, bits) = self.record.attachment, self.inside
        chain = rule_names.masquerade_chain(attachment.network, attachment.container_id)
        # Releases before 0.8 had the network here.
        sources = (f" -s {address}/{bits} ", f" -s {network} ")
        entrances = [rule for rule in nat.jumps.get(chain, ()) if any(source in rule for source in sources)]
        if not _from(rule_names.MASQUERADE_HOOK, entrances):
            return f"the masquerade rule of {address} is gone"
        rules = nat.rules.get(chain, ())
        if not all(any(word in rule for rule in rules) for word in (f" -d {network} ", " -j MASQUERADE")):
            return f"the chain {chain} lacks rules to masquerade {address}"
        return ""

    def lost_in_nft(self, rules: t.Mapping[str, t.Sequence[NftRule]]) -> str:
        """Say what nftables lacks of it, or nothing."""
        address = self.inside.address
        found = rules.get(rule_names.instance(*self.record.attachment.key), ())
        return "" if any(address in rule.values for rule in found) else f"the masquerade rule of {address} is gone"


@dataclasses.dataclass(frozen=True)
class PortMapping:
    """That what is sent to a port of the node goes to a port of a container.

    Attributes:
        host_ip: The node's address that it is for; empty for all.
        backend: What the configuration asks for: ``iptables``, ``nftables`` or nothing.
    """

    record: Record
    inside: Inside
    host_ip: str
    host_port: int
    container_port: int
    protocol: str
    backend: str
    table: t.ClassVar[str] = rule_names.PORTS_TABLE

    def __str__(self) -> str:
        return f"the rule that maps host port {_joined(self.host_ip, self.host_port)}/{self.protocol} to {self._to}"

    def lost(self, nat: Table) -> str:
        """Say what iptables lacks of it, or nothing."""
        attachment = self.record.attachment
        chain = rule_names.ports_chain(attachment.network, attachment.container_id)
        if not any(map(self._maps, nat.rules.get(chain, ()))):
            return f"{self} is gone"
        entrances = [rule for rule in nat.jumps.get(chain, ()) if self._leads_here(rule)]
        if not _from(rule_names.PORTS_CHAIN, entrances):
            return f"the jump to {self} is gone"
        jumps = nat.jumps.get(rule_names.PORTS_CHAIN, ())
        missing = [hook for hook in rule_names.PORTS_HOOKS if not _from(hook, jumps)]
        return f"the jump from {missing[0]} to {rule_names.PORTS_CHAIN} is gone" if missing else ""

    def lost_in_nft(self, rules: t.Mapping[str, t.Sequence[NftRule]]) -> str:
        """Say what nftables lacks of it, or nothing."""
        wanted = {self.inside.address, self.host_port, self.container_port, *filter(None, [self.host_ip])}
        protocols = {self.protocol, _NUMBERS.get(self.protocol, self.protocol)}
        found = rules.get(self.record.attachment.container_id, ())
        is_there = any(wanted <= rule.values and not protocols.isdisjoint(rule.values) for rule in found)
        return "" if is_there else f"{self} is gone"

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


Promise = t.Union[Masquerading, PortMapping]


def promises(record: Record, network: NetworkConfiguration) -> list[Promise]:
    """Return what plugins have told the node's firewall to do for an attachment.

    Args:
        network: The configuration that is recorded.

    Raises:
        CniError: The result cannot be used.
    """
    masquerading = [one for one in network.plugins if one.type in _MASQUERADES and one.keys.get("ipMasq") is True]
    mapping = [one for one in network.plugins if one.type == _MAPS_PORTS and _PORTS in one.capabilities]
    ports = record.attachment.capability_args.get(_PORTS)
    if record.result is None or (not masquerading and not (mapping and ports)):
        return []
    interfaces = _of_the_container(record.result.to("1.1.0").keys, record.attachment.ifname)
    found: list[Promise] = [
        Masquerading(record, one, _backend(plugin, "ipMasqBackend")) for plugin in masquerading for one in interfaces
    ]
    firsts: dict[int, Inside] = {}
    for one in interfaces:
        firsts.setdefault(one.family, one)
    for plugin in mapping:
        for one in firsts.values():  # portmap takes one of each family
            found += _mappings(record, one, ports, _backend(plugin, "backend"))
    return found


def _mappings(record: Record, inside: Inside, ports: t.Any, backend: str) -> list[PortMapping]:
    """Return the mappings to an address; none where one is written as only portmap itself can read it."""
    found = []
    try:
        for entry in ports:
            given = entry.get("hostIP")
            host_ip = ipaddress.ip_address(given) if given else None
            if host_ip is None or host_ip.version == inside.family:
                host = "" if host_ip is None or host_ip.is_unspecified else str(host_ip)
                numbers = int(entry["hostPort"]), int(entry["containerPort"])
                found.append(PortMapping(record, inside, host, *numbers, entry["protocol"].lower(), backend))
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
    return found


def _of_the_container(result: _Object, ifname: str) -> list[Inside]:
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


def _backend(plugin: PluginConfiguration, key: str) -> str:
    return str(plugin.keys.get(key) or "")


def _from(chain: str, rules: t.Iterable[str]) -> bool:
    return any(rule.startswith(f"-A {chain} ") for rule in rules)


def _joined(address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}" if host else str(port)


__all__ = ("Inside", "Masquerading", "PortMapping", "Promise", "promises")
