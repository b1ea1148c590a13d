# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import lower_keys
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    ContainerAddress,
    FirewallPart,
    IptablesRule,
    NftablesRule,
    NftablesTable,
    join_port,
    quote,
    safe_chain,
)

_SET_MARK: t.Final = "CNI-HOSTPORT-SETMARK"
_MASQUERADE: t.Final = "CNI-HOSTPORT-MASQ"
_DEFAULT_MARK_BIT: t.Final = 13
_PORTS_OF_A_RULE: t.Final = 15
_COMMENT_LENGTH: t.Final = 255
_LOOPBACK: t.Final = "127.0.0.1"
# Conditions are written as they are.
_CONDITION: t.Final = re.compile(r"[A-Za-z0-9 _.,:/!=<>{}@*+-]+")
_PROTOCOL_NUMBERS: t.Final = {"tcp": 6, "udp": 17, "sctp": 132}


class Mapping(t.NamedTuple):
    """A port of the node that is forwarded to a port of a container.

    Attributes:
        host_ip: The node's address whose port is forwarded; None for all addresses.
    """

    host_ip: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    host_port: int
    container_port: int
    protocol: str

    def is_of(self, family: int) -> bool:
        return self.host_ip is None or self.host_ip.version == family

    @property
    def host(self) -> str:
        """The node's address, or an empty string for all addresses."""
        return "" if self.host_ip is None or self.host_ip.is_unspecified else str(self.host_ip)

    def describe(self, address: ContainerAddress) -> str:
        destination = join_port(address.address, self.container_port)
        return f"the rule that maps host port {join_port(self.host, self.host_port)}/{self.protocol} to {destination}"


def parse_mappings(entries: t.Any) -> list[Mapping]:
    """Return the mappings of the capability ``portMappings``, or an empty list if one has an unusual form."""
    try:
        return [_mapping(entry) for entry in entries]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def _mapping(entry: t.Mapping[str, t.Any]) -> Mapping:
    # The plugin reads names without regard to case, and containerd writes them as in Go.
    values = lower_keys(entry)
    host_ip = ipaddress.ip_address(values["hostip"]) if values.get("hostip") else None
    protocol = values["protocol"].lower()
    if not (protocol.isascii() and protocol.isalnum()):
        raise ValueError(protocol)
    return Mapping(host_ip, int(values["hostport"]), int(values["containerport"]), protocol)


def describe_port_mapping(
    attachment: Attachment, address: ContainerAddress, mappings: t.Sequence[Mapping], keys: t.Mapping[str, t.Any]
) -> FirewallPart | None:
    """Return the rules of portmap for one address of a container; None without a port of that family.

    Args:
        keys: The configuration of portmap.
    """
    own = [mapping for mapping in mappings if mapping.is_of(address.family)]
    external_chain = keys.get("externalSetMarkChain")
    if not own or (external_chain and not safe_chain(external_chain)):
        return None
    backend = str(keys.get("backend") or "")
    iptables = _Iptables(attachment, address, mappings, keys).rules()
    return FirewallPart(address.family, backend, tuple(iptables), _nftables(attachment, address, own, keys))


