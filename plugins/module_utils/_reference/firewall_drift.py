# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the firewall rules of attachments with the node."""

from __future__ import annotations

import functools
import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import iptables, program
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.iptables_rules import IptablesView
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    FIREWALLD,
    IPTABLES,
    NFTABLES,
    FirewallPart,
    IptablesRule,
    MissingRule,
    NftablesRule,
    ZoneSource,
    main_messages,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall_state import (
    UnreadableRules,
    firewall_state,
)

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.nftables_rules import NftablesView

_LEGACY: t.Final = "legacy"

# The time of a file may lag behind the clock.
_CLOCK_MARGIN: t.Final = 1.0

T = t.TypeVar("T")


class PartDrift(t.NamedTuple):
    """Result of comparing one part of an attachment's firewall rules with the node.

    Attributes:
        backend: Where missing rules belong: `IPTABLES`, `NFTABLES` or `FIREWALLD`.
        missing: The rules that are missing or not reached, each with a message.
    """

    part: FirewallPart
    backend: str
    missing: tuple[MissingRule, ...]

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that drift reports; empty if nothing is missing."""
        return main_messages(self.missing)

    @property
    def lacks_all_own(self) -> bool:
        """Return whether all rules of iptables that no other container needs are missing."""
        missing = {rule for rule, dummy in self.missing}
        return all(rule in missing for rule in self.part.iptables if not rule.is_shared)

    @property
    def sources(self) -> tuple[ZoneSource, ...]:
        """The missing sources of zones of firewalld."""
        return tuple(rule for rule, dummy in self.missing if isinstance(rule, ZoneSource))

    @property
    def commands(self) -> tuple[str, ...]:
        """The missing rules, as commands for people to read."""
        part = self.part
        if self.backend == IPTABLES:
            rules = [rule for rule, dummy in self.missing if isinstance(rule, IptablesRule)]
            return tuple(f"{iptables.tool(part.family)} -t {rule.table} {rule.line}" for rule in rules)
        if self.backend == FIREWALLD:
            return tuple(f"firewall-cmd --zone={each.zone} --add-source={each.source}" for each in self.sources)
        place = f"{part.nftables.family} {part.nftables.name}" if part.nftables else ""
        others = [rule for rule, dummy in self.missing if isinstance(rule, NftablesRule) and rule.text]
        return tuple(f"nft add rule {place} {rule.chain} {rule.text}" for rule in others)


class RuleFaults(t.NamedTuple):
    """Result of comparing an attachment's firewall rules with the node.

    Attributes:
        messages: One for each missing rule.
        is_compared: Whether there was a rule to compare, and it could be.
        is_whole: Whether every expected rule was compared.
    """

    messages: tuple[str, ...]
    is_compared: bool
    is_whole: bool


class FirewallSnapshot:
    """The rules of the node's firewall. Each table is read when it is needed for the first time.

    Args:
        with_handles: Whether rules of nftables have their handles, with which they can be removed.
    """

    def __init__(self, *, with_handles: bool = False) -> None:
        self._with_handles = with_handles
        self._lock = threading.Lock()
        self._read: dict[t.Hashable, tuple[float, t.Any]] = {}
        self._errors: dict[tuple[t.Any, ...], CniError] = {}

    def iptables(self, family: int, table: str, since: float = 0.0) -> IptablesView | None:
        """Return a table of iptables that was read at a time or later; None if the node cannot list it."""
        return self._get((IPTABLES, family, table), since, lambda: _view(iptables.table(family, table)))

    def legacy(self, family: int, table: str, since: float = 0.0) -> IptablesView | None:
        """Return a table of the legacy iptables that the default one does not show; None as `iptables`."""
        return self._get((_LEGACY, family, table), since, lambda: _view(iptables.legacy_table(family, table)))

    def nftables(self, family: str, name: str, since: float = 0.0) -> NftablesView | None:
        """Return the tables of nftables with a name, of one family or of all families except bridge; None as `iptables`."""
        key = _nftables_key(family, name)
        return self._get(key, since, lambda: _nftables_view(*key[1:], with_handles=self._with_handles))

    @functools.cached_property
    def has_firewalld(self) -> bool:
        """Return whether firewalld is running in the node's network namespace."""
        from ansible_collections.cni.node.plugins.module_utils._linux import firewalld

        return firewalld.is_running()

    def sources(self, since: float = 0.0) -> frozenset[str] | None:
        """Return the sources of all zones of firewalld, which is running; None as `iptables`."""
        from ansible_collections.cni.node.plugins.module_utils._linux import firewalld

        return self._get((FIREWALLD,), since, firewalld.list_sources)

    def find_error(self, part: FirewallPart) -> CniError | None:
        """Return why the rules of a part could not be listed; None if the node just lacks the program."""
        keys: list[tuple[t.Any, ...]] = [(IPTABLES, part.family, rule.table) for rule in part.iptables[:1]]
        keys += [(_LEGACY, part.family, rule.table) for rule in part.iptables[:1]]
        keys += [_nftables_key(part.nftables.family, part.nftables.name)] if part.nftables else []
        keys += [(FIREWALLD,)] if part.sources else []
        return next((self._errors[key] for key in keys if key in self._errors), None)

    def require_listing(self, part: FirewallPart) -> None:
        """Raise an error if a backend that may have rules of a part cannot be listed.

        It may lack its program, unless the kernel has chains that show that the program was there.
        """
        for rule in part.iptables[:1]:
            if self.iptables(part.family, rule.table) is None:
                own = {each.chain for each in part.iptables if each.chain.startswith(firewall_names.CHAIN_PREFIX)}
                iptables.require_no_chain(part.family, rule.table, own.__contains__)
        if part.nftables and self.nftables(part.nftables.family, part.nftables.name) is None:
            from ansible_collections.cni.node.plugins.module_utils._linux import nftables

            nftables.require_no_chain(part.nftables.name)
        if part.sources and self.has_firewalld:
            self.sources()
        error = self.find_error(part)
        if error is not None and not program.is_unsupported(error):
            raise error

    def _get(self, key: tuple[t.Any, ...], since: float, read: t.Callable[[], T | None]) -> T | None:
        with self._lock:
            begun, snapshot = self._read.get(key, (-1.0, None))
            if begun < since:
                begun = time.time()
                try:
                    snapshot = read()
                    self._errors.pop(key, None)
                except CniError as exc:
                    snapshot = None
                    self._errors[key] = exc
                self._read[key] = begun, snapshot
            return t.cast("T | None", snapshot)


