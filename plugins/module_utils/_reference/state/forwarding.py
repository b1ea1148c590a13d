# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference.firewall_names import (
    ADMIN_CHAIN,
    FORWARD_CHAIN,
    ISOLATION_CHAINS,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    FIREWALLD,
    IPTABLES,
    ContainerAddress,
    FirewallPart,
    IptablesRule,
    ZoneSource,
    quote,
    safe_chain,
    safe_zone,
)

_ZONE: t.Final = "trusted"
_STAGE_1, _STAGE_2 = ISOLATION_CHAINS
_RULES: t.Final = "CNI firewall plugin rules"
_ISOLATED: t.Final = "isolated"
_ISOLATING_POLICIES: t.Final = ("same-bridge", _ISOLATED)


def describe_forwarding(
    addresses: t.Sequence[ContainerAddress], bridge: str, keys: t.Mapping[str, t.Any]
) -> list[FirewallPart]:
    """Return the rules with which the plugin firewall lets the traffic of a container pass.

    Rules that isolate bridges are always in iptables.

    Args:
        addresses: All addresses of the result.
        bridge: The first interface of the result, which the plugin takes for the bridge.
        keys: The configuration of the plugin.
    """
    policy = keys.get("ingressPolicy") if bridge else None
    isolation = tuple(_isolation(bridge, str(policy))) if policy in _ISOLATING_POLICIES else ()
    parts = []
    for family in sorted({address.family for address in addresses}):
        own = [address for address in addresses if address.family == family]
        parts += [FirewallPart(family, IPTABLES, isolation)] if isolation else []
        parts += _admission(family, own, keys)
    return parts


def _admission(
    family: int, addresses: t.Sequence[ContainerAddress], keys: t.Mapping[str, t.Any]
) -> t.Iterator[FirewallPart]:
    """Yield what lets the traffic of addresses pass; nothing if a name is unusual. The default backend is either one."""
    backend = keys.get("backend") or ""
    sources = tuple(_zone_sources(addresses, keys)) if backend in ("", FIREWALLD) else ()
    if backend == FIREWALLD and sources:
        yield FirewallPart(family, FIREWALLD, sources=sources)
    admin = safe_chain(keys.get("iptablesAdminChainName"), ADMIN_CHAIN)
    if backend != FIREWALLD and admin:
        rules = (*_shared_rules(admin), *(rule for address in addresses for rule in address_rules(address)))
        yield FirewallPart(family, IPTABLES, rules, sources=sources)


def _zone_sources(addresses: t.Iterable[ContainerAddress], keys: t.Mapping[str, t.Any]) -> t.Iterator[ZoneSource]:
    zone = safe_zone(keys.get("firewalldZone"), _ZONE)
    for address in addresses if zone else ():
        yield ZoneSource(zone, address.host, f"{address.address} is in no zone of firewalld")


def _shared_rules(admin: str) -> t.Iterator[IptablesRule]:
    text = f"-m comment --comment {quote(_RULES)} -j {FORWARD_CHAIN}"
    lost = f"the jump from FORWARD to {FORWARD_CHAIN} is gone"
    yield IptablesRule("filter", "FORWARD", text, lost, target=FORWARD_CHAIN, is_first=True, is_shared=True)
    text = f"-m comment --comment {quote('CNI firewall plugin admin overrides')} -j {admin}"
    lost = f"the jump from {FORWARD_CHAIN} to {admin} is gone"
    yield IptablesRule("filter", FORWARD_CHAIN, text, lost, target=admin, is_first=True, is_shared=True)


def address_rules(address: ContainerAddress) -> t.Iterator[IptablesRule]:
    """Yield the two rules of an address."""
    lost = f"a rule that lets the traffic of {address.address} pass is gone"
    text = f"-d {address.host} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
    yield IptablesRule("filter", FORWARD_CHAIN, text, lost, is_main=True)
    yield IptablesRule("filter", FORWARD_CHAIN, f"-s {address.host} -j ACCEPT", lost, is_main=True)


def _isolation(bridge: str, policy: str) -> t.Iterator[IptablesRule]:
    """Yield the rules that isolate a bridge, in the order that they have in each chain."""
    own = f"-m comment --comment {quote(f'{_RULES} (ingressPolicy: {policy})')} -j"
    common = f"-m comment --comment {quote(f'{_RULES} (ingressPolicy: same-bridge|isolated)')} -j"
    lost = f"a rule that isolates the bridge {bridge} is gone"

    def rule(chain: str, text: str, target: str = "", *, is_first: bool = True) -> IptablesRule:
        return IptablesRule("filter", chain, text, lost, target=target, is_first=is_first, is_shared=True)

    yield rule("FORWARD", f"{common} {_STAGE_1}", _STAGE_1)
    if policy == _ISOLATED:
        yield rule(_STAGE_1, f"-i {bridge} -o {bridge} {own} DROP")
    yield rule(_STAGE_1, f"-i {bridge} ! -o {bridge} {own} {_STAGE_2}", _STAGE_2)
    yield rule(_STAGE_1, f"{common} RETURN", is_first=False)
    yield rule(_STAGE_2, f"-o {bridge} {common} DROP")
    yield rule(_STAGE_2, f"{common} RETURN", is_first=False)


__all__ = ("address_rules", "describe_forwarding")
