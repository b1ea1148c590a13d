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
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_search import SharedSearch
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


_UNNEEDED = "and no other network or rule needs it"
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


class _PresentChains(t.NamedTuple):
    """The chains of a group that a family of iptables has."""

    group: ChainGroup
    family: int
    table: Table
    chains: list[str]

    def __str__(self) -> str:
        return f"{iptables.tool(self.family)} {self.group.table} {', '.join(self.chains)}"

    def remove(self) -> None:
        """Remove the chains, and the rules elsewhere that jump to them."""
        jumps = [rule for chain in self.chains for rule in self.table.jumps.get(chain, ())]
        flushed = [f"{option} {chain}" for option in ("-F", "-X") for chain in self.chains]
        self.restore([*(iptables.deletion(rule) for rule in jumps if _chain(rule) not in self.chains), *flushed])

    def restore(self, commands: list[str]) -> None:
        iptables.restore(self.family, {self.group.table: commands})

    def find_foreign_rule(self, traces: t.AbstractSet[str], lost_links: t.AbstractSet[str]) -> str:
        """Return a clause that names a rule which needs the chains, or an empty string."""
        for chain in self.chains:
            for rule in self.table.rules[chain]:
                is_own = self.group.own.fullmatch(rule) is not None and _links(rule) <= lost_links
                if not is_own and not _is_pending(rule, traces):
                    return f"the chain {chain} has the rule {rule}"
            for rule in self.table.jumps.get(chain, ()):
                if _chain(rule) not in (*self.chains, *self.group.hooks, *traces):
                    return f"the rule {rule} jumps to {chain}"
        return ""


def collect_chains(
    search: SharedSearch, networks: t.Iterable[NetworkConfiguration], view: NodeView, lost_links: t.AbstractSet[str]
) -> t.Iterator[Leak]:
    """Collect chains of iptables that only removed networks used, or else the rules in them for lost bridges.

    Args:
        lost_links: The bridges of removed networks that are gone, or would be gone after a run.
    """
    for group in _groups(networks):
        for family, table in view.list_tables(group.table):
            present = _PresentChains(group, family, table, [chain for chain in group.chains if chain in table.rules])
            if present.chains:
                foreign = present.find_foreign_rule(search.traces, lost_links)
                reason = search.users.reason_to_keep(*group.words) or foreign
                if reason and not search.doubt:
                    yield from _collect_rules(search.policy, present, lost_links)
                leak = Leak(
                    Kind.SHARED_CHAIN, "", str(present), f"a removed network used it through the plugin {group.plugin}"
                )
                yield search.collect(leak, reason, _UNNEEDED, present.remove)


def _collect_rules(policy: GcPolicy, present: _PresentChains, lost_links: t.Iterable[str]) -> t.Iterator[Leak]:
    """Collect rules for lost bridges from chains that are kept."""
    for name in sorted(lost_links):
        rules = [rule for chain in present.chains for rule in present.table.rules[chain] if _links(rule) == {name}]
        if rules:
            leak = Leak(Kind.RULE, "", f"{present}: {name}", f"the bridge {name} of a removed network is gone")
            remove = functools.partial(present.restore, list(map(iptables.deletion, rules)))
            yield policy.collect_unless("", leak, remove)


def _is_pending(rule: str, traces: t.AbstractSet[str]) -> bool:
    """Return whether a rule is for a chain, a link or addresses that are pending removal in a dry run."""
    words = iptables.words(rule)
    addresses = {iptables.value(words, option).partition("/")[0] for option in ("-s", "-d")} - {""}
    return iptables.value(words, "-j") in traces or any(own and own <= traces for own in (addresses, _links(rule)))


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


def collect_tables(
    search: SharedSearch, networks: t.Iterable[NetworkConfiguration], view: NodeView
) -> t.Iterator[Leak]:
    """Collect tables of nftables that only removed networks used."""
    plugins = [plugin for network in networks for plugin in all_plugins(network)]
    for family, name, words in _TABLES:
        if any(plugin.type in words or any(plugin.keys.get(word) is True for word in words) for plugin in plugins):
            present = view.require_nftables(family, name)
            for table in present.tables if present else ():
                subject = f"nft {table.family} {table.name}"
                leak = Leak(Kind.SHARED_TABLE, "", subject, "the plugins of a removed network used it")
                reason = search.users.reason_to_keep(*words) or _reason_by_content(table, search.traces)
                yield search.collect(leak, reason, _UNNEEDED, functools.partial(nftables.remove_table, table))


def _reason_by_content(table: NftTable, traces: t.AbstractSet[str]) -> str:
    """Return a clause that names a chain, rule or other object in use, or one of another program, or an empty string.

    Args:
        traces: The chains, and the comments of rules up to a comma, that are pending removal in a dry run.
    """
    known = _CHAINS[table.name]
    foreign = [
        *(f"the chain {chain}" for chain in table.hooks if chain not in {*known, *traces}),
        *(f"the {other}" for other in table.others),
    ]
    if foreign:
        return f"it has {foreign[0]}, which the plugins did not make"
    for rule in table.rules:
        if known.get(rule.chain, True) and rule.comment.partition(",")[0] not in traces:
            named = f" with the comment {rule.comment}" if rule.comment else ""
            return f"its chain {rule.chain} has a rule{named}"
    return ""
