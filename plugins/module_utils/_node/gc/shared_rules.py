# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find chains and tables of the firewall that only removed networks used."""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftTable
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import NetworkUsers
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import all_plugins
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names


class ChainGroup(t.NamedTuple):
    """Chains that a plugin makes once for all containers of a node, and never removes.

    Attributes:
        words: A network configuration needs the chains if it has one of these words.
        hooks: The chains whose rules jump to them.
        own: The rules in them that belong to no single container, as iptables-save prints them.
    """

    plugin: str
    words: tuple[str, ...]
    table: str
    chains: tuple[str, ...]
    hooks: tuple[str, ...]
    own: re.Pattern[str]


_PORT_MAPPERS = catalogue.types_where(lambda row: row.maps_ports)
_FILTERS = catalogue.types_where(lambda row: row.filters)
_PORTS = ChainGroup(
    "/".join(_PORT_MAPPERS),
    _PORT_MAPPERS,
    "nat",
    (firewall_names.PORTS_CHAIN, "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-SNAT"),
    (*firewall_names.PORTS_HOOKS, firewall_names.MASQUERADE_HOOK),
    re.compile(
        r'-A CNI-HOSTPORT-SETMARK (?:-m comment --comment "[^"]*" )?-j MARK --\S+ \S+'
        r"|-A CNI-HOSTPORT-MASQ -m mark --mark \S+ -j MASQUERADE"
    ),
)
# Family and name of each table, and the words of which a network configuration that needs it has one: plugin types, or
# keys whose value is true.
_TABLES = (
    ("", firewall_names.PORTS_TABLE, catalogue.types_where(lambda row: row.maps_ports)),
    ("", firewall_names.MASQUERADE_TABLE, ("ipMasq",)),
    (firewall_names.SPOOF_FAMILY, firewall_names.SPOOF_TABLE, ("macspoofchk",)),
)
# The chains that the plugins make in each table, and whether they hold rules of containers. The rules of the others are
# written again at each ADD.
_CHAINS = {
    firewall_names.PORTS_TABLE: {
        "hostports": True,
        "hostip_hostports": True,
        "masquerading": True,
        "hostports_all": False,
        "prerouting": False,
        "output": False,
    },
    firewall_names.MASQUERADE_TABLE: {"masq_checks": True, "postrouting": False},
    # Other programs may use it as well, such as ebtables.
    firewall_names.SPOOF_TABLE: {"PREROUTING": True},
}


class SharedChains:
    """Finds iptables chains that only removed networks used."""

    def __init__(
        self, policy: GcPolicy, users: NetworkUsers, traces: t.AbstractSet[str], lost_links: t.Collection[str]
    ) -> None:
        """
        Args:
            traces: The names of chains and addresses that are pending removal in a dry run.
            lost_links: The bridges of removed networks that are gone, or would be gone after a run.
        """
        self._policy = policy
        self._users = users
        self._traces = traces
        self._lost_links = frozenset(lost_links)

    def collect(self, networks: t.Sequence[NetworkConfiguration], view: NodeView, reason: str) -> t.Iterator[Leak]:
        """Collect the chains.

        Args:
            reason: A reason to keep all of them, or an empty string.
        """
        for group in _groups(networks):
            for family, table in view.list_tables(group.table):
                if any(chain in table.rules for chain in group.chains):
                    yield from self._collect_group(group, family, table, reason)

    def _collect_group(self, group: ChainGroup, family: int, table: Table, common_reason: str) -> t.Iterator[Leak]:
        chains = [chain for chain in group.chains if chain in table.rules]
        name = f"{iptables.tool(family)} {group.table} {', '.join(chains)}"
        leak = Leak(Kind.SHARED_CHAIN, "", name, f"a removed network used it through the plugin {group.plugin}")
        reason = self._users.reason_to_keep(*group.words) or self._foreign_rule(group, chains, table) or common_reason
        if reason and not common_reason:
            yield from self._collect_rules_for_lost_links(family, group, chains, table)
        leak.evidence += "" if reason else ", and no other network or rule needs it"
        jumps = [rule for chain in chains for rule in table.jumps.get(chain, ()) if _chain(rule) not in chains]
        commands = [
            *map(iptables.deletion, jumps),
            *(f"{option} {chain}" for option in ("-F", "-X") for chain in chains),
        ]
        yield self._policy.collect_unless(reason, leak, lambda: iptables.restore(family, {group.table: commands}))

    def _collect_rules_for_lost_links(
        self, family: int, group: ChainGroup, chains: list[str], table: Table
    ) -> t.Iterator[Leak]:
        """Collect rules for lost bridges from chains that are kept."""
        for name in sorted(self._lost_links):
            rules = [rule for chain in chains for rule in table.rules[chain] if _links(rule) == {name}]
            if rules:
                subject = f"{iptables.tool(family)} {group.table} {', '.join(chains)}: {name}"
                leak = Leak(Kind.RULE, "", subject, f"the bridge {name} of a removed network is gone")
                tables = {group.table: [iptables.deletion(rule) for rule in rules]}
                yield self._policy.collect_unless("", leak, functools.partial(iptables.restore, family, tables))

    def _foreign_rule(self, group: ChainGroup, chains: t.Sequence[str], table: Table) -> str:
        """Return a clause that names a rule which needs the chains, or an empty string."""
        for chain in chains:
            for rule in table.rules[chain]:
                if not self._is_own(group, rule):
                    return f"the chain {chain} has the rule {rule}"
            for rule in table.jumps.get(chain, ()):
                if _chain(rule) not in (*chains, *group.hooks, *self._traces):
                    return f"the rule {rule} jumps to {chain}"
        return ""

    def _is_own(self, group: ChainGroup, rule: str) -> bool:
        words = iptables.words(rule)
        if iptables.value(words, "-j") in self._traces:
            return True
        addresses = {iptables.value(words, option).partition("/")[0] for option in ("-s", "-d")} - {""}
        if addresses and addresses <= self._traces:
            return True
        links = _links(rule)
        return group.own.fullmatch(rule) is not None and links <= self._lost_links


