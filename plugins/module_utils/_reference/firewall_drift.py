# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.files import modification_time
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import iptables
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.expected_rules import (
    Masquerading,
    PortMapping,
    Promise,
    SpoofChecking,
    promises,
)

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.nft_listing import NftListing

# Seconds by which the clock of files may be behind that of programs.
_CLOCK_MARGIN: t.Final = 1.0

T = t.TypeVar("T")
# What iptables or nftables may do.
_Either = t.Union[Masquerading, PortMapping]


class RuleDrift:
    """Finds what the node's firewall no longer has of attachments.

    A run compares all that it looks at with what it has read once. Only where something seems to be missing, and the
    attachment may have been made since, it reads anew.
    """

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._read: dict[t.Hashable, tuple[float, t.Any]] = {}

    def of(self, record: Record, network: NetworkConfiguration) -> tuple[str, ...] | None:
        """Say what rules are gone that bridge, ptp and portmap have made; no plugin is run.

        Args:
            network: The configuration that is recorded.

        Returns:
            Nothing where there are to be none, or it cannot be told whether they are there.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
        """
        promised = [] if network.disable_check else promises(record, network)
        found = self._compared(promised, 0.0)
        if any(found):
            made = modification_time(self._records.path_of(record.attachment.key))
            found = self._compared(promised, min(time.time(), made + _CLOCK_MARGIN))
        return tuple(dict.fromkeys(filter(None, found))) if found else None

    def _compared(self, promised: t.Iterable[Promise], since: float) -> list[str]:
        """Say of each promise that can be told of what is lost, or nothing."""
        return [lost for lost in (self._lost(one, since) for one in promised) if lost is not None]

    def _lost(self, promise: Promise, since: float) -> str | None:
        """Look at the backend that is wanted, and at the others, for a plugin may not know that choice."""
        if isinstance(promise, SpoofChecking):
            return self._lost_in_nft(promise, since)
        looks = [self._lost_in_iptables, self._lost_in_legacy, self._lost_in_nft]
        if promise.backend == "nftables":
            looks.reverse()
        told = None
        for look in looks:
            lost = look(promise, since)
            if lost == "":
                return ""
            told = told or lost
            if told is None and promise.backend:
                return None
        return told

    def _lost_in_iptables(self, promise: _Either, since: float) -> str | None:
        family = promise.inside.family
        nat = self._since(family, since, lambda: iptables.table(family, "nat"))
        return None if nat is None else promise.lost(nat)

    def _lost_in_legacy(self, promise: _Either, since: float) -> str | None:
        family = promise.inside.family
        nat = self._since(("legacy", family), since, lambda: iptables.legacy_table(family, "nat"))
        return None if nat is None else promise.lost(nat)

    def _lost_in_nft(self, promise: Promise, since: float) -> str | None:
        family = firewall_names.SPOOF_FAMILY if isinstance(promise, SpoofChecking) else ""
        listing = self._since((family, promise.table), since, lambda: _nft_listing(promise.table, family))
        return None if listing is None else promise.lost_in_nft(listing)

    def _since(self, what: t.Hashable, since: float, read: t.Callable[[], T | None]) -> T | None:
        """Return what was read at that time or later; nothing where the node cannot tell."""
        with self._lock:
            begun, found = self._read.get(what, (-1.0, None))
            if begun < since:
                begun = time.time()
                try:
                    found = read()
                except CniError:  # a node without IPv6 may have its tool
                    found = None
                self._read[what] = begun, found
            return t.cast("T | None", found)


def _nft_listing(table: str, family: str) -> NftListing | None:
    from ansible_collections.cni.node.plugins.module_utils._linux import nftables
    from ansible_collections.cni.node.plugins.module_utils._reference.nft_listing import NftListing

    return NftListing(nftables.tables(table, family=family)) if nftables.is_installed() else None


__all__ = ("RuleDrift",)
