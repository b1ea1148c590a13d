# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftTable
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import Users
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import configured

_PORTMAP: t.Final = "portmap"
_MASQUERADE: t.Final = "ipMasq"
_SPOOF: t.Final = "macspoofchk"
# The chains that the plugins make in a table of theirs, and whether they have rules of containers. The rules of the others are
# written anew at each ADD.
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
    # Others may use it as well, ebtables among them.
    firewall_names.SPOOF_TABLE: {"PREROUTING": True},
}


class SharedTables:
    """Finds tables of nftables that only removed networks used."""

    def __init__(self, scope: Scope, users: Users, pending: t.Callable[[str], bool]) -> None:
        """
        Args:
            pending: Returns whether a dry run leaves rules with this comment, or a chain of this name, and a run would have
                taken them away.
        """
        self._scope = scope
        self._users = users
        self._pending = pending

    def find(self, networks: t.Iterable[NetworkConfiguration], doubt: str) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            doubt: Why none of them may be removed, or an empty string.
        """
        plugins = [plugin for network in networks for plugin in configured(network)]
        for family, name, word in (
            ("", firewall_names.PORTS_TABLE, _PORTMAP),
            ("", firewall_names.MASQUERADE_TABLE, _MASQUERADE),
            (firewall_names.SPOOF_FAMILY, firewall_names.SPOOF_TABLE, _SPOOF),
        ):
            if any(plugin.type == word or plugin.keys.get(word) is True for plugin in plugins):
                for table in nftables.tables(name, family=family):
                    yield self._table(table, word, doubt)

    def _table(self, table: NftTable, word: str, doubt: str) -> Leak:
        evidence = "the plugins of a removed network shared it with all others"
        leak = Leak("shared table", "", f"nft {table.family} {table.name}", evidence)
        reason = self._users.reason_to_keep(word) or self._foreign(table) or doubt
        leak.evidence += "" if reason else ", and no network and no rule needs it any more"
        return self._scope.settle(leak, reason, lambda: nftables.remove_table(table))

    def _foreign(self, table: NftTable) -> str:
        """Return what in a table is neither of the plugins nor of a container that goes, as a sentence."""
        known = _CHAINS[table.name]
        strange = [
            *(f"the chain {chain}" for chain in table.hooks if chain not in known and not self._pending(chain)),
            *(f"the {one}" for one in table.others),
        ]
        if strange:
            return f"it has {strange[0]}, which is not the plugins'"
        for rule in table.rules:
            if known.get(rule.chain, True) and not (rule.comment and self._pending(rule.comment)):
                return f"{rule.chain} has a rule" + (f" with the comment {rule.comment}" if rule.comment else "")
        return ""


__all__ = ("SharedTables",)
