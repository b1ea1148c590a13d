# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the firewall rules of attachments with the node."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FIREWALLD,
    IPTABLES,
    NFTABLES,
    FirewallPart,
    IptablesRule,
    MissingRule,
    NftablesRule,
    Purpose,
    ZoneSource,
    main_messages,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.iptables_rules import IptablesView


class PartDrift(t.NamedTuple):
    """Result of comparing one part of an attachment's firewall rules with the node.

    Attributes:
        backend: Where missing rules belong: `IPTABLES`, `NFTABLES` or `FIREWALLD`.
        missing: The rules that are missing or not reached.
    """

    part: FirewallPart
    backend: str
    missing: tuple[MissingRule, ...]

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that drift reports; empty if nothing is missing."""
        return main_messages(self.missing)

    def find_missing(self, purpose: Purpose) -> list[MissingRule]:
        """Return the missing rules that serve a purpose."""
        return [each for each in self.missing if each.rule.purpose is purpose]

    @property
    def lacks_all_own(self) -> bool:
        """Return whether all rules of iptables that no other container needs are missing."""
        missing = {each.rule for each in self.missing}
        return all(rule in missing for rule in self.part.iptables if not rule.is_shared)

    @property
    def sources(self) -> tuple[ZoneSource, ...]:
        """The missing sources of zones of firewalld."""
        return tuple(each.rule for each in self.missing if isinstance(each.rule, ZoneSource))

    @property
    def commands(self) -> tuple[str, ...]:
        """The missing rules, as commands for people to read."""
        part = self.part
        if self.backend == IPTABLES:
            rules = [each.rule for each in self.missing if isinstance(each.rule, IptablesRule)]
            return tuple(f"{iptables.tool(part.family)} -t {rule.table} {rule.line}" for rule in rules)
        if self.backend == FIREWALLD:
            return tuple(f"firewall-cmd --zone={each.zone} --add-source={each.source}" for each in self.sources)
        place = f"{part.nftables.family} {part.nftables.name}" if part.nftables else ""
        others = [each.rule for each in self.missing if isinstance(each.rule, NftablesRule) and each.rule.text]
        return tuple(f"nft add rule {place} {rule.chain} {rule.text}" for rule in others)


def compare(part: FirewallPart, view: NodeView, since: float = 0.0) -> PartDrift | None:
    """Compare a part with the configured backend; None if it cannot be listed.

    The other backends are tried as well, because an old release of a plugin ignores the choice. Whether a plugin has asked
    firewalld instead is not recorded: it has if none of its rules is there, and does so when it is called now.
    """
    drift = _compare_backends(part, view, since)
    if drift and drift.missing and view.find_error(part):
        return None  # a backend that could not be listed may have them
    return _compare_zones(drift, part, view, since)


def require_comparison(part: FirewallPart, view: NodeView) -> PartDrift:
    """Compare a part with the node before something is written.

    Raises:
        CniError: The backend of the part cannot be listed, or lacks a program.
    """
    drift = _compare_backends(part, view, 0.0)
    if drift is not None and drift.missing and not part.backend:
        _require_choice(drift, view)
    drift = _compare_zones(drift, part, view, 0.0)
    if drift is None:
        raise view.find_error(part) or missing_program(part)
    return drift


def _require_choice(drift: PartDrift, view: NodeView) -> None:
    """Raise the error with which iptables could not be listed, which plugins choose if no backend is configured.

    Where the kernel does not support it, rules are written to nftables, but never to the legacy tables.
    """
    part = drift.part
    if part.iptables and view.iptables(part.family, part.iptables[0].table) is None:
        error = view.find_error(part)
        if error is not None and (drift.backend == IPTABLES or not program.is_unsupported(error)):
            raise error


def missing_program(part: FirewallPart) -> CniError:
    """Return the error for a node that lacks the program of a part's backend."""
    if part.backend == FIREWALLD:
        return CniError(Code.NOT_AVAILABLE, "firewalld is not running", "start it, or use another backend")
    name, package = f"{iptables.tool(part.family)}-save", "iptables"
    if part.backend == NFTABLES:
        name = package = "nft"
    return CniError(
        Code.NOT_AVAILABLE, f"{name} is not installed", f"expected: the program {name}; install the package {package}"
    )


def _compare_zones(drift: PartDrift | None, part: FirewallPart, view: NodeView, since: float) -> PartDrift | None:
    """Return the drift of the zones if firewalld may have been asked, else that of the backends; None if it is not known."""
    if not part.sources or (drift and not drift.lacks_all_own) or not view.has_firewalld:
        return drift
    present = view.sources(since)
    if present is None:
        return None
    missing = tuple(MissingRule(each, each.lost) for each in part.sources if each.source not in present)
    return PartDrift(part, FIREWALLD, missing)


def _compare_backends(part: FirewallPart, view: NodeView, since: float) -> PartDrift | None:
    """Return the drift of the first backend that lacks nothing, or else that of the first one that can be listed."""
    tables = (view.iptables, view.legacy) if part.iptables else ()
    comparisons: list[t.Callable[[], PartDrift | None]] = [
        functools.partial(_compare_iptables, part, read, since) for read in tables
    ]
    comparisons += [functools.partial(_compare_nftables, part, view, since)] if part.nftables else []
    if part.backend == NFTABLES:
        comparisons.reverse()
    first_drift = None
    for compare_backend in comparisons:
        drift = compare_backend()
        if drift and not drift.missing:
            return drift
        first_drift = first_drift or drift
        if first_drift is None and part.backend:
            return None
    return first_drift


def _compare_iptables(
    part: FirewallPart, read: t.Callable[[int, str, float], IptablesView | None], since: float
) -> PartDrift | None:
    rules = read(part.family, part.iptables[0].table, since)
    if rules is None:
        return None
    missing = rules.find_missing(part.iptables)
    return PartDrift(part, IPTABLES, tuple(MissingRule(rule, rule.lost, rule.hooks) for rule in missing))


def _compare_nftables(part: FirewallPart, view: NodeView, since: float) -> PartDrift | None:
    table = part.nftables
    rules = view.nftables(table.family, table.name, since) if table else None
    return PartDrift(part, NFTABLES, tuple(rules.drift(table))) if table and rules else None
