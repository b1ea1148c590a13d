# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check that routes have a reachable gateway, and that masquerading applies to some traffic."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpNetwork,
    parse_address,
    parse_interface,
    parse_network,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses

_SCOPE_LINK = 253


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check that each route has a reachable gateway, and that masquerading applies to some traffic."""
    written = list(list_objects(plugin.ipam.get("routes"), join(plugin.ipam_path, "routes")))
    known, ranges = _known_subnets(plugin), addresses.ranges(plugin) if written else []
    for keys, path in written:
        yield from _check_target(document, keys, path)
        yield from _check_gateway(document, ranges, keys, path)
        if known:
            yield from _check_path(document, plugin, keys, path, known, [other for other, dummy in written])
    if known:
        yield from _check_masquerade(document, plugin, known, [keys for keys, dummy in written])


def _known_subnets(plugin: DocumentPlugin) -> list[IpNetwork]:
    capability = plugin.ipam_traits.address_capability
    is_known = plugin.ipam_traits.has_cluster_ranges or (capability and not plugin.capabilities.get(capability))
    return addresses.subnets(plugin) if is_known and not addresses.has_unknown_subnet(plugin) else []


def _check_target(document: Document, keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Find an IPv4 destination with host bits set, which the kernel refuses. For IPv6, the kernel clears them."""
    target = parse_interface(keys.get("dst"))
    if target is not None and target.version == 4 and target.ip != target.network.network_address:
        message = f"{keys['dst']} is an address inside the network {target.network}"
        yield document.finding("host-bits-set", join(path, "dst"), message, f"write {target.network}", keys["dst"])


def _check_gateway(document: Document, ranges: list[Range], keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    target, gateway = parse_network(keys.get("dst")), parse_address(keys.get("gw"))
    if gateway is None:
        return
    place = join(path, "gw")
    if target is not None and target.version != gateway.version:
        message = f"the gateway {gateway} and {target} belong to different address families"
        yield document.finding("family-mismatch", place, message, f"expected: IPv{target.version}", keys["gw"])
    for pool in ranges:
        if pool.holds(gateway) and gateway != pool.gateway:
            yield addresses.assigned_gateway(document, gateway, pool, place, keys["gw"])


def _check_path(
    document: Document,
    plugin: DocumentPlugin,
    keys: dict[str, t.Any],
    path: str,
    known: list[IpNetwork],
    others: list[dict[str, t.Any]],
) -> t.Iterator[Finding]:
    target, gateway = parse_network(keys.get("dst")), parse_address(keys.get("gw"))
    if target is not None and all(subnet.version != target.version for subnet in known):
        message = f"the container gets no IPv{target.version} address for the route to {target}"
        yield document.finding(
            "route-without-path", join(path, "dst"), message, "add a subnet of that family", keys["dst"]
        )
        return
    if target is None or gateway is None or not plugin.traits.gateway_on_link:
        return
    if target.version == gateway.version and not _is_on_link(gateway, known, others):
        message = f"the gateway {gateway} is in none of the container's networks, {', '.join(map(str, known))}"
        yield document.finding(
            "route-without-path", join(path, "gw"), message, "expected: a gateway on the link", keys["gw"]
        )


def _is_on_link(gateway: IpAddress, known: list[IpNetwork], routes: list[dict[str, t.Any]]) -> bool:
    linked = [parse_network(route.get("dst")) for route in routes if not route.get("gw") or _has_link_scope(route)]
    narrow = [network for network in linked if network and network.prefixlen]
    return gateway.is_link_local or any(gateway in network for network in (*known, *narrow))


def _has_link_scope(route: dict[str, t.Any]) -> bool:
    scope = route.get("scope")
    return isinstance(scope, int) and scope >= _SCOPE_LINK


def _check_masquerade(
    document: Document, plugin: DocumentPlugin, known: list[IpNetwork], routes: list[dict[str, t.Any]]
) -> t.Iterator[Finding]:
    if plugin.keys.get("ipMasq") is not True or not plugin.traits.masquerades:
        return
    place = join(plugin.path, "ipMasq")
    default, is_bridge = plugin.keys.get("isDefaultGateway") is True, plugin.traits.is_bridge
    if is_bridge and not default and plugin.keys.get("isGateway") is not True:
        message = "ipMasq has no effect, because the bridge is not a gateway"
        yield document.finding("ipmasq-without-route", place, message, "set isGateway or isDefaultGateway", True)
    elif not default and not any(_leads_out(route, known) for route in routes) and not addresses.is_passed_on(document):
        message = "ipMasq has no effect, because the container has no route out of its subnet"
        hint = 'add a route such as {"dst": "0.0.0.0/0"}' + (", or set isDefaultGateway" if is_bridge else "")
        yield document.finding("ipmasq-without-route", place, message, hint, True)


def _leads_out(route: dict[str, t.Any], known: list[IpNetwork]) -> bool:
    target = parse_network(route.get("dst"))
    return target is not None and not any(
        target.version == network.version
        and target.network_address in network
        and target.prefixlen >= network.prefixlen
        for network in known
    )
