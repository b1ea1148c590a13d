# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names


def sweep(record: Record, records: RecordStore) -> int:
    """Remove the masquerade rules that DEL leaves behind, and that keep a later DEL from ever succeeding.

    The reference plugins (1.9.1 and before) ask the interface for the addresses whose rules have to go. Where
    interface or namespace have gone first, the rules stay, and so does the chain that the next attachment of
    the same container shares. It stays as well where somebody has removed the rule that leads to it.

    Returns:
        How many rules were left behind.

    Raises:
        CniError: A rule or a record cannot be read, or the rule not be removed.
    """
    if not _masquerades(record):
        return 0
    attachment = record.attachment
    names = (attachment.network, attachment.container_id)
    chain = firewall_names.masquerade_chain(*names)
    found = _found(record, chain)
    left = [rule for rules, dummy in found.values() for rule in rules if firewall_names.owner(rule.comment) == names]
    unreached = [family for family, (dummy, is_unreached) in found.items() if is_unreached]
    if left or unreached:
        others = [other for other in records.read_container(attachment) if other.attachment.key != attachment.key]
        in_use = {address for other in others for address in other.addresses}
        left = [rule for rule in left if rule.address not in in_use]
        unreached = [] if others else unreached
    for rule in left:
        nat.remove(rule)
    for family in unreached:
        nat.remove_chain(family, chain)
    return len(left)


def _found(record: Record, chain: str) -> dict[int, tuple[list[nat.Rule], bool]]:
    """Return what there is of each family that the attachment has, or may have.

    What was interrupted has no addresses yet. A node without IPv6 may have a tool that fails, and no rule of it.
    """
    has = {ipaddress.ip_address(address).version for address in record.addresses}
    found: dict[int, tuple[list[nat.Rule], bool]] = {}
    for family in has or iptables.FAMILIES:
        try:
            found[family] = nat.rules_and_orphan(family, firewall_names.MASQUERADE_HOOK, chain)
        except CniError:
            if family in has:
                raise
    return found


def _masquerades(record: Record) -> bool:
    if b'"ipMasq"' not in record.config:
        return False
    try:
        return any(plugin.keys.get("ipMasq") is True for plugin in record.network().plugins)
    except CniError:
        return False


__all__ = ("sweep",)