def _groups(networks: t.Iterable[NetworkConfiguration]) -> list[ChainGroup]:
    plugins = [plugin for network in networks for plugin in all_plugins(network)]
    firewalls = [plugin.keys for plugin in plugins if plugin.type in _FILTERS]
    admin = dict.fromkeys(str(keys.get("iptablesAdminChainName") or firewall_names.ADMIN_CHAIN) for keys in firewalls)
    groups = [_PORTS] if any(plugin.type in _PORT_MAPPERS for plugin in plugins) else []
    groups += [_firewall(tuple(admin))] if admin else []
    return groups + ([_isolation()] if admin else [])


def _firewall(admin: tuple[str, ...]) -> ChainGroup:
    to = "|".join(map(re.escape, admin))
    own = re.compile(rf'-A {firewall_names.FORWARD_CHAIN} (?:-m comment --comment "[^"]*" )?-j (?:{to})')
    return ChainGroup("/".join(_FILTERS), _FILTERS, "filter", (firewall_names.FORWARD_CHAIN, *admin), ("FORWARD",), own)


def _isolation() -> ChainGroup:
    comment, (first, second) = r'(?:-m comment --comment "[^"]*" )?', firewall_names.ISOLATION_CHAINS
    own = re.compile(
        rf"-A {first} -i \S+ (?:! )?-o \S+ {comment}-j (?:DROP|{second})"
        rf"|-A {second} -o \S+ {comment}-j DROP"
        rf"|-A (?:{first}|{second}) {comment}-j RETURN"
    )
    return ChainGroup("/".join(_FILTERS), ("same-bridge", "isolated"), "filter", (first, second), ("FORWARD",), own)


def _chain(rule: str) -> str:
    return iptables.words(rule)[1]


def _links(rule: str) -> frozenset[str]:
    words = iptables.words(rule)
    return frozenset(filter(None, (iptables.value(words, option) for option in ("-i", "-o"))))


class SharedTables:
    """Finds nftables tables that only removed networks used."""

    def __init__(self, policy: GcPolicy, users: NetworkUsers, traces: t.AbstractSet[str]) -> None:
        """
        Args:
            traces: The chains, and the comments of rules up to a comma, that are pending removal in a dry run.
        """
        self._policy = policy
        self._users = users
        self._traces = traces

    def collect(self, networks: t.Iterable[NetworkConfiguration], view: NodeView, reason: str) -> t.Iterator[Leak]:
        """Collect the tables.

        Args:
            reason: A reason to keep all of them, or an empty string.
        """
        plugins = [plugin for network in networks for plugin in all_plugins(network)]
        for family, name, words in _TABLES:
            if any(plugin.type in words or any(plugin.keys.get(word) is True for word in words) for plugin in plugins):
                present = view.require_nftables(family, name)
                for table in present.tables if present else ():
                    yield self._collect_table(table, words, reason)

    def _collect_table(self, table: NftTable, words: tuple[str, ...], common_reason: str) -> Leak:
        evidence = "the plugins of a removed network used it"
        leak = Leak(Kind.SHARED_TABLE, "", f"nft {table.family} {table.name}", evidence)
        reason = self._users.reason_to_keep(*words) or self._reason_by_content(table) or common_reason
        leak.evidence += "" if reason else ", and no other network or rule needs it"
        return self._policy.collect_unless(reason, leak, lambda: nftables.remove_table(table))

    def _reason_by_content(self, table: NftTable) -> str:
        """Return a clause that names a chain, rule or other object in use, or one of another program, or an empty string."""
        known = _CHAINS[table.name]
        foreign = [
            *(f"the chain {chain}" for chain in table.hooks if chain not in {*known, *self._traces}),
            *(f"the {other}" for other in table.others),
        ]
        if foreign:
            return f"it has {foreign[0]}, which the plugins did not make"
        for rule in table.rules:
            if known.get(rule.chain, True) and rule.comment.partition(",")[0] not in self._traces:
                return f"its chain {rule.chain} has a rule" + (
                    f" with the comment {rule.comment}" if rule.comment else ""
                )
        return ""
