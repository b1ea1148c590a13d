# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remove the firewall rules of attachments by the names of their owners, for DEL: the addresses may not be known."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import divide
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nf_tables, nftables, rule_cache
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.owned_rules import NAT, plan_removal

MASQUERADE = "masquerade"
PORTS = "ports"
# The tables of nftables by the kind of their rules.
_NFTABLES = {firewall_names.MASQUERADE_TABLE: MASQUERADE, firewall_names.PORTS_TABLE: PORTS}


class RuleRemoval(t.NamedTuple):
    """The rules of one attachment that are to be removed.

    Attributes:
        kind: `MASQUERADE` or `PORTS`.
        addresses: The addresses of the attachment; None if they are not known, which stands for all of the container.
    """

    attachment: Attachment
    kind: str
    addresses: frozenset[str] | None

    def has_family(self, family: int) -> bool:
        """Return whether rules of an address family may belong to the attachment."""
        return self.addresses is None or any((":" in address) == (family == 6) for address in self.addresses)

    @property
    def chain(self) -> str:
        """The chain of iptables that belongs to the container."""
        names = (self.attachment.network, self.attachment.container_id)
        masquerade, ports = firewall_names.container_chains(*names)
        return masquerade if self.kind == MASQUERADE else ports

    @property
    def owner(self) -> str:
        """The comment of its rules in nftables, up to the first comma."""
        key = self.attachment.key
        return firewall_names.instance(*key) if self.kind == MASQUERADE else self.attachment.container_id


class _Unlisted(Exception):
    """A firewall that cannot be listed and may have rules of some removals."""

    def __init__(self, error: CniError, numbers: frozenset[int]) -> None:
        super().__init__(error)
        self.error = error
        self.numbers = numbers


def remove(removals: t.Sequence[RuleRemoval]) -> dict[int, Exception]:
    """Remove rules, those of each tool in one transaction.

    If a transaction fails, the removals are divided until those that fail are known.

    Returns:
        The errors of removals that failed, by their numbers.
    """
    # The kernel's chains cost less than a program that lists all rules, but more than a kept listing.
    if not rule_cache.is_kept() and not _may_exist(removals):
        return {}
    view = NodeView()
    try:
        for family in iptables.FAMILIES:
            _remove_from_iptables(view, family, removals)
        _remove_from_nftables(view, removals)
    except _Unlisted as exc:
        others = [number for number in range(len(removals)) if number not in exc.numbers]
        rest = remove([removals[number] for number in others]) if others else {}
        return {
            **dict.fromkeys(exc.numbers, exc.error),
            **{others[number]: error for number, error in rest.items()},
        }
    except CniError as exc:
        return divide(remove, removals, exc)
    return {}


def _may_exist(removals: t.Sequence[RuleRemoval]) -> bool:
    """Return whether the kernel may have rules of removals, according to its chains."""
    if iptables.may_have_legacy_table(NAT):
        return True
    try:
        present = nf_tables.list_chains()
    except CniError:  # the programs report why
        return True
    own = {removal.chain for removal in removals}
    return any(chain.name in own or chain.table in _NFTABLES for chain in present)


def _remove_from_iptables(view: NodeView, family: int, removals: t.Sequence[RuleRemoval]) -> None:
    own = frozenset(number for number, removal in enumerate(removals) if removal.has_family(family))
    try:
        present = view.require_iptables(family, NAT) if own else None
        if present is None and own:
            iptables.require_no_chain(family, NAT, {removals[number].chain for number in own}.__contains__)
    except CniError as exc:
        if program.is_unsupported(exc):  # a node may have a tool that its kernel does not support
            return
        raise _Unlisted(exc, own) from exc
    if present is None:
        return
    # The interfaces of a container share its chain.
    by_chain: dict[str, list[RuleRemoval]] = {}
    for removal in (removals[number] for number in sorted(own)):
        by_chain.setdefault(removal.chain, []).append(removal)
    commands = [command for chain, each in by_chain.items() for command in _plan_iptables(present.table, chain, each)]
    if commands:
        iptables.restore(family, {NAT: commands})


def _plan_iptables(table: iptables.Table, chain: str, removals: t.Sequence[RuleRemoval]) -> list[str]:
    """Return the commands that remove the jumps to a container's chain, and the chain if no other jump is left.

    A jump that plugins have written twice, because they ran at the same time, is removed twice. A chain to which a rule was
    lost is removed as well.
    """
    if chain not in table.rules:
        return []
    jumps = table.jumps.get(chain, ())
    return plan_removal(table, [line for line in jumps if any(_is_own(line, each) for each in removals)], [chain])


def _is_own(line: str, removal: RuleRemoval) -> bool:
    """Return whether a jump to the container's chain belongs to the attachment: its interfaces share the chain."""
    if removal.addresses is None:
        return True
    if removal.kind == PORTS:
        return bool(removal.addresses)
    source = iptables.value(iptables.words(line), "-s")
    address, dummy, length = source.partition("/")
    is_host = length in ("", "32", "128")
    # Releases before 0.8 match the network.
    return address in removal.addresses or (bool(removal.addresses) and not is_host)


def _remove_from_nftables(view: NodeView, removals: t.Sequence[RuleRemoval]) -> None:
    commands: dict[str, None] = {}
    for name, kind in _NFTABLES.items():
        own = {removal.owner: removal for removal in removals if removal.kind == kind}
        try:
            rules = _find_in_nftables(view, name, own) if own else []
            if own:
                nftables.require_no_chain(name)
        except CniError as exc:
            if program.is_unsupported(exc):
                continue
            numbers = frozenset(number for number, removal in enumerate(removals) if removal.kind == kind)
            raise _Unlisted(exc, numbers) from exc
        for rule in rules:
            place = f"{rule.family} {rule.table} {rule.chain}"
            commands[f"delete rule {place} handle {rule.handle}"] = None
    if commands:
        nftables.change(commands)


def _find_in_nftables(view: NodeView, name: str, removals: t.Mapping[str, RuleRemoval]) -> list[nftables.NftRule]:
    """Return the rules of removals, by their owners, in the tables with a name, each with its handle."""
    found = _find_rules(view, name, removals)
    return found if all(rule.handle for rule in found) else _find_rules(NodeView(with_handles=True), name, removals)


def _find_rules(view: NodeView, name: str, removals: t.Mapping[str, RuleRemoval]) -> list[nftables.NftRule]:
    present = view.require_nftables("", name)
    owned = (
        (rule, removal)
        for owner, removal in removals.items()
        for rule in (present.find_owned(owner) if present else ())
    )
    return [rule for rule, removal in owned if _has_address(rule, removal)]


def _has_address(rule: nftables.NftRule, removal: RuleRemoval) -> bool:
    return removal.kind == MASQUERADE or removal.addresses is None or not rule.values.isdisjoint(removal.addresses)
