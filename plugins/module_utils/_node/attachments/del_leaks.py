# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove the rules of nftables and the files that DEL leaks, with one listing for all attachments of a group."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit, commit_together
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, spoof_checks
from ansible_collections.cni.node.plugins.module_utils._reference.rules.spoof_checks import SpoofCheck
from ansible_collections.cni.node.plugins.module_utils._reference.saved_values import TuningFile

# Keys of a configuration with which a DEL without a network namespace leaks firewall rules.
MASQUERADES = "ipMasq"
_CHECKS_MACS = "macspoofchk"
_WORDS = (MASQUERADES, _CHECKS_MACS, saved_values.PLUGIN)


def masquerades(network: NetworkConfiguration) -> bool:
    """Return whether a plugin of a network masquerades addresses."""
    return any(plugin.keys.get(MASQUERADES) is True for plugin in network.plugins)


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
    is_detached = not record.netns_for_delete()
    search = _LeakSearch(
        record,
        records,
        paths.state_dir,
        files=list(_saved_values(record, network, paths.tuning_dir)),
        backends=_masquerade_backends(network) if is_detached else None,
        checks_macs=is_detached and any(plugin.keys.get(_CHECKS_MACS) is True for plugin in network.plugins),
    )
    if search.files or search.backends is not None or search.checks_macs:
        _SEARCHES.submit(search)


def _network(record: Record) -> NetworkConfiguration | None:
    """Return the recorded configuration, or None if its plugins leak nothing."""
    if not any(word.encode() in record.config for word in _WORDS):
        return None
    try:
        return record.network()
    except CniError:  # DEL would have failed
        return None


def _saved_values(record: Record, network: NetworkConfiguration, tuning_dir: str) -> t.Iterator[TuningFile]:
    names = record.attachment.key[1:]
    for directory in saved_values.directories(network, tuning_dir, is_trusted=record.is_own):
        file = saved_values.find(directory, *names)
        if file is not None:
            yield file


def _masquerade_backends(network: NetworkConfiguration) -> frozenset[str] | None:
    """Return the configured backends of a network that masquerades; None if it does not."""
    if not masquerades(network):
        return None
    return frozenset(str(plugin.keys.get("ipMasqBackend") or "") for plugin in network.plugins)


@dataclasses.dataclass
class _LeakSearch:
    """The search for what DEL of one attachment has leaked.

    Attributes:
        files: The values that tuning has kept.
        backends: The configured backends of masquerade rules; None if it has none, or DEL has removed them.
        checks_macs: Whether DEL may have leaked the rules that check its MAC.
        rules: The masquerade rules that were found.
        checks: The chains that check its MAC that were found.
    """

    record: Record
    records: RecordStore
    state_dir: str
    files: list[TuningFile]
    backends: frozenset[str] | None
    checks_macs: bool
    rules: list[NftRule] = dataclasses.field(default_factory=list)
    checks: list[SpoofCheck] = dataclasses.field(default_factory=list)

    @property
    def instance(self) -> str:
        return firewall_names.instance(*self.record.attachment.key)

    @property
    def spoof_owner(self) -> str:
        return firewall_names.spoof_owner(*self.record.attachment.key[1:])

    def leave_to(self, owners: RecordedNames) -> None:
        """Leave alone what may belong to another attachment."""
        key = self.record.attachment.key
        self.files = [file for file in self.files if not owners.has(file.owner, key)]
        self.rules = [] if owners.has(self.instance, key) else self.rules
        self.checks = [] if owners.has(self.spoof_owner, key) else self.checks


class RecordedNames:
    """The names under which attachments own rules and files, by all records of a node."""

    def __init__(self, records: AllRecords) -> None:
        ours, elsewhere, broken = records.read_stores()
        self._is_known = not broken  # otherwise cni.node.gc reports what is kept
        self._ours: dict[str, set[Key]] = {}
        for record in ours:
            for name in _names(record.attachment.key):
                self._ours.setdefault(name, set()).add(record.attachment.key)
        self._elsewhere = {name for record in elsewhere for name in _names(record.attachment.key)}

    def has(self, name: str, key: Key) -> bool:
        """Return whether a name may belong to an attachment with another key."""
        return not self._is_known or name in self._elsewhere or bool(self._ours.get(name, set()) - {key})


def _names(key: Key) -> tuple[str, str, str]:
    return firewall_names.instance(*key), firewall_names.spoof_owner(*key[1:]), saved_values.owner(*key[1:])


def _remove_all(searches: t.Sequence[_LeakSearch]) -> dict[int, Exception]:
    """List rules and read records once for all searches, remove what was leaked, and return the errors by their numbers."""
    view = NodeView(with_handles=True)
    errors = {**_find_rules(view, searches), **_find_checks(view, searches)}
    leaking = {
        number: each
        for number, each in enumerate(searches)
        if number not in errors and (each.files or each.rules or each.checks)
    }
    owners: dict[tuple[str, str], RecordedNames] = {}
    for number, search in leaking.items():
        try:
            place = search.records.directory, search.state_dir
            if place not in owners:
                owners[place] = RecordedNames(AllRecords(search.records, search.state_dir))
            search.leave_to(owners[place])
            for file in search.files:
                file.remove()
        except CniError as exc:
            errors[number] = exc
    remaining = [number for number in leaking if number not in errors and leaking[number].rules]
    failed = commit_together(
        lambda own: nftables.remove(*(rule for rules in own for rule in rules)),
        [leaking[number].rules for number in remaining],
    )
    errors.update({remaining[position]: exc for position, exc in failed.items()})
    errors.update(_remove_checks({number: each.checks for number, each in leaking.items() if number not in errors}))
    return errors


def _find_rules(view: NodeView, searches: t.Sequence[_LeakSearch]) -> dict[int, Exception]:
    own = {number: search for number, search in enumerate(searches) if search.backends is not None}
    if not own:
        return {}
    try:
        present = view.require_nftables("", firewall_names.MASQUERADE_TABLE)
    except CniError as exc:
        # A node with iptables may have nft, too.
        is_unsupported = program.is_unsupported(exc)
        return {
            number: exc for number, each in own.items() if not is_unsupported or "nftables" in (each.backends or ())
        }
    for search in own.values():
        search.rules = present.find_owned(search.instance) if present else []
    return {}


def _find_checks(view: NodeView, searches: t.Sequence[_LeakSearch]) -> dict[int, Exception]:
    own = {number: search for number, search in enumerate(searches) if search.checks_macs}
    if not own:
        return {}
    try:
        checks = spoof_checks.listing(view)
    except CniError as exc:
        return dict.fromkeys(own, exc)
    for search in own.values():
        search.checks = [check for check in checks if check.owner == search.spoof_owner]
    return {}


def _remove_checks(checks: t.Mapping[int, t.Sequence[SpoofCheck]]) -> dict[int, Exception]:
    found = [(number, check) for number, own in checks.items() for check in own]
    errors = spoof_checks.remove([check for dummy, check in found])
    return {found[position][0]: error for position, error in errors.items()}


_SEARCHES = GroupCommit(_remove_all)
