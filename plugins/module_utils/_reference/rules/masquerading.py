# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rules of ``ipMasq``, which replace a container's source address."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
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
    container_address,
    quote,
    read_backend,
)

_MULTICAST = {4: "224.0.0.0/4", 6: "ff00::/8"}
_NFT_CHAIN = "masq_checks"
_NFT_COMMENT_LENGTH = 128
_PURPOSE = Purpose.MASQUERADING


def read_masquerade_backend(config: Keys) -> str:
    """Return the backend of ``ipMasq``; errors as `read_backend`."""
    return read_backend(config, "ipMasqBackend", IPTABLES, NFTABLES)


def describe_all_masquerading(
    attachment: Attachment, interfaces: t.Iterable[IpInterface], backend: str
) -> list[FirewallPart]:
    """Return the rules that masquerade the addresses of a container."""
    return [describe_masquerading(attachment, container_address(interface), backend) for interface in interfaces]


def describe_masquerading(attachment: Attachment, address: ContainerAddress, backend: str) -> FirewallPart:
    """Return the rules that replace a container's source address by the node's, as ``ipMasq`` of bridge and ptp."""
    iptables, nftables = _iptables(attachment, address), _nftables(attachment, address)
    return FirewallPart(address.family, backend, iptables, nftables, address=address.address)


def _iptables(attachment: Attachment, address: ContainerAddress) -> tuple[IptablesRule, ...]:
    chain = firewall_names.masquerade_chain(attachment.network, attachment.container_id)
    comment = quote(f'name: "{attachment.network}" id: "{attachment.container_id}"')
    lost = f"the chain {chain} lacks rules to masquerade {address.address}"
    end = f"-m comment --comment {comment} -j"
    hook = firewall_names.MASQUERADE_HOOK
    return (
        IptablesRule(
            "nat",
            hook,
            f"-s {address.host} {end} {chain}",
            _lost(address),
            _PURPOSE,
            is_main=True,
            target=chain,
            # Releases before 0.8 match the network.
            older=(f"-s {address.network} {end} {chain}",),
        ),
        IptablesRule("nat", chain, f"-d {address.network} {end} ACCEPT", lost, _PURPOSE, is_own_chain=True),
        IptablesRule(
            "nat", chain, f"! -d {_MULTICAST[address.family]} {end} MASQUERADE", lost, _PURPOSE, is_own_chain=True
        ),
    )


def _nftables(attachment: Attachment, address: ContainerAddress) -> NftablesTable:
    table, ip = firewall_names.MASQUERADE_TABLE, "ip" if address.family == 4 else "ip6"
    owner = firewall_names.instance(*attachment.key)
    network, container_id, ifname = attachment.key
    comment = f"{owner}, net: {network}, if: {ifname}, id: {container_id}"[:_NFT_COMMENT_LENGTH]
    text = f"{ip} saddr {address.address} {ip} daddr != {address.network} masquerade"
    rule = NftablesRule(
        _NFT_CHAIN,
        text,
        comment,
        owner,
        frozenset((address.address,)),
        _lost(address),
        _PURPOSE,
        is_main=True,
        hooks=("postrouting",),
    )
    return NftablesTable("inet", table, _frame(table), (rule,))


def _frame(table: str) -> tuple[str, ...]:
    postrouting = f"inet {table} postrouting"
    return (
        f"add table inet {table}",
        f"add chain inet {table} {_NFT_CHAIN}",
        f"add chain {postrouting} {{ type nat hook postrouting priority 100 ; policy accept ; }}",
        f"flush chain {postrouting}",
        f"add rule {postrouting} ip daddr 224.0.0.0/4 return",
        f"add rule {postrouting} ip6 daddr ff00::/8 return",
        f"add rule {postrouting} goto {_NFT_CHAIN}",
    )


def _lost(address: ContainerAddress) -> str:
    return f"the masquerade rule of {address.address} is gone"