class RuleDrift:
    """Compares attachments with the node's firewall.

    The rules are read once for all attachments of a run. They are read again only if rules seem to be missing and
    the record of the attachment is younger than the snapshot.
    """

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self.snapshot = FirewallSnapshot()

    def find_drift(self, record: Record, network: NetworkConfiguration) -> RuleFaults:
        """Return which rules of an attachment are missing, without running a plugin.

        Args:
            network: The configuration in the record.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
        """
        try:
            parts = [] if network.disable_check else firewall_state(record, network)
        except UnreadableRules:  # CHECK tells the reason
            return RuleFaults((), is_compared=False, is_whole=False)
        found = self._find_parts(record, parts)
        messages = dict.fromkeys(message for part in found for message in part.messages)
        return RuleFaults(tuple(messages), bool(found), len(found) == len(parts))

    def _find_parts(self, record: Record, parts: t.Sequence[FirewallPart]) -> list[PartDrift]:
        """Return the parts that could be compared."""
        found = self._compare_all(parts, 0.0)
        if any(part.missing for part in found):
            changed = modification_time(self._records.path_of(record.attachment.key))
            found = self._compare_all(parts, min(time.time(), changed + _CLOCK_MARGIN))
        return found

    def _compare_all(self, parts: t.Iterable[FirewallPart], since: float) -> list[PartDrift]:
        return [drift for drift in (compare(part, self.snapshot, since) for part in parts) if drift is not None]


