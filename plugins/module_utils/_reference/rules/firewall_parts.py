# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The firewall rules of an attachment, as release 1.9.1 of the reference plugins makes them."""

from __future__ import annotations

import enum
import functools
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse

IPTABLES = "iptables"
NFTABLES = "nftables"
FIREWALLD = "firewalld"


class Purpose(enum.Enum):
    """The purpose of a rule.

    Attributes:
        FORWARDING: It lets the traffic of a container pass.
        ISOLATION: It keeps packets from one bridge to another.
        MASQUERADING: It replaces the address of a container in packets that leave its subnet.
        PORT_MAPPING: It forwards a port of the node.
        PORT_MASQUERADING: It replaces the source of packets to such a port, so that their answers pass the node.
        SPOOF_CHECKING: It drops packets of a container with a foreign MAC.
    """

    FORWARDING = "forwarding"
    ISOLATION = "isolation"
    MASQUERADING = "masquerading"
    PORT_MAPPING = "port mapping"
    PORT_MASQUERADING = "port masquerading"
    SPOOF_CHECKING = "spoof checking"


class IptablesRule(t.NamedTuple):
    """A rule of iptables or ip6tables.

    Attributes:
        text: Its arguments after the chain, in the form of iptables-save.
        lost: What drift reports when the rule is missing.
        is_main: Whether drift reports only rules of this kind if one of them is missing.
        target: The chain that it jumps to, if plugins create it.
        is_first: Whether plugins insert it at the beginning of the chain.
        is_shared: Whether attachments of other containers need it as well.
        is_own_chain: Whether the chain belongs to the container, and has its rules in this order.
        accepts_more: Whether a rule with further conditions counts as this one.
        requires_more: Whether one without further conditions does not: iptables prints conditions in another form.
        older: Its other forms, such as those of older releases.
    """

    table: str
    chain: str
    text: str
    lost: str
    purpose: Purpose
    is_main: bool = False
    target: str = ""
    is_first: bool = False
    is_shared: bool = False
    is_own_chain: bool = False
    accepts_more: bool = False
    requires_more: bool = False
    older: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The rule as iptables-save prints it."""
        return f"-A {self.chain} {self.text}"

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hook of the kernel whose packets need this rule; empty for a rule outside of the built-in chains."""
        return (self.chain.lower(),) if self.chain in _HOOKS else ()


class NftablesRule(t.NamedTuple):
    """A rule of nftables. It is recognised by its comment and the values in it, because nft prints rules in several forms.

    Attributes:
        text: Its statements in the syntax of nft, without the comment; empty if the record does not tell them.
        comment: The comment that plugins write.
        owner: The text of the comment up to its first comma.
        values: Words and numbers that the rule has.
        lost: What drift reports when the rule is missing.
        is_main: Whether drift reports only rules of this kind if one of them is missing.
        any_of: Words or numbers of which the rule has at least one.
        none_of: Words or numbers that the rule does not have.
        hooks: The hooks from which the kernel has to reach its chain.
        chain_matters: Whether the rule counts only in this chain.
    """

    chain: str
    text: str
    comment: str
    owner: str
    values: frozenset[str | int]
    lost: str
    purpose: Purpose
    is_main: bool = False
    any_of: frozenset[str | int] = frozenset()
    none_of: frozenset[str | int] = frozenset()
    hooks: tuple[str, ...] = ()
    chain_matters: bool = False


class NftablesTable(t.NamedTuple):
    """A table of nftables with an attachment's rules.

    Attributes:
        frame: Commands of nft that create the table and its chains, and write the rules that all containers share.
            They may be repeated at any time.
        own_chains: Chains of this attachment alone. They are rewritten as a whole.
    """

    family: str
    name: str
    frame: tuple[str, ...]
    rules: tuple[NftablesRule, ...]
    own_chains: tuple[str, ...] = ()


class ZoneSource(t.NamedTuple):
    """A source of a zone of firewalld.

    Attributes:
        source: An address with its full prefix length.
        lost: What drift reports when it is missing.
    """

    zone: str
    source: str
    lost: str
    purpose: Purpose = Purpose.FORWARDING
    is_main: bool = True