class _Iptables:
    """The rules of portmap in iptables."""

    def __init__(
        self,
        attachment: Attachment,
        address: ContainerAddress,
        mappings: t.Sequence[Mapping],
        keys: t.Mapping[str, t.Any],
    ) -> None:
        self._address = address
        self._mappings = mappings
        self._masquerades = keys.get("snat") is not False
        self._masquerades_all = keys.get("masqAll") is True
        self._external_chain = safe_chain(keys.get("externalSetMarkChain"))
        mark = hex(1 << _mark_bit(keys))
        self._mark = f"{mark}/{mark}"
        self._conditions = _words(keys.get(f"conditionsV{address.family}"))
        self._chain = firewall_names.ports_chain(attachment.network, attachment.container_id)
        comment = f'dnat name: "{attachment.network}" id: "{attachment.container_id}"'
        is_long = len(comment) > _COMMENT_LENGTH
        self._comment = quote(f"{comment[: _COMMENT_LENGTH - 2]}..." if is_long else comment)

    def rules(self) -> list[IptablesRule]:
        rules = [*self._marks(), *self._jumps(), *self._entrances()]
        for mapping in self._mappings:
            if mapping.is_of(self._address.family):
                rules += self._mapping_rules(mapping)
        return rules

    def _marks(self) -> t.Iterator[IptablesRule]:
        """Yield the rules of the chains that mark and masquerade connections from the node and the container itself."""
        if not self._masquerades or self._external_chain:
            return
        lost = "the rules to masquerade connections to mapped ports are gone"
        comment = quote("CNI portfwd masquerade mark")
        text = f"-m comment --comment {comment} -j MARK --set-xmark {self._mark}"
        yield IptablesRule("nat", _SET_MARK, text, lost, is_shared=True)
        text = f"-m comment --comment {quote('CNI portfwd requiring masquerade')} -j {_MASQUERADE}"
        hook = firewall_names.MASQUERADE_HOOK
        yield IptablesRule("nat", hook, text, lost, target=_MASQUERADE, is_first=True, is_shared=True)
        text = f"-m mark --mark {self._mark} -j MASQUERADE"
        yield IptablesRule("nat", _MASQUERADE, text, lost, is_shared=True)

    def _jumps(self) -> t.Iterator[IptablesRule]:
        chain = firewall_names.PORTS_CHAIN
        for hook in firewall_names.PORTS_HOOKS:
            text = f"-m addrtype --dst-type LOCAL -j {chain}"
            yield IptablesRule(
                "nat", hook, text, f"the jump from {hook} to {chain} is gone", target=chain, is_shared=True
            )

    def _entrances(self) -> t.Iterator[IptablesRule]:
        """Yield the jumps to the chain of the container, with at most 15 ports each."""
        family = self._address.family
        for protocol in sorted({mapping.protocol for mapping in self._mappings}):
            # portmap also lists the ports of the other family.
            members = [mapping for mapping in self._mappings if mapping.protocol == protocol]
            for start in range(0, len(members), _PORTS_OF_A_RULE):
                group = members[start : start + _PORTS_OF_A_RULE]
                ports = ",".join(str(mapping.host_port) for mapping in group)
                shown = next((mapping for mapping in group if mapping.is_of(family)), group[0])
                yield IptablesRule(
                    "nat",
                    firewall_names.PORTS_CHAIN,
                    f"-p {protocol} -m comment --comment {self._comment} -m multiport --dports {ports}"
                    f"{self._conditions} -j {self._chain}",
                    f"the jump to {shown.describe(self._address)} is gone",
                    target=self._chain,
                    accepts_more=True,
                    older=(f"-p {protocol} -m multiport --dports {ports} -j {self._chain}",),
                )

    def _mapping_rules(self, mapping: Mapping) -> t.Iterator[IptablesRule]:
        address = self._address
        destination = f"-d {mapping.host}/{address.bits} " if mapping.host else ""
        match = f"{destination}-p {mapping.protocol} -m {mapping.protocol} --dport {mapping.host_port} -j"
        if self._masquerades:
            lost = f"a rule to masquerade connections to the mapped ports of {address.address} is gone"
            target = self._external_chain or _SET_MARK
            sources = [f"-s {address.network} "] + ([f"-s {_LOOPBACK}/32 "] if address.family == 4 else [])
            for source in [""] if self._masquerades_all else sources:
                text, created = f"{source}{match} {target}", "" if self._external_chain else target
                yield IptablesRule("nat", self._chain, text, lost, target=created, is_own_chain=True)
        text = f"{match} DNAT --to-destination {join_port(address.address, mapping.container_port)}"
        yield IptablesRule(
            "nat", self._chain, text, f"{mapping.describe(address)} is gone", is_main=True, is_own_chain=True
        )


