# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names, interface_drift
from ansible_collections.cni.node.plugins.module_utils._reference.expected_rules import expected_rules
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_rules import (
    ExpectedRule,
    Masquerading,
    PortMapping,
    SpoofChecking,
)
from ansible_collections.cni.node.plugins.module_utils._reference.interface_drift import LinkDrift

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.firewall_rules import NftListing


class AttachmentDrift(t.NamedTuple):
    """Differences between an attachment's record and the kernel.

    Attributes:
        links: Drift in the container's network namespace and of the node's links.
        rules: Messages about missing rules in the node's firewall.
    """

    links: LinkDrift
    rules: tuple[str, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        return (*self.links.inside, *self.links.on_node, *self.rules)

    def places(self, netns: str) -> str:
        """Return the places in which something is missing, as a phrase."""
        links = self.links
        places = ((links.inside, f"in {netns}"), (links.on_node, "on the node"), (self.rules, "in the node's firewall"))
        return " and ".join(place for faults, place in places if faults)


def compare(record: Record, rules: RuleDrift | None) -> AttachmentDrift | None:
    """Compare an attachment's record with the kernel, without running a plugin.

    Args:
        rules: Compares the node's firewall; None skips it.

    Returns:
        None if the record has nothing that can be compared.

    Raises:
        CniError: The kernel cannot be read, or the record cannot be used.
    """
    network = record.network()
    links = interface_drift.find_drift(record, network)
    missing = rules.find_drift(record, network) if rules else None
    return None if links is None and missing is None else AttachmentDrift(links or LinkDrift((), ()), missing or ())


# Seconds by which the clock of files may be behind that of programs.
_CLOCK_MARGIN: t.Final = 1.0

T = t.TypeVar("T")
# Rules that plugins make with iptables or nftables.
_AnyBackend = t.Union[Masquerading, PortMapping]


class RuleDrift:
    """Compares attachments with the node's firewall.

    The rules are read once for all attachments of a run. They are read again only if rules seem to be missing and
    the record of the attachment is younger than the snapshot.
    """

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._snapshots: dict[t.Hashable, tuple[float, t.Any]] = {}

    def find_drift(self, record: Record, network: NetworkConfiguration) -> tuple[str, ...] | None:
        """Return which rules of bridge, ptp and portmap are missing, without running a plugin.

        Args:
            network: The configuration in the record.

        Returns:
            A message for each missing rule, or None if no rule is expected or none could be compared.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
        """
        rules = [] if network.disable_check else expected_rules(record, network)
        messages = self._compare_all(rules, 0.0)
        if any(messages):
            changed = modification_time(self._records.path_of(record.attachment.key))
            messages = self._compare_all(rules, min(time.time(), changed + _CLOCK_MARGIN))
        return tuple(dict.fromkeys(filter(None, messages))) if messages else None

    def _compare_all(self, rules: t.Iterable[ExpectedRule], since: float) -> list[str]:
        """Return the drift of each rule that could be compared, an empty string for a rule that is there."""
        return [drift for drift in (self._compare(rule, since) for rule in rules) if drift is not None]

    def _compare(self, rule: ExpectedRule, since: float) -> str | None:
        """Return the drift of a rule in the configured backend.

        The other backends are tried as well, because an old release of a plugin ignores the choice.
        """
        if isinstance(rule, SpoofChecking):
            return self._compare_nftables(rule, since)
        comparisons = [self._compare_iptables, self._compare_legacy, self._compare_nftables]
        if rule.backend == "nftables":
            comparisons.reverse()
        first_drift = None
        for compare in comparisons:
            drift = compare(rule, since)
            if drift == "":
                return ""
            first_drift = first_drift or drift
            if first_drift is None and rule.backend:
                return None
        return first_drift

    def _compare_iptables(self, rule: _AnyBackend, since: float) -> str | None:
        family = rule.address.family
        nat = self._snapshot(family, since, lambda: iptables.table(family, "nat"))
        return None if nat is None else rule.drift_in_iptables(nat)

    def _compare_legacy(self, rule: _AnyBackend, since: float) -> str | None:
        family = rule.address.family
        nat = self._snapshot(("legacy", family), since, lambda: iptables.legacy_table(family, "nat"))
        return None if nat is None else rule.drift_in_iptables(nat)

    def _compare_nftables(self, rule: ExpectedRule, since: float) -> str | None:
        family = firewall_names.SPOOF_FAMILY if isinstance(rule, SpoofChecking) else ""
        listing = self._snapshot((family, rule.table), since, lambda: _nft_listing(rule.table, family))
        return None if listing is None else rule.drift_in_nftables(listing)

    def _snapshot(self, key: t.Hashable, since: float, read: t.Callable[[], T | None]) -> T | None:
        """Return a snapshot that was begun at ``since`` or later; None if the node cannot list its rules."""
        with self._lock:
            begun, snapshot = self._snapshots.get(key, (-1.0, None))
            if begun < since:
                begun = time.time()
                try:
                    snapshot = read()
                except CniError:  # a node without IPv6 may have its tool
                    snapshot = None
                self._snapshots[key] = begun, snapshot
            return t.cast("T | None", snapshot)


def _nft_listing(table: str, family: str) -> NftListing | None:
    from ansible_collections.cni.node.plugins.module_utils._linux import nftables
    from ansible_collections.cni.node.plugins.module_utils._reference.firewall_rules import NftListing

    return NftListing(nftables.tables(table, family=family)) if nftables.is_installed() else None


__all__ = ("AttachmentDrift", "RuleDrift", "compare")
