# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find nftables tables that only removed networks used."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftTable
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import NetworkUsers
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue, firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import all_plugins

# Family and name of each table, and the words of which a network configuration that needs it has one: plugin types, or
# keys whose value is true.
_TABLES: t.Final = (
    ("", firewall_names.PORTS_TABLE, catalogue.types_where(lambda row: row.maps_ports)),
    ("", firewall_names.MASQUERADE_TABLE, ("ipMasq",)),
    (firewall_names.SPOOF_FAMILY, firewall_names.SPOOF_TABLE, ("macspoofchk",)),
)
# The chains that the plugins make in each table, and whether they hold rules of containers. The rules of the others are
# written again at each ADD.
_CHAINS: t.Final = {
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


class SharedTables:
    """Finds nftables tables that only removed networks used."""

    def __init__(self, policy: GcPolicy, users: NetworkUsers, pending: t.Callable[[str], bool]) -> None:
        """
        Args:
            pending: Returns whether rules with this comment, or a chain of this name, are pending removal in a dry run.
        """
        self._policy = policy
        self._users = users
        self._pending = pending

    def collect(self, networks: t.Iterable[NetworkConfiguration], reason: str) -> t.Iterator[Leak]:
        """Collect the tables.

        Args:
            reason: A reason to keep all of them, or an empty string.
        """
        plugins = [plugin for network in networks for plugin in all_plugins(network)]
        for family, name, words in _TABLES:
            if any(plugin.type in words or any(plugin.keys.get(word) is True for word in words) for plugin in plugins):
                for table in nftables.tables(name, family=family):
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
            *(f"the chain {chain}" for chain in table.hooks if chain not in known and not self._pending(chain)),
            *(f"the {other}" for other in table.others),
        ]
        if foreign:
            return f"it has {foreign[0]}, which the plugins did not make"
        for rule in table.rules:
            if known.get(rule.chain, True) and not (rule.comment and self._pending(rule.comment)):
                return f"its chain {rule.chain} has a rule" + (
                    f" with the comment {rule.comment}" if rule.comment else ""
                )
        return ""


__all__ = ("SharedTables",)