def _nftables(
    attachment: Attachment, address: ContainerAddress, mappings: t.Iterable[Mapping], keys: t.Mapping[str, t.Any]
) -> NftablesTable:
    family = "ip" if address.family == 4 else "ip6"
    masquerades = keys.get("snat") is not False
    rules = [_nft_mapping(attachment, address, mapping, family) for mapping in mappings]
    if masquerades:
        rules += _nft_masquerading(attachment, address, family)
    conditions = _words(keys.get(f"conditionsV{address.family}"))
    return NftablesTable(
        family, firewall_names.PORTS_TABLE, _frame(family, conditions.strip(), masquerades), tuple(rules)
    )


def _nft_mapping(attachment: Attachment, address: ContainerAddress, mapping: Mapping, family: str) -> NftablesRule:
    host = f"{family} daddr {mapping.host} " if mapping.host else ""
    destination = join_port(address.address, mapping.container_port)
    values: set[str | int] = {address.address, mapping.host_port, mapping.container_port, *filter(None, [mapping.host])}
    return NftablesRule(
        "hostports",
        f"{host}{mapping.protocol} dport {mapping.host_port} dnat to {destination}",
        attachment.container_id,
        attachment.container_id,
        frozenset(values),
        f"{mapping.describe(address)} is gone",
        is_main=True,
        any_of=frozenset((mapping.protocol, _PROTOCOL_NUMBERS.get(mapping.protocol, mapping.protocol))),
        hooks=("prerouting", "output"),
    )


def _nft_masquerading(attachment: Attachment, address: ContainerAddress, family: str) -> t.Iterator[NftablesRule]:
    own, loopback = frozenset((address.address,)), frozenset((_LOOPBACK,))
    lost = f"a rule to masquerade connections to the mapped ports of {address.address} is gone"
    variants = [(address.address, own, loopback)] + (
        [(_LOOPBACK, own | loopback, frozenset())] if family == "ip" else []
    )
    for source, values, none_of in variants:
        text = f"{family} saddr {source} {family} daddr {address.address} masquerade"
        yield NftablesRule(
            "masquerading",
            text,
            attachment.container_id,
            attachment.container_id,
            values,
            lost,
            none_of=none_of,
            hooks=("postrouting",),
            chain_matters=True,
        )


def _frame(family: str, conditions: str, masquerades: bool) -> tuple[str, ...]:
    place = f"{family} {firewall_names.PORTS_TABLE}"
    commands = [
        f"add table {place}",
        f"add chain {place} hostports",
        f"add chain {place} hostip_hostports",
        f"add chain {place} hostports_all",
        f"flush chain {place} hostports_all",
        f"add rule {place} hostports_all jump hostip_hostports",
        f"add rule {place} hostports_all jump hostports",
    ]
    for hook in ("prerouting", "output"):
        commands += [
            f"add chain {place} {hook} {{ type nat hook {hook} priority -100 ; policy accept ; }}",
            f"flush chain {place} {hook}",
            " ".join(f"add rule {place} {hook} {conditions} fib daddr type local jump hostports_all".split()),
        ]
    if masquerades:
        commands.append(
            f"add chain {place} masquerading {{ type nat hook postrouting priority 100 ; policy accept ; }}"
        )
    return tuple(commands)


def _mark_bit(keys: t.Mapping[str, t.Any]) -> int:
    bit = keys.get("markMasqBit")
    return bit if isinstance(bit, int) and 0 <= bit < 32 else _DEFAULT_MARK_BIT


def _words(conditions: t.Any) -> str:
    """Return conditions of a configuration as text with a leading space, or an empty string."""
    words = conditions if isinstance(conditions, list) else []
    return "".join(f" {word}" for word in words if isinstance(word, str) and _CONDITION.fullmatch(word))


__all__ = ("Mapping", "describe_port_mapping", "parse_mappings")
