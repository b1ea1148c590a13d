# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin sbr: packets from an address of the container take the routes of the interface with that address."""

from __future__ import annotations

import fcntl
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT32, refuse, refuse_faults
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_tables, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_tables import RawRoute
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import (
    FIRST_TABLE,
    ContainerComparison,
)


class SourceBasedRouting(Plugin):
    """Moves the routes of an interface to a table for each of its addresses, to which a rule leads."""

    name = "sbr"

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        table = request.config.optional_integer("table", within=UINT32)
        addresses = _own_addresses(request)
        if not addresses:
            raise refuse(f"the previous result has no address of interface {request.attachment.ifname}")
        with sandbox.open_sandbox(request.attachment) as descriptor, Undo() as undo:
            _lock(descriptor, request.attachment.netns)
            undo.add(lambda: self.delete(request))

            def write(writer: KernelWriter) -> None:
                if table is None:
                    _move_routes(writer, request.attachment.ifname, addresses)
                else:
                    for interface, dummy in addresses:
                        writer.add_rule(interface.ip, table)

            sandbox.run_inside(request.attachment, write)
        return result

    def check(self, request: PluginRequest) -> None:
        table = request.config.integer("table", within=UINT32)
        state = tuple(resources.Rule(interface.ip, table) for interface, dummy in _own_addresses(request))
        with sandbox.open_sandbox(request.attachment):
            view = rtnetlink.snapshot(request.attachment.netns, rules=True)
        wrong = [difference.message for difference in ContainerComparison(state, view, {}).find()]
        refuse_faults(wrong)

    def delete(self, request: PluginRequest) -> None:
        if not sandbox.exists(request.attachment):
            return
        # The interface may have lost its addresses.
        recorded = _own_addresses(request) if request.prev_result else []
        addresses = {interface.ip for interface, dummy in recorded}
        ifname = request.attachment.ifname
        sandbox.run_inside(request.attachment, lambda writer: _remove_rules(writer, ifname, addresses))


def _lock(descriptor: int, path: str) -> None:
    """Lock the namespace until its descriptor is closed: several attachments must not take the same table."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as exc:
        raise io_error("lock", path, exc) from exc


def _own_addresses(request: PluginRequest) -> list[tuple[IpInterface, IpAddress | None]]:
    """Return the addresses of the interface in the previous result, with their gateways."""
    keys = request.require_prev_result().keys
    interfaces = dict(enumerate(keys.get("interfaces") or ()))
    found = []
    for ip in keys.get("ips") or ():
        interface = interfaces.get(ip.get("interface"))
        address = parse_interface(ip["address"])
        if address and (interface is None or interface.get("name") == request.attachment.ifname):
            found.append((address, parse_address(ip.get("gateway"))))
    return found


def _move_routes(
    writer: KernelWriter, ifname: str, addresses: t.Sequence[tuple[IpInterface, IpAddress | None]]
) -> None:
    ifindex = sandbox.require_link(ifname).ifindex
    view = rtnetlink.snapshot(rules=True)
    taken = {rule.table for rule in view.rules} | {route.table for route in view.routes}
    routes = route_tables.read(ifindex)
    users = {raw: _users(raw, [interface for interface, dummy in addresses]) for raw in routes}
    for interface, gateway in addresses:
        table = next(number for number in range(FIRST_TABLE, 2**31) if number not in taken)
        taken.add(table)
        writer.add_rule(interface.ip, table)
        if gateway is not None:
            everywhere = ipaddress.ip_network("0.0.0.0/0" if interface.version == 4 else "::/0")
            writer.add_route(ifindex, everywhere, table, replace=False, gateway=gateway)
        route_tables.add_to((raw for raw in routes if interface in users[raw]), table)
    route_tables.remove(raw for raw in routes if users[raw])


def _users(raw: RawRoute, interfaces: t.Sequence[IpInterface]) -> list[IpInterface]:
    """Return the addresses whose packets take a route: by its source or its gateway, else all of its family."""
    hints = [ipaddress.ip_address(raw.source)] if raw.source else []
    hints += [raw.route.gateway] if raw.route.gateway else []
    if not hints:
        return list(interfaces)
    named = [interface for interface in interfaces if any(hint in interface.network for hint in hints)]
    return named or [each for each in interfaces if each.version == raw.route.destination.version]


def _remove_rules(writer: KernelWriter, ifname: str, recorded: set[IpAddress]) -> None:
    """Remove the rules for packets from the addresses of an interface, and from those that it had."""
    link = rtnetlink.link(ifname)
    own = {address.interface.ip for address in rtnetlink.addresses(link.ifindex)} if link else set()
    own |= recorded
    for rule in rtnetlink.snapshot(routes=False, rules=True).rules:
        if rule.source is not None and rule.source.network_address in own:
            writer.remove_rule(rule)
