# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare a container's network namespace with the state of an attachment."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import VRF, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference.state import links, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ANY_TABLE, State

# The first table that a plugin takes for an address.
FIRST_TABLE = 100


class ContainerComparison:
    """Compares a container's network namespace.

    Args:
        view: What the namespace holds.
    """

    def __init__(self, state: State, view: View) -> None:
        self._state = state
        self._view = view
        self._links = {link.name: link for link in view.links}
        # Interfaces outside their VRF.
        self._strays: set[str] = set()

    def find(self) -> t.Iterator[Difference]:
        """Yield the differences. The addresses and routes of a link that is gone are not compared."""
        lacks_link = False
        for resource in self._state:
            needs_link = not isinstance(resource, (resources.ExpectedLink, resources.Sysctl))
            if resource.inside and not (needs_link and lacks_link):
                for difference in _COMPARISONS[type(resource)](self, resource):
                    lacks_link = lacks_link or (
                        isinstance(resource, resources.ExpectedLink) and difference.link is None
                    )
                    yield difference

    def _compare_link(self, expected: resources.ExpectedLink) -> t.Iterator[Difference]:
        link = self._links.get(expected.name)
        if link is None:
            yield Difference(expected, f"interface {expected.name} is {self._describe_absence(expected.mac)}", False)
        else:
            yield from links.compare(expected, link)

    def _describe_absence(self, mac: str) -> str:
        renamed = [link.name for link in self._view.links if mac and link.mac == mac]
        return f"called {renamed[0]} now" if renamed else "gone"

    def _compare_vrf(self, expected: resources.Vrf) -> t.Iterator[Difference]:
        vrf = self._links.get(expected.name)
        if vrf is None or vrf.kind != VRF:
            created = expected._replace(table=self._vrf_table(expected))
            yield Difference(created, f"VRF {expected.name} is gone", vrf is None)
        elif expected.table not in (0, vrf.table):
            yield Difference(expected, f"the table of VRF {expected.name} is {vrf.table}, not {expected.table}", False)
        elif not vrf.is_up:
            up = resources.ExpectedLink(expected.name, inside=True, is_up=True)
            yield Difference(up, f"VRF {expected.name} is down", link=vrf)

    def _compare_membership(self, expected: resources.Port) -> t.Iterator[Difference]:
        link, vrf = self._links.get(expected.name), self._links.get(expected.master)
        if link is None or (vrf is not None and (vrf.kind != VRF or link.master == vrf.ifindex)):
            return
        self._strays.add(link.name)
        message = f"interface {expected.name} is not in VRF {expected.master}"
        yield Difference(expected, message, link=link, follows=vrf is None)

    def _vrf_table(self, vrf: resources.Vrf) -> int:
        """Return the table of a VRF: its own, else that of the configuration, else the first one that no VRF has."""
        tables = {link.name: link.table for link in self._view.links if link.kind == VRF}
        return tables.get(vrf.name) or vrf.table or links.free_vrf_table(self._view.links)

    @functools.cached_property
    def _member_tables(self) -> t.Mapping[str, int]:
        """The table of the VRF of each interface that belongs to one."""
        tables = {vrf.name: self._vrf_table(vrf) for vrf in self._state if isinstance(vrf, resources.Vrf)}
        ports = [port for port in self._state if isinstance(port, resources.Port) and port.inside]
        return {port.name: tables[port.master] for port in ports if port.master in tables}

    def _compare_address(self, expected: resources.ExpectedAddress) -> t.Iterator[Difference]:
        link = self._links.get(expected.link)
        # The kernel may drop it when the interface returns to its VRF.
        follows = expected.link in self._strays
        if follows or link is None or (link.ifindex, expected.interface) not in self._addresses:
            message = f"address {expected.interface} is missing"
            yield Difference(expected, message, link is not None, link, follows)

    @functools.cached_property
    def _addresses(self) -> t.Container[tuple[int, IpInterface]]:
        return {(address.link, address.interface) for address in self._view.addresses}

    def _compare_setting(self, expected: resources.Sysctl) -> t.Iterator[Difference]:
        value = self._view.settings.get(expected.path)
        if value != " ".join(expected.value.split()):
            message = f"{expected.path} is {value}, not {expected.value}"
            yield Difference(expected, message, is_repairable=value is not None)

    def _compare_rule(self, expected: resources.ExpectedRule) -> t.Iterator[Difference]:
        tables = self._rules.get(expected.source, ())
        if not tables if expected.table == 0 else expected.table not in tables:
            table = expected.table or self._tables[expected.source]
            resource = expected._replace(table=table)
            yield Difference(resource, f"the rule for packets from {expected.source} is missing")

    def _compare_route(self, expected: resources.ExpectedRoute) -> t.Iterator[Difference]:
        table = self._tables[expected.moved_for] if expected.moved_for else expected.table or MAIN_TABLE
        table = self._member_tables.get(expected.link, table) if table == ANY_TABLE else table
        link = self._links.get(expected.link)
        follows = expected.link in self._strays or not self._may_have(expected, link)
        candidates = [
            route
            for route in self._routes.get(expected.destination, ())
            if link is None or route.link in (0, link.ifindex)
        ]
        if follows or not any(is_route(route, expected, table) for route in candidates):
            is_repairable = link is not None and table != ANY_TABLE
            message = f"the route to {describe(expected)} is missing"
            yield Difference(expected._replace(table=table), message, is_repairable, link, follows)

    def _may_have(self, route: resources.ExpectedRoute, link: Link | None) -> bool:
        """Return whether a route must exist already; the kernel makes its own for an address or a link that is repaired."""
        if route.made_for is None:
            return True
        return link is not None and link.is_up and (link.ifindex, route.made_for) in self._addresses

    @functools.cached_property
    def _routes(self) -> t.Mapping[IpNetwork, list[Route]]:
        routes: dict[IpNetwork, list[Route]] = {}
        for route in self._view.routes:
            routes.setdefault(route.destination, []).append(route)
        return routes

    @functools.cached_property
    def _rules(self) -> t.Mapping[IpAddress, list[int]]:
        """The tables of the rules for packets from one address."""
        tables: dict[IpAddress, list[int]] = {}
        for rule in self._view.rules:
            if rule.source is not None and rule.source.prefixlen == rule.source.max_prefixlen:
                tables.setdefault(rule.source.network_address, []).append(rule.table)
        return tables

    @functools.cached_property
    def _tables(self) -> t.Mapping[IpAddress, int]:
        """The table of each address with a rule: that of its rule, else one with its routes, else a free one."""
        tables: dict[IpAddress, int] = {}
        taken = {table for found in self._rules.values() for table in found}
        for rule in self._state:
            if isinstance(rule, resources.ExpectedRule) and not rule.table:
                table = next(iter(self._rules.get(rule.source, ())), 0) or self._find_table(rule.source, taken)
                tables[rule.source] = table
                taken.add(table)
        return tables

    def _find_table(self, source: IpAddress, taken: t.Container[int]) -> int:
        expected = [
            route for route in self._state if isinstance(route, resources.ExpectedRoute) and route.moved_for == source
        ]
        used = sorted({route.table for route in self._view.routes if route.table != MAIN_TABLE})
        for table in used:
            if table >= FIRST_TABLE and table not in taken and self._has_routes(expected, table):
                return table
        return next(table for table in range(FIRST_TABLE, 2**31) if table not in taken and table not in used)

    def _has_routes(self, expected: t.Iterable[resources.ExpectedRoute], table: int) -> bool:
        return any(
            is_route(route, wanted, table) for wanted in expected for route in self._routes.get(wanted.destination, ())
        )


def is_route(route: Route, expected: resources.ExpectedRoute, table: int) -> bool:
    """Return whether a route of the kernel with the same destination is the expected one."""
    # The kernel lists the gateways of a multipath route elsewhere.
    has_gateway = expected.any_gateway or not route.link or route.gateway == expected.gateway
    return has_gateway and table in (ANY_TABLE, route.table)


def describe(route: resources.ExpectedRoute) -> str:
    """Return a phrase for a route in messages."""
    via = f" via {route.gateway}" if route.gateway and not route.any_gateway else ""
    return f"{route.destination}{via}" + (f" in table {route.table}" if route.table > 0 else "")


_COMPARISONS: t.Final[t.Mapping[type, t.Callable[[ContainerComparison, t.Any], t.Iterator[Difference]]]] = {
    resources.ExpectedLink: ContainerComparison._compare_link,
    resources.Sysctl: ContainerComparison._compare_setting,
    resources.Vrf: ContainerComparison._compare_vrf,
    resources.Port: ContainerComparison._compare_membership,
    resources.ExpectedAddress: ContainerComparison._compare_address,
    resources.ExpectedRule: ContainerComparison._compare_rule,
    resources.ExpectedRoute: ContainerComparison._compare_route,
}
