# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rules with which portmap forwards ports of the node, and what it reads for them."""

from __future__ import annotations

import functools
import ipaddress
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    IPTABLES,
    NFTABLES,
    ContainerAddress,
    FirewallPart,
    IptablesRule,
    NftablesRule,
    NftablesTable,
    Purpose,
    join_port,
    quote,
    quote_word,
    read_backend,
    read_chain,
)

_SET_MARK = "CNI-HOSTPORT-SETMARK"
_MASQUERADE = "CNI-HOSTPORT-MASQ"
_DEFAULT_MARK_BIT = 13
_PORTS_OF_A_RULE = 15
_COMMENT_LENGTH = 255
_LOOPBACK = "127.0.0.1"
_ANY_ADDRESS = {"ip": "0.0.0.0/0", "ip6": "::/0"}
_LAST_BIT = 31
_LAST_PORT = 65535
# A character that would end the statement or the line in the syntax of nft may stand only between double quotes.
_NFT_CONDITIONS = re.compile(r'(?:[^"\x00-\x1f\x7f;#\\\'$`]|"[^"\x00-\x1f\x7f]*")+')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_IPTABLES_SIGNS = ("-", "!")
_UDP = "udp"
_PROTOCOL_NUMBERS = {"tcp": 6, _UDP: 17, "sctp": 132}


class Mapping(t.NamedTuple):
    """A port of the node that is forwarded to a port of a container.

    Attributes:
        host_ip: The node's address whose port is forwarded; None for all addresses.
    """

    host_ip: IpAddress | None
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


class PortmapConfig(t.NamedTuple):
    """The configuration of portmap.

    Attributes:
        backend: The configured backend, or the one that knows the conditions; empty for the plugin's choice.
        masquerades, masquerades_all: The values of ``snat`` and ``masqAll``.
        external_chain: A chain of another program that marks connections; empty without one.
        conditions: The conditions of each family; a word each for iptables, and statements for nftables.
    """

    backend: str
    masquerades: bool
    masquerades_all: bool
    external_chain: str
    mark_bit: int
    conditions: dict[int, tuple[str, ...]]


def read_portmap(config: Keys) -> PortmapConfig:
    """Return the configuration of portmap.

    Raises:
        CniError: A value cannot be written to the firewall.
    """
    backend = read_backend(config, "backend", IPTABLES, NFTABLES)
    external_chain = read_chain(config, "externalSetMarkChain")
    if "markMasqBit" in config and "externalSetMarkChain" in config:
        raise refuse("/markMasqBit and /externalSetMarkChain are mutually exclusive", "set one")
    bit = config.integer("markMasqBit", _DEFAULT_MARK_BIT)
    if not 0 <= bit <= _LAST_BIT:
        raise refuse(f"/markMasqBit: {bit} is not a bit of a mark", f"expected: 0 to {_LAST_BIT}")
    conditions = {}
    for family in (4, 6):
        key = f"conditionsV{family}"
        conditions[family] = tuple(config.texts(key))
        backend = _read_conditions(config.pointer(key), conditions[family], backend)
    if backend == NFTABLES and external_chain:
        raise refuse(
            f"/externalSetMarkChain cannot be used with the backend {NFTABLES}",
            f"set the backend {IPTABLES}, or no chain",
        )
    masquerades = config.optional_flag("snat") is not False
    return PortmapConfig(backend, masquerades, config.flag("masqAll"), external_chain, bit, conditions)


def _read_conditions(pointer: str, words: t.Sequence[str], backend: str) -> str:
    """Return the backend that knows conditions; raise an error if they cannot be written."""
    if not words:
        return backend
    own = IPTABLES if words[0].startswith(_IPTABLES_SIGNS) else NFTABLES
    if backend not in ("", own):
        what = "options of iptables" if backend == IPTABLES else "statements of nftables"
        raise refuse(f"{pointer}/0: {words[0]!r} is not for the backend {backend}", f"expected: {what}")
    for index, word in enumerate(words):
        if not word.strip() or _CONTROL.search(word):
            raise refuse(f"{pointer}/{index}: {word!r} cannot be written", "expected: text of one line")
    text = " ".join(words)
    if own == NFTABLES and not _NFT_CONDITIONS.fullmatch(text):
        what = "statements of nftables without ; # ' \\ $ ` outside of double quotes"
        raise refuse(f"{pointer}: {text!r} cannot be written", f"expected: {what}")
    return own


