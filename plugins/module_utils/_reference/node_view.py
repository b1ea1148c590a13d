# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One reading of the node: its links, addresses, routes, settings and firewall, each listed once."""

from __future__ import annotations

import functools
import socket
import threading
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import bridge_vlans, qdiscs, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import TokenBucket
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Route
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.iptables import Table
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FIREWALLD,
    IPTABLES,
    NFTABLES,
    FirewallPart,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.iptables_rules import IptablesView
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.rules.nftables_rules import NftablesView

_LEGACY = "legacy"

T = t.TypeVar("T")
_Key = tuple[t.Any, ...]


class NodeView(Node):
    """Reads each part of the node when it is needed for the first time, for all attachments of a run.

    The filters of a link and its leases are read each time: the kernel lists the former for one link only, and a directory may
    have thousands of leases of other attachments. What is missing in a view may exist by now: `Node` asks the kernel again, and
    a new view sees what has been written since.

    Attributes:
        lease_dir: Default of ``dataDir`` of host-local.
    """

    def __init__(
        self, lease_dir: str = NODE_PATHS.lease_dir, *, with_handles: bool = False, all_tables: bool = False
    ) -> None:
        """
        Args:
            with_handles: Whether rules of nftables have their handles, with which they can be removed.
            all_tables: Whether all tables of iptables are listed at once. To list a single table, the legacy tool creates it.
        """
        self.lease_dir = lease_dir
        self._with_handles = with_handles
        self._all_tables = all_tables
        self._lock = threading.Lock()
        self._parts: dict[str, t.Any] = {}
        self._rules_lock = threading.RLock()
        self._rules: dict[_Key, tuple[float, t.Any]] = {}
        self._errors: dict[_Key, CniError] = {}

    def link(self, name: str) -> Link | None:
        return self._once("links", rtnetlink.link_table).by_name(name)

    def link_by_index(self, ifindex: int) -> Link | None:
        return self._once("links", rtnetlink.link_table).by_index(ifindex)

    @property
    def link_names(self) -> frozenset[str]:
        """The names of all links, which take less time than the links."""
        return self._once("link names", lambda: frozenset(name for dummy, name in socket.if_nameindex()))

    def vlans(self, ifindex: int) -> PortVlans:
        return self._once("VLANs", bridge_vlans.read).get(ifindex, PortVlans())

    def addresses(self, ifindex: int) -> t.Collection[IpInterface]:
        return self._once("addresses", _addresses).get(ifindex, ())

    def routes(self, ifindex: int) -> t.Collection[Route]:
        return self._once("routes", _routes).get(ifindex, ())

    def token_bucket(self, ifindex: int) -> TokenBucket | None:
        return self._once("token buckets", qdiscs.token_buckets).get(ifindex)

    def setting(self, path: str) -> str | None:
        return self._once(path, lambda: sysctl.read_at(path))

    def iptables(self, family: int, table: str, since: float = 0.0) -> IptablesView | None:
        """Return a table of iptables that was read at a time or later; None if the node cannot list it."""
        key = (IPTABLES, family, table)
        return self._find(key, since, lambda: _iptables_view(self._read_table(family, table, since)))

    def require_iptables(self, family: int, table: str) -> IptablesView | None:
        """Return a table of iptables; None if the tool is not installed.

        Raises:
            CniError: ``IO_FAILURE``: it cannot be listed.
        """
        return self._require((IPTABLES, family, table), lambda: self.iptables(family, table))

    def list_tables(self, name: str) -> t.Iterator[tuple[int, Table]]:
        """Yield the family and the table of iptables with a name for each family that can be listed."""
        for family in iptables.FAMILIES:
            present = self.iptables(family, name)
            if present is not None:
                yield family, present.table

    def legacy(self, family: int, table: str, since: float = 0.0) -> IptablesView | None:
        """Return a table of the legacy iptables that the default one does not show; None as `iptables`."""
        key = (_LEGACY, family, table)
        return self._find(key, since, lambda: _iptables_view(iptables.legacy_table(family, table)))

    def nftables(self, family: str, name: str, since: float = 0.0) -> NftablesView | None:
        """Return the tables of nftables with a name, of one family or of all families except bridge; None as `iptables`."""
        key = _nftables_key(family, name)
        return self._find(key, since, lambda: _nftables_view(*key[1:], with_handles=self._with_handles))

    def require_nftables(self, family: str, name: str) -> NftablesView | None:
        """Return the tables of nftables with a name, as `nftables`; None and errors as `require_iptables`."""
        return self._require(_nftables_key(family, name), lambda: self.nftables(family, name))

    @functools.cached_property
    def has_firewalld(self) -> bool:
        """Return whether firewalld is running in the node's network namespace."""
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld

        return firewalld.is_running()

    def sources(self, since: float = 0.0) -> frozenset[str] | None:
        """Return the sources of all zones of firewalld, which is running; None as `iptables`."""
        from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld

        return self._find((FIREWALLD,), since, firewalld.list_sources)

    def find_error(self, part: FirewallPart) -> CniError | None:
        """Return why the rules of a part could not be listed; None if the node just lacks the program."""
        keys: list[_Key] = [(IPTABLES, part.family, rule.table) for rule in part.iptables[:1]]
        keys += [(_LEGACY, part.family, rule.table) for rule in part.iptables[:1]]
        keys += [_nftables_key(part.nftables.family, part.nftables.name)] if part.nftables else []
        keys += [(FIREWALLD,)] if part.sources else []
        return next((self._errors[key] for key in keys if key in self._errors), None)

    def accept_unlisted(self) -> None:
        """Treat rules that could not be listed like rules that the node does not have, from now on."""
        self._errors.clear()

    def _read_table(self, family: int, table: str, since: float) -> Table | None:
        if not self._all_tables:
            return iptables.table(family, table)
        key = (IPTABLES, family)
        tables = self._require(key, lambda: self._find(key, since, lambda: iptables.tables(family)))
        return None if tables is None else tables.get(table) or Table({}, {})

    def _once(self, what: str, read: t.Callable[[], T]) -> T:
        with self._lock:
            if what not in self._parts:
                self._parts[what] = read()
            return t.cast(T, self._parts[what])

    def _find(self, key: _Key, since: float, read: t.Callable[[], T | None]) -> T | None:
        """Return rules, which were read at a time or later; None after an error, which is kept."""
        with self._rules_lock:
            begun, rules = self._rules.get(key, (-1.0, None))
            if begun < since:
                begun = time.time()
                try:
                    rules = read()
                    self._errors.pop(key, None)
                except CniError as exc:
                    rules = None
                    self._errors[key] = exc
                self._rules[key] = begun, rules
            return t.cast("T | None", rules)

    def _require(self, key: _Key, find: t.Callable[[], T | None]) -> T | None:
        """Return rules; raise the error with which they were read."""
        with self._rules_lock:
            rules = find()
            if key in self._errors:
                raise self._errors[key]
            return rules


def _addresses() -> dict[int, set[IpInterface]]:
    addresses: dict[int, set[IpInterface]] = {}
    for address in rtnetlink.addresses():
        addresses.setdefault(address.link, set()).add(address.interface)
    return addresses


def _routes() -> dict[int, list[Route]]:
    routes: dict[int, list[Route]] = {}
    for route in rtnetlink.routes():
        routes.setdefault(route.link, []).append(route)
    return routes


def _nftables_key(family: str, name: str) -> tuple[str, str, str]:
    return NFTABLES, family if family == firewall_names.SPOOF_FAMILY else "", name


def _iptables_view(table: Table | None) -> IptablesView | None:
    return None if table is None else IptablesView(table)


def _nftables_view(family: str, name: str, *, with_handles: bool) -> NftablesView | None:
    # A node whose rules are all in iptables does not need them.
    from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
    from ansible_collections.cni.node.plugins.module_utils._reference.rules.nftables_rules import NftablesView

    if not nftables.is_installed():
        return None
    return NftablesView(nftables.tables(name, family=family, with_handles=with_handles))
