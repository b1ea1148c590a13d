# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._linux.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import Users
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import configured

_ISOLATION: t.Final = ("CNI-ISOLATION-STAGE-1", "CNI-ISOLATION-STAGE-2")
_ADMIN: t.Final = "CNI-ADMIN"


class Group(t.NamedTuple):
    """Chains that a plugin makes once for all containers of a node, and never takes away.

    Attributes:
        words: What a network configuration that needs them has one of.
        hooks: The chains with the rules that lead to them.
        own: The rules in them that are for no single container, as iptables-save prints them.
    """

    plugin: str
    words: tuple[str, ...]
    table: str
    chains: tuple[str, ...]
    hooks: tuple[str, ...]
    own: re.Pattern[str]


_PORTS: t.Final = Group(
    "portmap",
    ("portmap",),
    "nat",
    (firewall_names.PORTS_CHAIN, "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-SNAT"),
    (*firewall_names.PORTS_HOOKS, firewall_names.MASQUERADE_HOOK),
    re.compile(
        r'-A CNI-HOSTPORT-SETMARK (?:-m comment --comment "[^"]*" )?-j MARK --\S+ \S+'
        r"|-A CNI-HOSTPORT-MASQ -m mark --mark \S+ -j MASQUERADE"
    ),
)


class Expected(t.NamedTuple):
    """What a dry run leaves where it is, and a run would have taken away.

    Attributes:
        chains: Those of single containers.
        addresses: Those of containers.
    """

    chains: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()


class SharedChains:
    """Finds chains of iptables that only removed networks used."""

    def __init__(self, scope: Scope, users: Users, expected: Expected, lost_links: t.Collection[str]) -> None:
        """
        Args:
            lost_links: The bridges of removed networks that are not there any more, or would not be.
        """
        self._scope = scope
        self._users = users
        self._expected = expected
        self._lost_links = frozenset(lost_links)

    def find(self, networks: t.Sequence[NetworkConfiguration], doubt: str) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            doubt: Why none of them may be removed, or an empty string.
        """
        groups = _groups(networks)
        listing = iptables.listing() if groups else iptables.Listing({}, {})
        for group in groups:
            for family in iptables.FAMILIES:
                table = listing.table(family, group.table)
                if any(chain in table.rules for chain in group.chains):
                    yield from self._chains(group, family, table, doubt)

    def _chains(self, group: Group, family: int, table: Table, doubt: str) -> t.Iterator[Leak]:
        chains = [chain for chain in group.chains if chain in table.rules]
        name = f"{iptables.tool(family)} {group.table} {', '.join(chains)}"
        leak = Leak(
            "shared chain", "", name, f"the plugin {group.plugin} of a removed network shared it with all others"
        )
        reason = self._users.reason_to_keep(*group.words) or self._foreign_rule(group, chains, table) or doubt
        if reason and not doubt:
            yield from self._of_lost_links(family, group, chains, table)
        leak.evidence += "" if reason else ", and no network and no rule needs it any more"
        entrances = [rule for chain in chains for rule in table.jumps.get(chain, ()) if _chain(rule) not in chains]
        commands = [_deletion(rule) for rule in entrances]
        commands += [(option, chain) for option in ("-F", "-X") for chain in chains]
        yield self._scope.settle(leak, reason, lambda: iptables.change(family, group.table, *commands))

    def _of_lost_links(self, family: int, group: Group, chains: list[str], table: Table) -> t.Iterator[Leak]:
        """Collect the rules for bridges that are gone from chains that stay."""
        for name in sorted(self._lost_links):
            rules = [rule for chain in chains for rule in table.rules[chain] if _links(rule) == {name}]
            if rules:
                subject = f"{iptables.tool(family)} {group.table} {', '.join(chains)}: {name}"
                leak = Leak("rule", "", subject, f"the bridge {name} of a removed network is gone")
                change = functools.partial(iptables.change, family, group.table, *map(_deletion, rules))
                yield self._scope.settle(leak, "", change)

    def _foreign_rule(self, group: Group, chains: t.Sequence[str], table: Table) -> str:
        """Return which rule needs the chains, as a sentence, or an empty string."""
        for chain in chains:
            for rule in table.rules[chain]:
                if not self._is_own(group, rule):
                    return f"{chain} has the rule {rule}"
            for rule in table.jumps.get(chain, ()):
                if _chain(rule) not in (*chains, *group.hooks, *self._expected.chains):
                    return f"the rule {rule} leads to {chain}"
        return ""

    def _is_own(self, group: Group, rule: str) -> bool:
        words = iptables.words(rule)
        if iptables.value(words, "-j") in self._expected.chains:
            return True
        addresses = {iptables.value(words, option).partition("/")[0] for option in ("-s", "-d")} - {""}
        if addresses and addresses <= self._expected.addresses:
            return True
        links = _links(rule)
        return group.own.fullmatch(rule) is not None and links <= self._lost_links


def _groups(networks: t.Iterable[NetworkConfiguration]) -> list[Group]:
    plugins = [plugin for network in networks for plugin in configured(network)]
    firewalls = [plugin.keys for plugin in plugins if plugin.type == "firewall"]
    admin = dict.fromkeys(str(keys.get("iptablesAdminChainName") or _ADMIN) for keys in firewalls)
    found = [_PORTS] if any(plugin.type == "portmap" for plugin in plugins) else []
    found += [_firewall(tuple(admin))] if admin else []
    return found + ([_isolation()] if admin else [])


def _firewall(admin: tuple[str, ...]) -> Group:
    to = "|".join(map(re.escape, admin))
    own = re.compile(rf'-A CNI-FORWARD (?:-m comment --comment "[^"]*" )?-j (?:{to})')
    return Group("firewall", ("firewall",), "filter", ("CNI-FORWARD", *admin), ("FORWARD",), own)


def _isolation() -> Group:
    comment = r'(?:-m comment --comment "[^"]*" )?'
    own = re.compile(
        rf"-A {_ISOLATION[0]} -i \S+ (?:! )?-o \S+ {comment}-j (?:DROP|{_ISOLATION[1]})"
        rf"|-A {_ISOLATION[1]} -o \S+ {comment}-j DROP"
        rf"|-A (?:{'|'.join(_ISOLATION)}) {comment}-j RETURN"
    )
    return Group("firewall", ("same-bridge", "isolated"), "filter", _ISOLATION, ("FORWARD",), own)


def _deletion(rule: str) -> tuple[str, ...]:
    return ("-D", *iptables.words(rule)[1:])


def _chain(rule: str) -> str:
    return iptables.words(rule)[1]


def _links(rule: str) -> frozenset[str]:
    words = iptables.words(rule)
    return frozenset(filter(None, (iptables.value(words, option) for option in ("-i", "-o"))))


__all__ = ("Expected", "Group", "SharedChains")