def read_mappings(runtime_config: Keys) -> list[Mapping]:
    """Return the mappings of the capability ``portMappings``.

    Raises:
        CniError: An entry is not a mapping of ports.
    """
    return [read_mapping(entry) for entry in runtime_config.sections("portMappings")]


def read_mapping(entry: Keys) -> Mapping:
    """Return an entry of the capability ``portMappings``; errors as `read_mappings`."""
    protocol = entry.text("protocol")
    if not (protocol.isascii() and protocol.isalnum()):
        raise refuse(f"{entry.pointer('protocol')}: {protocol!r} is not a protocol", "expected: for example tcp")
    ports = _read_port(entry, "hostPort"), _read_port(entry, "containerPort")
    return Mapping(entry.address("hostIP"), *ports, protocol.lower())


def _read_port(entry: Keys, key: str) -> int:
    port = entry.integer(key)
    if not 0 < port <= _LAST_PORT:
        raise refuse(f"{entry.pointer(key)}: {port} is not a port", f"expected: 1 to {_LAST_PORT}")
    return port


def describe_port_mapping(
    attachment: Attachment, address: ContainerAddress, mappings: t.Sequence[Mapping], config: PortmapConfig
) -> FirewallPart | None:
    """Return the rules of portmap for one address of a container; None without a port of that family.

    A loopback address has none: they would lead to programs of the node.
    """
    own = [mapping for mapping in mappings if mapping.is_of(address.family)]
    if not own or ipaddress.ip_address(address.address).is_loopback:
        return None
    # Conditions belong to one backend, and rules without them would let others pass.
    has_conditions = bool(config.conditions[address.family])
    iptables: tuple[IptablesRule, ...] = ()
    nftables = None
    if not has_conditions or config.backend == IPTABLES:
        iptables = tuple(_Iptables(attachment, address, mappings, config).rules())
    if not has_conditions or config.backend == NFTABLES:
        nftables = _nftables(attachment, address, own, config)
    return FirewallPart(
        address.family, config.backend, iptables, nftables, udp_ports=udp_ports(own), address=address.address
    )


def udp_ports(mappings: t.Iterable[Mapping]) -> frozenset[int]:
    """Return the UDP ports of the node that are forwarded."""
    return frozenset(mapping.host_port for mapping in mappings if mapping.protocol == _UDP)


@functools.lru_cache(maxsize=8)
def _list_marks(mark: str) -> tuple[IptablesRule, ...]:
    """Return the rules of the chains that mark and masquerade connections from the node and the container itself."""
    lost, purpose = "the rules to masquerade connections to mapped ports are gone", Purpose.PORT_MASQUERADING
    hook = firewall_names.MASQUERADE_HOOK
    marks = f"-m comment --comment {quote('CNI portfwd masquerade mark')} -j MARK --set-xmark {mark}"
    enters = f"-m comment --comment {quote('CNI portfwd requiring masquerade')} -j {_MASQUERADE}"
    masquerades = f"-m mark --mark {mark} -j MASQUERADE"
    return (
        IptablesRule("nat", _SET_MARK, marks, lost, purpose, is_shared=True),
        IptablesRule("nat", hook, enters, lost, purpose, target=_MASQUERADE, is_first=True, is_shared=True),
        IptablesRule("nat", _MASQUERADE, masquerades, lost, purpose, is_shared=True),
    )


@functools.lru_cache(maxsize=1)
def _list_jumps() -> tuple[IptablesRule, ...]:
    """Return the jumps from the kernel's hooks, which all containers share."""
    chain, purpose = firewall_names.PORTS_CHAIN, Purpose.PORT_MAPPING
    text = f"-m addrtype --dst-type LOCAL -j {chain}"
    lost = f"the jump from {{}} to {chain} is gone"
    return tuple(
        IptablesRule("nat", hook, text, lost.format(hook), purpose, target=chain, is_shared=True)
        for hook in firewall_names.PORTS_HOOKS
    )