class FirewallPart(t.NamedTuple):
    """The rules that one plugin makes for one address, in one of its backends.

    Attributes:
        family: 4 or 6; 0 for rules without an address.
        backend: The configured backend, or an empty string for the plugin's choice.
        iptables: The rules in iptables, in the order that they have in each chain.
        nftables: The rules in nftables; None if the plugin knows only iptables.
        sources: What the plugin asks of firewalld instead of writing rules, if that is its backend.
        udp_ports: The UDP ports of the node that the rules forward.
        address: The address of the container; empty if the rules are for all of them.
    """

    family: int
    backend: str
    iptables: tuple[IptablesRule, ...] = ()
    nftables: NftablesTable | None = None
    sources: tuple[ZoneSource, ...] = ()
    udp_ports: frozenset[int] = frozenset()
    address: str = ""

    @property
    def purposes(self) -> frozenset[Purpose]:
        tables = (self.iptables, self.nftables.rules if self.nftables else (), self.sources)
        return frozenset(rule.purpose for rules in tables for rule in rules)


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

    @property
    def host(self) -> str:
        """The address with its full prefix length, as iptables-save prints it."""
        return f"{self.address}/{self.bits}"


class MissingRule(t.NamedTuple):
    """A rule that is missing, or that packets do not reach.

    Attributes:
        message: What drift reports.
        hooks: The hooks of the kernel whose packets do not meet it, in lower case; empty for all.
    """

    rule: IptablesRule | NftablesRule | ZoneSource
    message: str
    hooks: tuple[str, ...] = ()


def main_messages(missing: t.Sequence[MissingRule]) -> tuple[str, ...]:
    """Return the messages that drift reports for missing rules, each once."""
    main = [each.message for each in missing if each.rule.is_main]
    return tuple(dict.fromkeys(main or [each.message for each in missing]))


# What may stand in a command. A chain of iptables has at most 28 bytes, and a zone of firewalld 17 characters.
_CHAIN = re.compile(r"[^\s\x00-\x1f\x7f\"'\\!-][^\s\x00-\x1f\x7f\"'\\]*")
CHAIN_LENGTH = 28
_HOOKS = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
_ZONE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_/-]{0,16}")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.,:/!=<>{}@*+-]+")


def read_chain(keys: Keys, key: str) -> str:
    """Return the name of a chain of iptables in a configuration; an empty string if there is none.

    Raises:
        CniError: No chain can have the name, or it cannot be written.
    """
    name = keys.text(key)
    if name and (not _CHAIN.fullmatch(name) or len(name.encode("utf-8", "surrogatepass")) > CHAIN_LENGTH):
        what = f"at most {CHAIN_LENGTH} bytes without spaces, quotes and \\, not beginning with - or !"
        raise refuse(f"{keys.pointer(key)}: {name!r} is not the name of a chain", f"expected: {what}")
    if name in _HOOKS:
        what = "expected: a chain of your own, because no rule can jump to a built-in one"
        raise refuse(f"{keys.pointer(key)}: {name} is a built-in chain", what)
    return name


def read_backend(keys: Keys, key: str, *known: str) -> str:
    """Return the backend in a configuration; an empty string for the plugin's choice.

    Raises:
        CniError: The backend is unknown.
    """
    name = keys.text(key)
    if name not in ("", *known):
        raise refuse(f"{keys.pointer(key)}: {name!r} is unknown", f"expected: {' or '.join(known)}")
    return name


def read_zone(keys: Keys, key: str) -> str:
    """Return the name of a zone of firewalld in a configuration; an empty string if there is none.

    Raises:
        CniError: No zone can have the name.
    """
    name = keys.text(key)
    if name and not _ZONE.fullmatch(name):
        what = "at most 17 letters, digits, _, / and -, not beginning with - or /"
        raise refuse(f"{keys.pointer(key)}: {name!r} is not the name of a zone", f"expected: {what}")
    return name


def container_address(interface: IpInterface) -> ContainerAddress:
    return ContainerAddress(str(interface.ip), _text(interface.network), interface.version, interface.max_prefixlen)


# Most attachments of a node have the same network.
@functools.lru_cache(maxsize=64)
def _text(network: IpNetwork) -> str:
    return str(network)


def safe_interfaces(result: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """Return the interfaces of a result whose name an interface may have."""
    return [item for item in result.get("interfaces") or () if is_ifname(item.get("name") or "")]


def quote(comment: str) -> str:
    """Return a comment as iptables-save prints it."""
    escaped = comment.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quote_word(word: str) -> str:
    """Return an argument of a rule as iptables-restore reads it."""
    return word if _PLAIN_WORD.fullmatch(word) else quote(word)


def join_port(address: str, port: int) -> str:
    """Return an address and a port as one text; an IPv6 address gets brackets."""
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}" if host else str(port)
