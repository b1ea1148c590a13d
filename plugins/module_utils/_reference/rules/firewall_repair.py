# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Repair the firewall rules of attachments, many in one transaction."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.process import OUT_OF_TIME
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import conntrack, iptables
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, iptables_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import (
    PartDrift,
    compare,
    require_comparison,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FIREWALLD,
    IPTABLES,
    NFTABLES,
    FirewallPart,
    IptablesRule,
    NftablesTable,
    ZoneSource,
)

# Other programs may change the rules between reading and writing; then both are repeated.
_ATTEMPTS = 3
# A DEL at the same time removes the rules of each of its plugins.
_ATTEMPTS_TO_REMOVE = 8


def write_missing(parts: t.Sequence[FirewallPart]) -> list[tuple[FirewallPart, CniError]]:
    """Write the missing rules of many attachments, in one transaction for each tool.

    Rules that are there stay where they are. If a transaction fails, its parts are divided until those that fail are known.

    Returns:
        The parts with rules that could not be written, each with an error.
    """
    view = NodeView()
    zoned = [part for part in parts if part.sources]
    drifts, unlisted = _compare_all(zoned, view) if zoned and view.has_firewalld else ([], [])
    in_zones = [drift for drift in drifts if drift.backend == FIREWALLD]
    failed = [*unlisted, *_write_sources([drift for drift in in_zones if drift.missing])]
    done = {id(drift.part) for drift in in_zones} | {id(part) for part, dummy in unlisted}
    groups: dict[t.Hashable, list[FirewallPart]] = {}
    for part in parts:
        if id(part) not in done:
            groups.setdefault(_tool(part), []).append(part)
    return [*failed, *(each for group in groups.values() for each in _write_missing(group))]


def _write_sources(drifts: t.Sequence[PartDrift]) -> list[tuple[FirewallPart, CniError]]:
    """Add missing sources to zones of firewalld, and return the parts whose sources it has not accepted."""
    if not drifts:
        return []
    from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld

    error = CniError(Code.IO_FAILURE, "firewalld has not accepted the address", "see the journal of firewalld")
    for zone, sources in _by_zone(source for drift in drifts for source in drift.sources).items():
        try:
            firewalld.add_sources(zone, sources)
        except CniError as exc:
            error = exc
    after = NodeView()
    return [(drift.part, error) for drift in drifts if (compare(drift.part, after) or drift).missing]


def _by_zone(sources: t.Iterable[ZoneSource]) -> dict[str, list[str]]:
    zones: dict[str, list[str]] = {}
    for each in sources:
        zones.setdefault(each.zone, []).append(each.source)
    return zones


def _tool(part: FirewallPart) -> t.Hashable:
    """Return what identifies the program that writes a part, so that a failure of one does not affect those of others."""
    return part.family if part.iptables and part.backend != NFTABLES else NFTABLES


def _compare_all(
    parts: t.Iterable[FirewallPart], view: NodeView
) -> tuple[list[PartDrift], list[tuple[FirewallPart, CniError]]]:
    """Return the drift of parts, and those whose backend cannot be listed, each with an error."""
    drifts: list[PartDrift] = []
    unlisted: list[tuple[FirewallPart, CniError]] = []
    for part in parts:
        try:
            drifts.append(require_comparison(part, view))
        except Exception as exc:
            unlisted.append((part, as_error(exc)))
    return drifts, unlisted


def _write_missing(parts: t.Sequence[FirewallPart]) -> list[tuple[FirewallPart, CniError]]:
    error: CniError | None = None
    for _attempt in range(_ATTEMPTS):
        view = NodeView()
        drifts, unlisted = _compare_all(parts, view)
        if unlisted:  # any number of them would fail alike
            listed = [drift.part for drift in drifts]
            return [*unlisted, *(_write_missing(listed) if listed else [])]
        missing = [drift for drift in drifts if drift.missing]
        if not missing:
            _remove_duplicates(parts, view)
            return []
        parts = [drift.part for drift in missing]
        try:
            if not _apply(missing, view):
                error = CniError(Code.UNSUPPORTED_FIELD, "the record does not tell how its rules were written")
                break
        except Exception as exc:
            error = as_error(exc)
            if error.details == OUT_OF_TIME:  # every attempt would take as long
                return [(part, error) for part in parts]
    if len(parts) == 1:
        return [(parts[0], error or CniError(Code.TRY_AGAIN, "other programs keep removing the rules"))]
    middle = len(parts) // 2
    return [*_write_missing(parts[:middle]), *_write_missing(parts[middle:])]


def remove_own(parts: t.Sequence[FirewallPart]) -> None:
    """Remove the rules that belong to these attachments alone.

    A backend without its program has none of them.

    Raises:
        CniError: ``IO_FAILURE``, also if a backend that may have some of them cannot be listed.
    """
    for attempt in range(_ATTEMPTS_TO_REMOVE):
        view = NodeView(with_handles=True)
        for part in parts:
            _require_listing(part, view)
        try:
            _remove_present(parts, view)
            break
        except CniError as exc:
            if exc.details == OUT_OF_TIME or attempt + 1 == _ATTEMPTS_TO_REMOVE:
                raise
    _forget_flows(parts)


