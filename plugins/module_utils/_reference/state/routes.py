# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The routes and routing rules in a container."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import ContainerIp, Facts, Plugin
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Route, Rule

# RT_SCOPE_LINK
_LINK = 253


def container_routes(known: Facts) -> t.Iterator[Route | Rule]:
    """Return the routes in the container, and the rules that lead to tables of their own."""
    written = [*_point_to_point_routes(known), *_result_routes(known)]
    by_source = [plugin for plugin in known.chained if plugin.row.routes_by_source]
    vrfs = [plugin for plugin in known.chained if plugin.row.vrf_key]
    if by_source:
        yield from _routes_by_source(known, by_source[-1], written)
    elif vrfs:
        table = vrfs[-1].keys.get("table") or 0
        moved = (*written, *(_network_route(known, ip) for ip in known.ips if _has_network(ip)))
        yield from (route._replace(table=route.table or table or ANY_TABLE) for route in moved)
    else:
        # In this order, as the kernel refuses a gateway that no route leads to.
        yield from (*_kernel_routes(known), *written)


def _kernel_routes(known: Facts) -> t.Iterator[Route]:
    """Return the routes that the kernel makes for the addresses of links that are up, each once."""
    leaves_down = known.maker.row.leaves_down_key
    if (
        known.maker.row.is_point_to_point
        or known.maker.row.is_loopback
        or (leaves_down and known.maker.keys.get(leaves_down))
    ):
        return
    made = {(ip.link, ip.interface.network): ip for ip in reversed(known.ips) if ip.link and _has_network(ip)}
    yield from (_network_route(known, ip)._replace(made_for=ip.interface) for ip in reversed(made.values()))


def _result_routes(known: Facts) -> t.Iterator[Route]:
    gateways: dict[int, IpAddress] = {}
    for ip in known.ips:
        if ip.gateway:
            gateways.setdefault(ip.gateway.version, ip.gateway)
    for route in known.routes:
        destination, gateway = facts.parse_destination(str(route["dst"])), facts.parse_gateway(route.get("gw"))
        yield Route(
            known.ifname,
            destination,
            gateway or gateways.get(destination.version),
            inside=True,
            # CHECK accepts any default route.
            any_gateway=gateway is None or destination.prefixlen == 0,
            table=route.get("table") or 0,
            scope=route.get("scope"),
            priority=route.get("priority") or 0,
        )


def _point_to_point_routes(known: Facts) -> t.Iterator[Route]:
    """Return the routes with which a container reaches its network through the node."""
    if not known.maker.row.is_point_to_point:
        return
    for ip in known.ips:
        if ip.gateway is None:
            continue
        gateway, source = ipaddress.ip_network(ip.gateway), ip.interface.ip
        scope = _LINK if gateway.version == 4 else None
        yield Route(ip.link, gateway, None, inside=True, scope=scope, source=source)
        if _has_network(ip):
            yield Route(ip.link, ip.interface.network, ip.gateway, inside=True, source=source)


def _routes_by_source(known: Facts, plugin: Plugin, written: t.Sequence[Route]) -> t.Iterator[Route | Rule]:
    own = [ip for ip in known.ips if ip.link == known.ifname]
    table = plugin.keys.get("table") or 0
    yield from (Rule(ip.interface.ip, table) for ip in own)
    if table:
        yield from written
        return
    yield from (route for route in written if route.table not in (0, MAIN_TABLE))
    for ip in own:
        moved = [_network_route(known, ip)] if _has_network(ip) and not known.maker.row.is_point_to_point else []
        moved += [route for route in written if route.table in (0, MAIN_TABLE) and ip in _users(route, own)]
        default = _default_route(known, plugin, ip)
        if default:
            moved = [route for route in moved if route.destination != default.destination] + [default]
        yield from (route._replace(table=0, moved_for=ip.interface.ip) for route in moved)


def _default_route(known: Facts, plugin: Plugin, ip: ContainerIp) -> Route | None:
    static = (facts.parse_gateway(text) for text in plugin.keys.get("gateways") or ())
    gateway = next((found for found in static if found and found.version == ip.interface.version), ip.gateway)
    if gateway is None:
        return None
    everywhere = ipaddress.ip_network("0.0.0.0/0" if ip.interface.version == 4 else "::/0")
    return Route(known.ifname, everywhere, gateway, inside=True, any_gateway=True)


def _users(route: Route, ips: t.Iterable[ContainerIp]) -> list[ContainerIp]:
    """Return the addresses to whose tables a route is moved."""
    hints = [hint for hint in (route.source, route.gateway) if hint is not None]
    family = [ip for ip in ips if ip.interface.version == route.destination.version]
    return [ip for ip in family if any(hint in ip.interface.network for hint in hints)] or family


def _network_route(known: Facts, ip: ContainerIp) -> Route:
    """Return the route that the kernel makes for an address."""
    source = ip.interface.ip if ip.interface.version == 4 else None
    scope = _LINK if ip.interface.version == 4 else None
    return Route(ip.link, ip.interface.network, None, inside=True, scope=scope, source=source)


def _has_network(ip: ContainerIp) -> bool:
    return ip.interface.network.prefixlen < ip.interface.max_prefixlen


# The table of a VRF that chose it itself.
ANY_TABLE = -1
