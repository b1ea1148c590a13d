# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove the masquerade rules of iptables that DEL leaks, with one listing for all attachments of a group."""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit, commit_together
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._node.attachments.del_leaks import MASQUERADES, masquerades
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, owned_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import ContainerJump


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
    if MASQUERADES.encode() not in record.config:
        return 0
    try:
        if not masquerades(record.network()):
            return 0
    except CniError:  # DEL has failed, and reports it
        return 0
    search = _JumpSearch(record, records)
    _SEARCHES.submit(search)
    return search.removed


@dataclasses.dataclass
class _JumpSearch:
    """The search for the rules that DEL of one attachment has leaked.

    Attributes:
        removed: The number of rules that were found and removed.
    """

    record: Record
    records: RecordStore
    removed: int = 0

    @property
    def names(self) -> tuple[str, str]:
        """The network and the container, as the comments of rules name them."""
        return self.record.attachment.network, self.record.attachment.container_id

    @property
    def required(self) -> set[int]:
        """The families of the recorded addresses."""
        return {ipaddress.ip_address(address).version for address in self.record.addresses}

    def has_family(self, family: int) -> bool:
        """Return whether rules of a family may have been leaked. An interrupted ADD has recorded no addresses."""
        return family in (self.required or iptables.FAMILIES)

    def plan(self, table: Table, jumps: t.Sequence[ContainerJump]) -> tuple[list[str], int]:
        """Return the commands that remove leaked rules and then the chain that nothing jumps to any more, and the number of rules.

        Args:
            jumps: The rules that name the container and the network.
        """
        chain = firewall_names.masquerade_chain(*self.names)
        is_orphaned = chain in table.rules and chain not in table.jumps
        if not jumps and not is_orphaned:
            return [], 0
        key = self.record.attachment.key
        others = [each for each in self.records.read_container(self.record.attachment) if each.attachment.key != key]
        in_use = {address for other in others for address in other.addresses}
        leaked = [jump for jump in jumps if jump.address not in in_use]
        chains = dict.fromkeys(jump.target for jump in leaked if firewall_names.is_container_chain(jump.target))
        chains.update({chain: None} if is_orphaned and not others else {})
        return owned_rules.plan_removal(table, [jump.line for jump in leaked], chains), len(leaked)


def _remove_all(searches: t.Sequence[_JumpSearch]) -> dict[int, Exception]:
    """List the rules once for all searches, remove what was leaked, and return the errors by their numbers.

    A node without IPv6 may have the tool for IPv6.
    """
    view, errors = NodeView(), dict[int, Exception]()
    for family in iptables.FAMILIES:
        own = {number: each for number, each in enumerate(searches) if each.has_family(family) and number not in errors}
        try:
            present = view.require_iptables(family, owned_rules.NAT) if own else None
        except CniError as exc:
            is_unsupported = program.is_unsupported(exc)
            errors.update(
                {number: exc for number, each in own.items() if not is_unsupported or family in each.required}
            )
            continue
        if present is not None:
            errors.update(_remove_from(present.table, family, own))
    return errors


def _remove_from(table: Table, family: int, searches: t.Mapping[int, _JumpSearch]) -> dict[int, Exception]:
    errors: dict[int, Exception] = {}
    jumps: dict[tuple[str, str], list[ContainerJump]] = {}
    names = {each.names for each in searches.values()}
    for jump in owned_rules.find_jumps(family, table, firewall_names.MASQUERADE_HOOK, names):
        jumps.setdefault((jump.network, jump.container_id), []).append(jump)
    planned: dict[int, tuple[list[str], int]] = {}
    for number, search in searches.items():
        try:
            planned[number] = search.plan(table, jumps.get(search.names, ()))
        except CniError as exc:
            errors[number] = exc
    planned = {number: plan for number, plan in planned.items() if plan[0]}
    numbers = list(planned)
    failed = commit_together(functools.partial(_restore, family), [commands for commands, dummy in planned.values()])
    errors.update({numbers[position]: exc for position, exc in failed.items()})
    for number, (dummy, removed) in planned.items():
        searches[number].removed += 0 if number in errors else removed
    return errors


def _restore(family: int, planned: t.Sequence[t.Sequence[str]]) -> None:
    """Apply the commands of all searches in one transaction."""
    iptables.restore(family, {owned_rules.NAT: [command for commands in planned for command in commands]})


_SEARCHES = GroupCommit(_remove_all)
