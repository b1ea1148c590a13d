# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin sbr: packets from an address of the container take the routes of the interface with that address."""

from __future__ import annotations

import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpNetwork, parse_address
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT32, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_tables, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_tables import RawRoute
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import FIRST_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import ContainerIp, Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.interfaces import network_route
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ExpectedRoute, ExpectedRule

_LOCK_TIMEOUT = 10.0


class SourceBasedRouting(ChainedPlugin[t.Optional[int]]):
    """Moves the routes of an interface to a table for each of its addresses, to which a rule leads.

    With a table of the configuration, it adds the rules alone.
    """

    name = "sbr"

    def read(self, request: PluginRequest) -> int | None:
        return request.config.optional_integer("table", within=UINT32)

    def locate(self, request: PluginRequest, dummy: int | None) -> Facts:
        ifname = request.attachment.ifname
        pairs = zip(request.own_interfaces(), request.own_ips())
        own = (ContainerIp(ifname, interface, parse_address(ip.get("gateway"))) for interface, ip in pairs)
        return Facts(request.attachment, ips=tuple(own))

    def describe(self, config: int | None, known: Facts) -> t.Iterator[ExpectedRule]:
        yield from (ExpectedRule(ip.interface.ip, config or 0) for ip in _own_ips(known))

    def move_routes(
        self, config: int | None, known: Facts, routes: t.Sequence[ExpectedRoute]
    ) -> t.Iterator[ExpectedRoute]:
        in_main = [route for route in routes if config is None and route.table in (0, MAIN_TABLE)]
        yield from (route for route in routes if route not in in_main)
        written = [route for route in in_main if route.made_for is None]
        networks = {route.destination for route in in_main if route.made_for is not None}
        own = _own_ips(known)
        for ip in own if config is None else ():
            default = _default_network(ip)
            moved = [network_route(ip)] if ip.interface.network in networks else []
            moved += [route for route in written if ip in _users((route.source, route.gateway), route.destination, own)]
            if ip.gateway is not None:
                moved = [route for route in moved if route.destination != default]
                moved.append(ExpectedRoute(ip.link, default, ip.gateway, inside=True, any_gateway=True))
            yield from (route._replace(table=0, moved_for=ip.interface.ip) for route in moved)

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        table = self.config_of(request)
        known = self.locate(request, table)
        if not known.ips:
            raise refuse(f"the previous result has no address of interface {request.attachment.ifname}")
        with (
            sandbox.open_sandbox(request.attachment) as descriptor,
            _lock(descriptor, request.attachment.netns),
            Undo() as undo,
        ):
            undo.add(lambda: self.delete(request))

            def write(writer: KernelWriter) -> None:
                if table is None:
                    _move_routes(writer, request.attachment.ifname, known.ips)
                else:
                    for rule in self.describe(table, known):
                        writer.add_rule(rule.source, rule.table)

            sandbox.run_inside(request.attachment, write)
        return result

    def delete(self, request: PluginRequest) -> None:
        if not sandbox.exists(request.attachment):
            return
        # The interface may have lost its addresses.
        addresses = request.own_addresses() or frozenset()
        ifname = request.attachment.ifname
        sandbox.run_inside(request.attachment, lambda writer: _remove_rules(writer, ifname, addresses))


def _lock(descriptor: int, netns: str) -> t.ContextManager[None]:
    """Hold the lock of a namespace: several attachments must not take the same table.

    The container could lock the namespace itself.
    """
    path = f"{NODE_PATHS.sbr_lock}.{os.fstat(descriptor).st_ino}"
    return hold_lock(path, exclusive=True, timeout=_LOCK_TIMEOUT, what=f"the choice of routing tables in {netns}")


def _own_ips(known: Facts) -> list[ContainerIp]:
    return [ip for ip in known.ips if ip.link == known.attachment.ifname]


def _default_network(ip: ContainerIp) -> IpNetwork:
    return ipaddress.ip_network("0.0.0.0/0" if ip.interface.version == 4 else "::/0")


def _move_routes(writer: KernelWriter, ifname: str, ips: t.Sequence[ContainerIp]) -> None:
    ifindex = sandbox.require_link(ifname).ifindex
    view = rtnetlink.snapshot(rules=True)
    taken = {rule.table for rule in view.rules} | {route.table for route in view.routes}
    routes = route_tables.read(ifindex)
    users = {raw: _users_of_raw(raw, ips) for raw in routes}
    for ip in ips:
        table = next(number for number in range(FIRST_TABLE, 2**31) if number not in taken)
        taken.add(table)
        writer.add_rule(ip.interface.ip, table)
        if ip.gateway is not None:
            writer.add_route(ifindex, _default_network(ip), table, replace=False, gateway=ip.gateway)
        route_tables.add_to((raw for raw in routes if ip in users[raw]), table)
    route_tables.remove(raw for raw in routes if users[raw])


def _users_of_raw(raw: RawRoute, ips: t.Sequence[ContainerIp]) -> t.Sequence[ContainerIp]:
    """Return the addresses whose packets take a route; all addresses for a route without source and gateway."""
    hints = (ipaddress.ip_address(raw.source) if raw.source else None, raw.route.gateway)
    return _users(hints, raw.route.destination, ips) if any(hints) else ips


def _users(
    hints: t.Iterable[IpAddress | None], destination: IpNetwork, ips: t.Sequence[ContainerIp]
) -> t.Sequence[ContainerIp]:
    """Return the addresses whose packets take a route: by its source or its gateway, else all of its family."""
    given = [hint for hint in hints if hint is not None]
    named = [ip for ip in ips if any(hint in ip.interface.network for hint in given)]
    return named or [ip for ip in ips if ip.interface.version == destination.version]


def _remove_rules(writer: KernelWriter, ifname: str, recorded: t.AbstractSet[str]) -> None:
    """Remove the rules for packets from the addresses of an interface, and from those that it had."""
    link = rtnetlink.link(ifname)
    own = {str(address.interface.ip) for address in rtnetlink.addresses(link.ifindex)} if link else set()
    own |= recorded
    for rule in rtnetlink.snapshot(routes=False, rules=True).rules:
        if rule.source is not None and str(rule.source.network_address) in own:
            writer.remove_rule(rule)
