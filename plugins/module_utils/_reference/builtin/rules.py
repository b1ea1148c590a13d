# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write the firewall rules of an attachment, and remove them again."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, raise_all
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat, nftables
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, firewall_repair, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_drift import FirewallSnapshot, compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import ContainerAddress, FirewallPart
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall_state import container_address


def write(parts: t.Sequence[FirewallPart], undo: Undo) -> None:
    """Write rules; those that are there stay. If the caller fails later, those of this attachment alone are removed.

    Raises:
        CniError: A rule could not be written.
    """
    if parts:
        undo.add(lambda: firewall_repair.take_back(parts))
        failed = firewall_repair.put_back(parts)
        raise_all("the node's firewall", [error for dummy, error in failed])


def require(parts: t.Iterable[FirewallPart]) -> None:
    """Raise an error if a rule is missing, for CHECK."""
    snapshot = FirewallSnapshot()
    drifts = (compare(part, snapshot) for part in parts)
    messages = [message for drift in drifts if drift for message in drift.messages]
    if messages:
        raise refuse(messages[0], "\n".join(messages[1:]))


def container_addresses(interfaces: t.Iterable[IpInterface]) -> list[ContainerAddress]:
    return [container_address(str(interface)) for interface in interfaces]


def remove_masquerading(attachment: Attachment, addresses: t.Collection[str]) -> None:
    """Remove the rules that masquerade a container's addresses.

    Args:
        addresses: The addresses of this attachment; without any, all rules of the container in the network.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    names = (attachment.network, attachment.container_id)
    chain = firewall_names.masquerade_chain(*names)
    for family in iptables.FAMILIES:
        rules, is_orphaned = _list_rules(family, firewall_names.MASQUERADE_HOOK, chain)
        for rule in rules:
            if firewall_names.owner(rule.comment) == names and (not addresses or rule.address in addresses):
                nat.remove(rule)
        if is_orphaned:
            nat.remove_chain(family, chain)
    _remove_nftables(firewall_names.MASQUERADE_TABLE, firewall_names.instance(*attachment.key), ())


def _list_rules(family: int, hook: str, chain: str) -> tuple[list[nat.Rule], bool]:
    """Return the same as `nat.list_rules_with_orphan`; nothing if the kernel does not support the tool of the family."""
    try:
        return nat.list_rules_with_orphan(family, hook, chain)
    except CniError:
        return [], False


def remove_port_mappings(attachment: Attachment, addresses: t.Collection[str]) -> None:
    """Remove the rules that map ports to a container; arguments and errors as `remove_masquerading`."""
    chain = firewall_names.ports_chain(attachment.network, attachment.container_id)
    for family in iptables.FAMILIES:
        rules, is_orphaned = _list_rules(family, firewall_names.PORTS_CHAIN, chain)
        for rule in rules:
            if rule.target == chain:
                nat.remove(rule)
        if is_orphaned:
            nat.remove_chain(family, chain)
    _remove_nftables(firewall_names.PORTS_TABLE, attachment.container_id, addresses)


def remove_spoof_checks(attachment: Attachment) -> None:
    """Remove the rules that check the MAC of a container.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    owner = firewall_names.spoof_owner(*attachment.key[1:])
    for check in spoof_checks.listing():
        if check.owner == owner:
            check.remove()


def _remove_nftables(table: str, owner: str, addresses: t.Collection[str]) -> None:
    """Remove the rules of an owner, of some of its addresses if any are given."""
    try:
        found = nftables.rules(table)
    except CniError:  # a node may have a tool that its kernel does not support
        return
    for rule in found:
        is_own = rule.comment.partition(",")[0] == owner
        if is_own and (not addresses or not rule.values.isdisjoint(addresses)):
            nftables.remove(rule)


__all__ = (
    "container_addresses",
    "remove_masquerading",
    "remove_port_mappings",
    "remove_spoof_checks",
    "require",
    "write",
)
