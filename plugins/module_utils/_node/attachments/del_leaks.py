# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove the rules and files that DEL leaks, with one listing for all attachments of a group."""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import (
    Listing,
    OwnedItem,
    list_groups,
    own_file,
    remove_groups,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules import (
    firewall_names,
    owned_rules,
    spoof_checks,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.forwarding import ISOLATING_POLICIES
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import ContainerChain
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import HOST_END

# Keys of a configuration with which DEL leaks firewall rules.
_MASQUERADES = "ipMasq"
_CHECKS_MACS = "macspoofchk"
_ISOLATES = "ingressPolicy"
_WORDS = (_MASQUERADES, _CHECKS_MACS, _ISOLATES, saved_values.PLUGIN)

_JUMPS: dict[int, Listing] = {
    family: functools.partial(owned_rules.list_jumps, family=family, hooks=(firewall_names.MASQUERADE_HOOK,))
    for family in iptables.FAMILIES
}
_ORPHANS: dict[int, Listing] = {
    family: functools.partial(owned_rules.list_orphans, family=family) for family in iptables.FAMILIES
}
_NFTABLES: Listing = functools.partial(owned_rules.list_nftables, table=firewall_names.MASQUERADE_TABLE)


def remove_del_leaks(record: Record, records: RecordStore, paths: NodePaths, *, is_deleted: bool) -> int:
    """Remove the rules and files that DEL of the reference plugins leaks.

    To remove rules, the plugins (1.9.1 and older) read the addresses from the interface. If the interface is already gone,
    they leak the rules of iptables that masquerade, and the chain that all attachments of the container in the network
    share; both make every later DEL fail. The chain also leaks if the rule that jumps to it was removed by hand. If the
    network namespace is gone, bridge and ptp run only their IPAM plugin, and leak rules of nftables as well. firewall keeps
    the rules that isolate a link, which with ptp no other attachment has. tuning keeps the file with the values that it could
    not restore.

    Args:
        is_deleted: Whether DEL has succeeded. Otherwise only rules of iptables are removed.

    Returns:
        The number of rules of iptables that were removed.

    Raises:
        CniError: Something cannot be read or removed.
    """
    network = _network(record)
    if network is None:
        return 0
    key, is_detached = record.attachment.key, is_deleted and not record.netns_for_delete()
    listings: dict[Listing, t.Hashable] = {}
    required: set[Listing] = set()
    if any(plugin.keys.get(_MASQUERADES) is True for plugin in network.plugins):
        # An interrupted ADD has recorded no addresses.
        families = {ipaddress.ip_address(address).version for address in record.addresses}
        for family in families or iptables.FAMILIES:
            listings.update({_JUMPS[family]: key[:2], _ORPHANS[family]: firewall_names.masquerade_chain(*key[:2])})
            required.update((_JUMPS[family], _ORPHANS[family]) if family in families else ())
        if is_detached:
            listings[_NFTABLES] = firewall_names.instance(*key)
            required |= {_NFTABLES for plugin in network.plugins if plugin.keys.get("ipMasqBackend") == "nftables"}
    if is_detached and any(plugin.keys.get(_CHECKS_MACS) is True for plugin in network.plugins):
        listings[spoof_checks.list_owned] = firewall_names.spoof_owner(*key[1:])
        required.add(spoof_checks.list_owned)
    if is_deleted and any(plugin.keys.get(_ISOLATES) in ISOLATING_POLICIES for plugin in network.plugins):
        link = next(iter(record.node_interfaces), "")
        if HOST_END.fullmatch(link) and rtnetlink.link(link) is None:
            listings[owned_rules.list_isolated_links] = link
    directories = saved_values.directories(network, paths.tuning_dir, is_trusted=record.is_own) if is_deleted else ()
    files = (saved_values.find(directory, *key[1:]) for directory in directories)
    search = _LeakSearch(
        record, records, paths.state_dir, listings, required, [own_file(file) for file in files if file]
    )
    if search.listings or search.files:
        _SEARCHES.submit(search)
    return search.removed


def _network(record: Record) -> NetworkConfiguration | None:
    """Return the recorded configuration, or None if its plugins leak nothing."""
    if not any(word.encode() in record.config for word in _WORDS):
        return None
    try:
        return record.network()
    except CniError:  # DEL has failed, and reports it
        return None


@dataclasses.dataclass
class _LeakSearch:
    """The search for what DEL of one attachment has leaked.

    Attributes:
        listings, required: As in `Search`.
        files: The values that tuning has kept.
        removed: The number of rules of iptables that were found and removed.
    """

    record: Record
    records: RecordStore
    state_dir: str
    listings: dict[Listing, t.Hashable]
    required: set[Listing]
    files: list[OwnedItem]
    removed: int = 0

    def select(self, items: t.Iterable[OwnedItem], read_names: t.Callable[..., RecordedNames]) -> list[OwnedItem]:
        """Return the items that cannot belong to another attachment, the files included."""
        by_type: dict[bool, list[OwnedItem]] = {True: [], False: list(self.files)}
        for item in items:
            by_type[isinstance(item.content, ContainerChain)].append(item)
        key = self.record.attachment.key
        container = self.records.read_container(self.record.attachment) if by_type[True] else ()
        others = [other for other in container if other.attachment.key != key]
        in_use = {address for other in others for address in other.addresses}
        leaks = [
            item for item in by_type[True] if (in_use.isdisjoint(item.addresses) if item.content.line else not others)
        ]
        self.removed = sum(bool(item.content.line) for item in leaks)
        recorded = read_names(self.records, self.state_dir) if by_type[False] else None
        return leaks + [item for item in by_type[False] if recorded and not recorded.has(item.owner, key)]


class RecordedNames:
    """The names under which attachments own rules and files, by all records of a node."""

    def __init__(self, records: RecordStore, state_dir: str) -> None:
        ours, elsewhere, broken = AllRecords(records, state_dir).read_stores()
        self._is_known = not broken  # otherwise cni.node.gc reports what is kept
        self._ours: dict[t.Hashable, set[Key]] = {}
        for record in ours:
            for name in _names(record.attachment.key):
                self._ours.setdefault(name, set()).add(record.attachment.key)
        self._elsewhere = {name for record in elsewhere for name in _names(record.attachment.key)}

    def has(self, name: t.Hashable, key: Key) -> bool:
        """Return whether a name may belong to an attachment with another key."""
        return not self._is_known or name in self._elsewhere or bool(self._ours.get(name, set()) - {key})


def _names(key: Key) -> tuple[str, str, str]:
    return firewall_names.instance(*key), firewall_names.spoof_owner(*key[1:]), saved_values.owner(*key[1:])


def _remove_all(searches: t.Sequence[_LeakSearch]) -> dict[int, Exception]:
    """List rules and read records once for all searches, remove what was leaked, and return the errors by their numbers."""
    view = NodeView(with_handles=True)
    groups, errors = list_groups(searches, view)
    read_names = functools.lru_cache(maxsize=None)(RecordedNames)
    for number, search in enumerate(searches):
        try:
            groups[number] = search.select(groups[number], read_names)
        except CniError as exc:
            groups[number], errors[number] = [], exc
    return {**remove_groups(groups, view), **errors}


_SEARCHES = GroupCommit(_remove_all)