class _Iptables:
    """The rules of portmap in iptables."""

    def __init__(
        self,
        attachment: Attachment,
        address: ContainerAddress,
        mappings: t.Sequence[Mapping],
        config: PortmapConfig,
    ) -> None:
        self._address = address
        self._mappings = mappings
        self._masquerades = config.masquerades
        self._masquerades_all = config.masquerades_all
        self._external_chain = config.external_chain
        mark = hex(1 << config.mark_bit)
        self._mark = f"{mark}/{mark}"
        words = config.conditions[address.family]
        self._conditions = "".join(f" {quote_word(word)}" for word in words)
        self._chain = firewall_names.ports_chain(attachment.network, attachment.container_id)
        comment = f'dnat name: "{attachment.network}" id: "{attachment.container_id}"'
        is_long = len(comment) > _COMMENT_LENGTH
        self._comment = quote(f"{comment[: _COMMENT_LENGTH - 2]}..." if is_long else comment)

    def rules(self) -> list[IptablesRule]:
        marks = _list_marks(self._mark) if self._masquerades and not self._external_chain else ()
        rules = [*marks, *_list_jumps(), *self._entrances()]
        for mapping in self._mappings:
            if mapping.is_of(self._address.family):
                rules += self._mapping_rules(mapping)
        return rules

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
                    Purpose.PORT_MAPPING,
                    target=self._chain,
                    accepts_more=True,
                    requires_more=bool(self._conditions),
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
                yield IptablesRule(
                    "nat", self._chain, text, lost, Purpose.PORT_MASQUERADING, target=created, is_own_chain=True
                )
        text = f"{match} DNAT --to-destination {join_port(address.address, mapping.container_port)}"
        lost = f"{mapping.describe(address)} is gone"
        yield IptablesRule("nat", self._chain, text, lost, Purpose.PORT_MAPPING, is_main=True, is_own_chain=True)


def _nftables(
    attachment: Attachment, address: ContainerAddress, mappings: t.Iterable[Mapping], config: PortmapConfig
) -> NftablesTable:
    family = "ip" if address.family == 4 else "ip6"
    rules = [_nft_mapping(attachment, address, mapping, family) for mapping in mappings]
    if config.masquerades:
        rules += _nft_masquerading(attachment, address, family, from_all=config.masquerades_all)
    conditions = " ".join(config.conditions[address.family])
    frame = _frame(family, conditions, config.masquerades)
    return NftablesTable(family, firewall_names.PORTS_TABLE, frame, tuple(rules))


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
        Purpose.PORT_MAPPING,
        is_main=True,
        any_of=frozenset((mapping.protocol, _PROTOCOL_NUMBERS.get(mapping.protocol, mapping.protocol))),
        hooks=("prerouting", "output"),
    )


def _nft_masquerading(
    attachment: Attachment, address: ContainerAddress, family: str, *, from_all: bool
) -> t.Iterator[NftablesRule]:
    own, loopback = frozenset((address.address,)), frozenset((_LOOPBACK,))
    lost = f"a rule to masquerade connections to the mapped ports of {address.address} is gone"
    variants = [(address.address, own, loopback)] + (
        [(_LOOPBACK, own | loopback, frozenset())] if family == "ip" else []
    )
    if from_all:
        # The rule of a release that ignores masqAll counts as well: what it made is complete for it.
        variants = [(_ANY_ADDRESS[family], own, loopback)]
    for source, values, none_of in variants:
        text = f"{family} saddr {source} {family} daddr {address.address} masquerade"
        yield NftablesRule(
            "masquerading",
            text,
            attachment.container_id,
            attachment.container_id,
            values,
            lost,
            Purpose.PORT_MASQUERADING,
            none_of=none_of,
            hooks=("postrouting",),
            chain_matters=True,
        )


@functools.lru_cache(maxsize=16)
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
            f"add rule {place} {hook} {conditions and f'{conditions} '}fib daddr type local jump hostports_all",
        ]
    if masquerades:
        commands.append(
            f"add chain {place} masquerading {{ type nat hook postrouting priority 100 ; policy accept ; }}"
        )
    return tuple(commands)
