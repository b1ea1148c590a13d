# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rules with which the plugin firewall lets the traffic of a container pass."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_names import (
    ADMIN_CHAIN,
    FORWARD_CHAIN,
    ISOLATION_CHAINS,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FIREWALLD,
    IPTABLES,
    ContainerAddress,
    FirewallPart,
    IptablesRule,
    Purpose,
    ZoneSource,
    quote,
    read_backend,
    read_chain,
    read_zone,
)

_ZONE = "trusted"
_STAGE_1, _STAGE_2 = ISOLATION_CHAINS
_RULES = "CNI firewall plugin rules"
_TARGETS = ("ACCEPT", "DROP", "QUEUE", "RETURN")
_OPEN = "open"
_ISOLATED = "isolated"
ISOLATING_POLICIES = ("same-bridge", _ISOLATED)


class FirewallConfig(t.NamedTuple):
    """The configuration of the plugin firewall, with its defaults.

    Attributes:
        backend: An empty string for the plugin's choice.
        isolating_policy: The policy that isolates bridges; an empty string for another one.
    """

    backend: str
    admin_chain: str
    zone: str
    isolating_policy: str


def read_firewall(config: Keys) -> FirewallConfig:
    """Return the configuration of the plugin firewall.

    Raises:
        CniError: A value cannot be written to the firewall.
    """
    policy = config.text("ingressPolicy")
    if policy not in ("", _OPEN, *ISOLATING_POLICIES):
        raise refuse(f"/ingressPolicy: {policy!r} is unknown", "expected: open, same-bridge or isolated")
    return FirewallConfig(
        read_backend(config, "backend", IPTABLES, FIREWALLD),
        read_admin_chain(config, "iptablesAdminChainName") or ADMIN_CHAIN,
        read_zone(config, "firewalldZone") or _ZONE,
        policy if policy in ISOLATING_POLICIES else "",
    )


def read_admin_chain(config: Keys, key: str) -> str:
    """Return the name of the administrator's chain in a configuration; an empty string if there is none.

    Raises:
        CniError: No chain can have the name, or the plugin's own chain cannot jump to it.
    """
    name = read_chain(config, key)
    if name == FORWARD_CHAIN or name in _TARGETS:
        what = "the chain with the plugin's own rules" if name == FORWARD_CHAIN else "a target of iptables"
        raise refuse(f"{config.pointer(key)}: {name} is {what}", f"expected: another name, such as {ADMIN_CHAIN}")
    return name


def describe_forwarding(
    addresses: t.Sequence[ContainerAddress], bridge: str, config: FirewallConfig
) -> list[FirewallPart]:
    """Return the rules with which the plugin firewall lets the traffic of a container pass.

    Rules that isolate bridges are always in iptables.

    Args:
        addresses: All addresses of the result.
        bridge: The first interface of the result, which the plugin takes for the bridge.

    Raises:
        CniError: A policy isolates bridges, and there is none.
    """
    policy = config.isolating_policy
    if policy and not is_ifname(bridge):
        what = "expected: a plugin before this one whose result begins with a bridge"
        raise refuse(f"/ingressPolicy: {policy} needs a bridge, and the result begins with {bridge!r}", what)
    isolation = tuple(_isolation(bridge, policy)) if policy else ()
    parts = []
    for family in sorted({address.family for address in addresses}):
        own = [address for address in addresses if address.family == family]
        parts += [FirewallPart(family, IPTABLES, isolation)] if isolation else []
        parts.append(_admission(family, own, config))
    return parts


def _admission(family: int, addresses: t.Sequence[ContainerAddress], config: FirewallConfig) -> FirewallPart:
    """Return what lets the traffic of addresses pass. The default backend is either one."""
    sources = tuple(_zone_sources(addresses, config.zone)) if config.backend in ("", FIREWALLD) else ()
    if config.backend == FIREWALLD:
        return FirewallPart(family, FIREWALLD, sources=sources)
    rules = (*_shared_rules(config.admin_chain), *(rule for address in addresses for rule in address_rules(address)))
    return FirewallPart(family, IPTABLES, rules, sources=sources)


def _zone_sources(addresses: t.Iterable[ContainerAddress], zone: str) -> t.Iterator[ZoneSource]:
    for address in addresses:
        yield ZoneSource(zone, address.host, f"{address.address} is in no zone of firewalld")


def _shared_rules(admin: str) -> t.Iterator[IptablesRule]:
    text = f"-m comment --comment {quote(_RULES)} -j {FORWARD_CHAIN}"
    lost = f"the jump from FORWARD to {FORWARD_CHAIN} is gone"
    yield IptablesRule(
        "filter", "FORWARD", text, lost, Purpose.FORWARDING, target=FORWARD_CHAIN, is_first=True, is_shared=True
    )
    text = f"-m comment --comment {quote('CNI firewall plugin admin overrides')} -j {admin}"
    lost = f"the jump from {FORWARD_CHAIN} to {admin} is gone"
    yield IptablesRule(
        "filter", FORWARD_CHAIN, text, lost, Purpose.FORWARDING, target=admin, is_first=True, is_shared=True
    )


def address_rules(address: ContainerAddress) -> t.Iterator[IptablesRule]:
    """Yield the two rules of an address."""
    lost = f"a rule that lets the traffic of {address.address} pass is gone"
    text = f"-d {address.host} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
    yield IptablesRule("filter", FORWARD_CHAIN, text, lost, Purpose.FORWARDING, is_main=True)
    yield IptablesRule("filter", FORWARD_CHAIN, f"-s {address.host} -j ACCEPT", lost, Purpose.FORWARDING, is_main=True)


def _isolation(bridge: str, policy: str) -> t.Iterator[IptablesRule]:
    """Yield the rules that isolate a bridge, in the order that they have in each chain."""
    own = f"-m comment --comment {quote(f'{_RULES} (ingressPolicy: {policy})')} -j"
    common = f"-m comment --comment {quote(f'{_RULES} (ingressPolicy: same-bridge|isolated)')} -j"
    lost = f"a rule that isolates the bridge {bridge} is gone"

    def rule(chain: str, text: str, target: str = "", *, is_first: bool = True) -> IptablesRule:
        purpose = Purpose.ISOLATION
        return IptablesRule("filter", chain, text, lost, purpose, target=target, is_first=is_first, is_shared=True)

    yield rule("FORWARD", f"{common} {_STAGE_1}", _STAGE_1)
    if policy == _ISOLATED:
        yield rule(_STAGE_1, f"-i {bridge} -o {bridge} {own} DROP")
    yield rule(_STAGE_1, f"-i {bridge} ! -o {bridge} {own} {_STAGE_2}", _STAGE_2)
    yield rule(_STAGE_1, f"{common} RETURN", is_first=False)
    yield rule(_STAGE_2, f"-o {bridge} {common} DROP")
    yield rule(_STAGE_2, f"{common} RETURN", is_first=False)
