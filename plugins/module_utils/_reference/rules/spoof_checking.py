# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rules of ``macspoofchk``, which drop packets with a foreign source MAC."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    NFTABLES,
    FirewallPart,
    NftablesRule,
    NftablesTable,
    Purpose,
)

_HOOK_CHAIN = "PREROUTING"
_ANY_MAC = "ether"


def describe_spoof_checking(attachment: Attachment, ports: t.Sequence[str], mac: str) -> FirewallPart:
    """Return the rules that drop packets of a container with a foreign source MAC (``macspoofchk`` of bridge).

    Args:
        ports: The node's interfaces in the result, the bridge first; empty for an old result.
        mac: The container's MAC; empty if another plugin may have changed it since.
    """
    chain, mac_chain, comment = firewall_names.spoof_names(*attachment.key[1:])
    incomplete = f"the chain {chain} lacks rules to check MACs"
    can_write = len(ports) > 1 and bool(mac)

    def rule(place: str, text: str, *values: str, lost: str = incomplete, **more: t.Any) -> NftablesRule:
        written = text if can_write else ""
        found, purpose = frozenset(values), Purpose.SPOOF_CHECKING
        return NftablesRule(place, written, comment, comment, found, lost, purpose, chain_matters=True, **more)

    unreached = f"the rule that leads to the chain {chain} is gone"
    jump = f'iifname "{ports[1]}" jump {chain}' if can_write else ""
    rules = (
        rule(
            _HOOK_CHAIN,
            jump,
            chain,
            lost=unreached,
            is_main=True,
            any_of=frozenset(ports) or frozenset((chain,)),
            hooks=("prerouting",),
        ),
        rule(chain, f"jump {mac_chain}", mac_chain),
        rule(mac_chain, f"ether saddr {mac} return", mac or _ANY_MAC),
        rule(mac_chain, "drop", none_of=frozenset((_ANY_MAC,))),
    )
    table = NftablesTable(
        firewall_names.SPOOF_FAMILY,
        firewall_names.SPOOF_TABLE,
        _frame(chain, mac_chain),
        rules,
        (chain, mac_chain),
    )
    return FirewallPart(0, NFTABLES, (), table)


def _frame(*own_chains: str) -> tuple[str, ...]:
    place = f"{firewall_names.SPOOF_FAMILY} {firewall_names.SPOOF_TABLE}"
    hook = f"add chain {place} {_HOOK_CHAIN} {{ type filter hook prerouting priority -300 ; policy accept ; }}"
    return (f"add table {place}", hook, *(f"add chain {place} {chain}" for chain in own_chains))