def compare(part: FirewallPart, snapshot: FirewallSnapshot, since: float = 0.0) -> PartDrift | None:
    """Compare a part with the configured backend; None if it cannot be listed.

    The other backends are tried as well, because an old release of a plugin ignores the choice. Whether a plugin has asked
    firewalld instead is not recorded: it has if none of its rules is there, and does so when it is called now.
    """
    drift = _compare_backends(part, snapshot, since)
    if drift and drift.missing and snapshot.find_error(part):
        return None  # a backend that could not be listed may have them
    if not part.sources or (drift and not drift.lacks_all_own) or not snapshot.has_firewalld:
        return drift
    present = snapshot.sources(since)
    if present is None:
        return None
    return PartDrift(part, FIREWALLD, _list_lost(part, present))


def require_comparison(part: FirewallPart, snapshot: FirewallSnapshot) -> PartDrift:
    """Compare a part with the node before something is written.

    Raises:
        CniError: The backend of the part cannot be listed, or lacks a program.
    """
    drift = _compare_backends(part, snapshot, 0.0)
    error = snapshot.find_error(part)
    # The plugin's choice is iptables. Other backends that cannot be listed do not matter: nothing is written to them.
    is_choice_open = drift is not None and bool(drift.missing) and drift.backend == NFTABLES and not part.backend
    if is_choice_open and error is not None and not program.is_unsupported(error):
        raise error
    if part.sources and (drift is None or drift.lacks_all_own) and snapshot.has_firewalld:
        present = snapshot.sources()
        if present is None:
            raise snapshot.find_error(part) or missing_program(part)
        return PartDrift(part, FIREWALLD, _list_lost(part, present))
    if drift is None:
        raise error or missing_program(part)
    return drift


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


def _list_lost(part: FirewallPart, present: t.Container[str]) -> tuple[MissingRule, ...]:
    return tuple((each, each.lost) for each in part.sources if each.source not in present)


def _compare_backends(part: FirewallPart, snapshot: FirewallSnapshot, since: float) -> PartDrift | None:
    comparisons = [_compare_iptables, _compare_legacy] if part.iptables else []
    comparisons += [_compare_nftables] if part.nftables else []
    if part.backend == NFTABLES:
        comparisons.reverse()
    first_drift = None
    for compare_backend in comparisons:
        drift = compare_backend(part, snapshot, since)
        if drift and not drift.missing:
            return drift
        first_drift = first_drift or drift
        if first_drift is None and part.backend:
            return None
    return first_drift


def _compare_iptables(part: FirewallPart, snapshot: FirewallSnapshot, since: float) -> PartDrift | None:
    return _compare_tables(part, snapshot.iptables, since)


def _compare_legacy(part: FirewallPart, snapshot: FirewallSnapshot, since: float) -> PartDrift | None:
    return _compare_tables(part, snapshot.legacy, since)


def _compare_tables(
    part: FirewallPart, read: t.Callable[[int, str, float], IptablesView | None], since: float
) -> PartDrift | None:
    view = read(part.family, part.iptables[0].table, since)
    if view is None:
        return None
    return PartDrift(part, IPTABLES, tuple((rule, rule.lost) for rule in view.find_missing(part.iptables)))


def _compare_nftables(part: FirewallPart, snapshot: FirewallSnapshot, since: float) -> PartDrift | None:
    table = part.nftables
    view = snapshot.nftables(table.family, table.name, since) if table else None
    return PartDrift(part, NFTABLES, tuple(view.drift(table))) if table and view else None


def _nftables_key(family: str, name: str) -> tuple[str, str, str]:
    return NFTABLES, family if family == firewall_names.SPOOF_FAMILY else "", name


def _view(table: iptables.Table | None) -> IptablesView | None:
    return None if table is None else IptablesView(table)


def _nftables_view(family: str, name: str, *, with_handles: bool) -> NftablesView | None:
    # A node whose rules are all in iptables does not need them.
    from ansible_collections.cni.node.plugins.module_utils._linux import nftables
    from ansible_collections.cni.node.plugins.module_utils._reference.nftables_rules import NftablesView

    if not nftables.is_installed():
        return None
    return NftablesView(nftables.tables(name, family=family, with_handles=with_handles))


__all__ = ("FirewallSnapshot", "PartDrift", "RuleDrift", "compare", "missing_program", "require_comparison")
