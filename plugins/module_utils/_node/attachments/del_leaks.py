# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import iptables, nat, program
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, saved_values

# Keys of a configuration with which a DEL without a network namespace leaks firewall rules.
_MASQUERADES: t.Final = "ipMasq"
_CHECKS_MACS: t.Final = "macspoofchk"

_Removal = tuple[str, t.Callable[[], None]]


def remove_leaked_rules(record: Record, records: RecordStore) -> int:
    """Remove the masquerade rules that DEL leaks, because they make every later DEL fail.

    To remove rules, the reference plugins (1.9.1 and older) read the addresses from the interface. If the interface or
    its namespace is already gone, they leak the rules, and the chain that all attachments of the container in the
    network share. The chain also leaks if the rule that jumps to it was removed by hand.

    Returns:
        The number of rules that were removed.

    Raises:
        CniError: A rule or a record cannot be read, or a rule cannot be removed.
    """
    if not _masquerades(record):
        return 0
    attachment = record.attachment
    names = (attachment.network, attachment.container_id)
    chain = firewall_names.masquerade_chain(*names)
    by_family = _list_rules(record, chain)
    leaked = [
        rule for rules, dummy in by_family.values() for rule in rules if firewall_names.owner(rule.comment) == names
    ]
    orphaned = [family for family, (dummy, is_orphaned) in by_family.items() if is_orphaned]
    if leaked or orphaned:
        others = [other for other in records.read_container(attachment) if other.attachment.key != attachment.key]
        in_use = {address for other in others for address in other.addresses}
        leaked = [rule for rule in leaked if rule.address not in in_use]
        orphaned = [] if others else orphaned
    for rule in dict.fromkeys(leaked):
        nat.remove(rule)
    for family in orphaned:
        nat.remove_chain(family, chain)
    return len(leaked)


def _list_rules(record: Record, chain: str) -> dict[int, tuple[list[nat.Rule], bool]]:
    """Return the masquerade rules of each address family, and whether the chain exists without a rule that jumps to it.

    An interrupted ADD has recorded no addresses, so both families are listed. A node without IPv6 may have the tool for
    IPv6.
    """
    required = {ipaddress.ip_address(address).version for address in record.addresses}
    by_family: dict[int, tuple[list[nat.Rule], bool]] = {}
    for family in required or iptables.FAMILIES:
        try:
            by_family[family] = nat.list_rules_with_orphan(family, firewall_names.MASQUERADE_HOOK, chain)
        except CniError as exc:
            if family in required or not program.is_unsupported(exc):
                raise
    return by_family


def _masquerades(record: Record) -> bool:
    if _MASQUERADES.encode() not in record.config:
        return False
    try:
        return _has(record.network(), _MASQUERADES)
    except CniError:  # DEL has failed, and reports it
        return False


def remove_del_leaks(record: Record, records: RecordStore, paths: NodePaths) -> None:
    """Remove the rules and files that DEL of the reference plugins leaks.

    If the network namespace is gone, bridge and ptp (1.9.1 and older) run only their IPAM plugin, and leak nftables
    rules. tuning keeps the file with the values that it could not restore.

    Raises:
        CniError: Something cannot be read or removed.
    """
    network = _network(record)
    if network is None:
        return
    leaks = list(_saved_values(record, network, paths.tuning_dir))
    if not record.netns_for_delete():
        leaks += [*_masquerade_rules(record, network), *_spoof_checks(record, network)]
    owned = _read_other_owners(record, records, paths.state_dir) if leaks else set()
    for name, remove in leaks:
        if owned is not None and name not in owned:
            remove()


def _network(record: Record) -> NetworkConfiguration | None:
    """Return the recorded configuration, or None if its plugins leak nothing."""
    words = (_MASQUERADES, _CHECKS_MACS, saved_values.PLUGIN)
    if not any(word.encode() in record.config for word in words):
        return None
    try:
        return record.network()
    except CniError:  # DEL would have failed
        return None


def _saved_values(record: Record, network: NetworkConfiguration, tuning_dir: str) -> t.Iterator[_Removal]:
    names = record.attachment.key[1:]
    for directory in saved_values.directories(network, tuning_dir, is_trusted=record.is_own):
        file = saved_values.find(directory, *names)
        if file is not None:
            yield file.owner, file.remove


def _masquerade_rules(record: Record, network: NetworkConfiguration) -> t.Iterator[_Removal]:
    if not _has(network, _MASQUERADES):
        return
    from ansible_collections.cni.node.plugins.module_utils._linux import nftables

    instance = firewall_names.instance(*record.attachment.key)
    try:
        rules = nftables.rules(firewall_names.MASQUERADE_TABLE)
    except CniError as exc:
        uses_nftables = any(plugin.keys.get("ipMasqBackend") == "nftables" for plugin in network.plugins)
        if uses_nftables or not program.is_unsupported(exc):
            raise
        return  # a node with iptables may have nft, too
    for rule in rules:
        if rule.comment.partition(",")[0] == instance:
            yield instance, functools.partial(nftables.remove, rule)


def _spoof_checks(record: Record, network: NetworkConfiguration) -> t.Iterator[_Removal]:
    if not _has(network, _CHECKS_MACS):
        return
    from ansible_collections.cni.node.plugins.module_utils._reference import spoof_checks

    owner = firewall_names.spoof_owner(*record.attachment.key[1:])
    for check in spoof_checks.listing():
        if check.owner == owner:
            yield owner, check.remove


def _has(network: NetworkConfiguration, key: str) -> bool:
    return any(plugin.keys.get(key) is True for plugin in network.plugins)


def _read_other_owners(record: Record, records: RecordStore, state_dir: str) -> set[str] | None:
    """Return the owners of the rules and files of all other attachments, or None if a record cannot be read."""
    others, broken = AllRecords(records, state_dir).read_all_except(record)
    if broken:
        return None  # cni.node.gc reports what is kept
    keys = [other.attachment.key for other in others]
    owners = {firewall_names.instance(*key) for key in keys} | {firewall_names.spoof_owner(*key[1:]) for key in keys}
    return owners | {saved_values.owner(*key[1:]) for key in keys}


__all__ = ("remove_del_leaks", "remove_leaked_rules")