def _require_listing(part: FirewallPart, view: NodeView) -> None:
    """Raise an error if a backend that may have rules of a part cannot be listed.

    It may lack its program, unless the kernel has chains that show that the program was there.
    """
    for rule in part.iptables[:1]:
        if view.iptables(part.family, rule.table) is None:
            own = {each.chain for each in part.iptables if each.chain.startswith(firewall_names.CHAIN_PREFIX)}
            iptables.require_no_chain(part.family, rule.table, own.__contains__)
    if part.nftables and view.nftables(part.nftables.family, part.nftables.name) is None:
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables

        nftables.require_no_chain(part.nftables.name)
    if part.sources and view.has_firewalld:
        view.sources()
    error = view.find_error(part)
    if error is not None and not program.is_unsupported(error):
        raise error


def _remove_present(parts: t.Sequence[FirewallPart], view: NodeView) -> None:
    for family, table in _places(parts):
        present = view.iptables(family, table)
        if present is not None:
            rules = [rule for rule in _rules(parts, family, table) if not rule.is_shared]
            _restore(family, {table: iptables_rules.plan_removal(present, rules)})
    _remove_nftables([part.nftables for part in parts if part.nftables], view)
    _remove_sources([source for part in parts for source in part.sources], view)


def _remove_sources(sources: t.Sequence[ZoneSource], view: NodeView) -> None:
    if sources and view.has_firewalld:
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld

        present = view.sources() or ()  # what cannot be listed was an error before
        for zone, own in _by_zone(source for source in sources if source.source in present).items():
            firewalld.remove_sources(zone, own)


def _apply(drifts: t.Sequence[PartDrift], view: NodeView) -> bool:
    """Write the missing rules; return whether there was anything to write."""
    parts = [drift.part for drift in drifts if drift.backend == IPTABLES]
    scripts: dict[int, dict[str, list[str]]] = {}
    for family, table in _places(parts):
        present = view.iptables(family, table)
        commands = iptables_rules.plan(present, _rules(parts, family, table)) if present else []
        if commands:
            scripts.setdefault(family, {})[table] = commands
    for family, tables in scripts.items():
        _restore(family, tables)
    commands = _plan_nftables([drift.part.nftables for drift in drifts if drift.backend == NFTABLES], view)
    if commands:
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables

        nftables.change(commands)
    _forget_flows(drift.part for drift in drifts)
    return bool(scripts or commands)


def _forget_flows(parts: t.Iterable[FirewallPart]) -> None:
    """Forget the flows to mapped UDP ports, which would go on to where they went before."""
    ports: dict[int, set[int]] = {}
    for part in parts:
        ports.setdefault(part.family, set()).update(part.udp_ports)
    for family, own in ports.items():
        conntrack.forget_udp(family, own)


def _places(parts: t.Iterable[FirewallPart]) -> dict[tuple[int, str], None]:
    """Return the families and tables of iptables that have rules of these parts."""
    return {(part.family, rule.table): None for part in parts for rule in part.iptables}


def _rules(parts: t.Iterable[FirewallPart], family: int, table: str) -> list[IptablesRule]:
    return [rule for part in parts if part.family == family for rule in part.iptables if rule.table == table]


def _restore(family: int, tables: t.Mapping[str, t.Sequence[str]]) -> None:
    if any(tables.values()):
        iptables.restore(family, tables)


def _remove_duplicates(parts: t.Sequence[FirewallPart], view: NodeView) -> None:
    """Remove the second one of rules that a plugin has added at the same time."""
    for family, table in _places(parts):
        present = view.iptables(family, table)
        commands = iptables_rules.plan_without_duplicates(present, _rules(parts, family, table)) if present else []
        try:
            _restore(family, {table: commands})
        except CniError:  # another run has removed it; a second rule does no harm
            continue


def _by_name(tables: t.Iterable[NftablesTable | None]) -> dict[tuple[str, str], list[NftablesTable]]:
    grouped: dict[tuple[str, str], list[NftablesTable]] = {}
    for table in tables:
        if table is not None:
            grouped.setdefault((table.family, table.name), []).append(table)
    return grouped


def _plan_nftables(tables: t.Iterable[NftablesTable | None], view: NodeView) -> list[str]:
    commands: list[str] = []
    for (family, name), group in _by_name(tables).items():
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import nftables_rules

        present = view.nftables(family, name)
        commands += nftables_rules.plan(present, group) if present else []
    return commands


def _remove_nftables(tables: t.Iterable[NftablesTable], view: NodeView) -> None:
    for (family, name), group in _by_name(tables).items():
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import nftables_rules

        present = view.nftables(family, name)
        commands = nftables_rules.plan_removal(present, group) if present else []
        if commands:
            nftables.change(commands)
