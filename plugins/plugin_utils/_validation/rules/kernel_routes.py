# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find routes that the kernel refuses."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    LEAST_MTU,
    IpAddress,
    IpNetwork,
    parse_address,
    parse_network,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.fast_path import is_integer

# The kernel refuses two routes with the same destination, next hop, metric and table.
_Key = tuple[IpNetwork, str, int, int]

_SCOPE_LINK = 253
_TABLE_MAIN = 254

# The next hop of a route without a gateway, which gets the gateway of the subnet.
_OF_THE_SUBNET = "of the subnet"


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find routes that the kernel refuses, so that every ADD of executables fails."""
    written = list(list_objects(plugin.ipam.get("routes"), join(plugin.ipam_path, "routes")))
    known: dict[_Key, str] = {}
    usual = _usual_gateways(plugin) if written else {}
    for keys, path in written:
        target = parse_network(keys.get("dst"))
        if target is None:
            continue
        yield from _check_mtu(document, keys, path, target)
        if target.version == 4:
            yield from _check_scope(document, plugin, keys, path)
        yield from _find_duplicate(document, _key(keys, target, usual.get(target.version)), path, known)
    yield from _find_second_default(document, plugin, known)


def _check_mtu(document: Document, keys: dict[str, t.Any], path: str, target: IpNetwork) -> t.Iterator[Finding]:
    mtu, least = keys.get("mtu"), LEAST_MTU[target.version]
    if is_integer(mtu) and 0 < mtu < least:
        message = f"an MTU of {mtu} bytes is too small for IPv{target.version}"
        yield document.finding("mtu-out-of-bounds", join(path, "mtu"), message, f"expected: at least {least}", mtu)


def _check_scope(document: Document, plugin: DocumentPlugin, keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Find an IPv4 route of scope link with a gateway. For IPv6, the kernel ignores the scope."""
    scope = keys.get("scope")
    if not is_integer(scope) or scope < _SCOPE_LINK:
        return
    written = parse_address(keys.get("gw"))
    if written:
        message = f"a route of scope {scope} cannot have a gateway, but this one has {written}"
        hint = 'remove "scope" or "gw"'
    elif _has_gateway(plugin):
        message = f"a route of scope {scope} cannot have a gateway, but this one gets the gateway of the subnet"
        hint = 'remove "scope", or the gateway of the address, which routes without "gw" use'
    else:
        return
    yield document.finding("link-scope-gateway", join(path, "scope"), message, hint, scope)


def _has_gateway(plugin: DocumentPlugin) -> bool:
    """Return whether IPv4 routes without a gateway get one."""
    if schemas.role(plugin.type) != "interface":
        return False
    if any(pool.subnet.version == 4 for pool in addresses.ranges(plugin)):
        return True
    if not plugin.ipam_traits.has_addresses:
        return False
    listed = [keys for keys, dummy in list_objects(plugin.ipam.get("addresses"), "")]
    of_ipv4 = [keys for keys in listed if getattr(parse_network(keys.get("address")), "version", 0) == 4]
    is_gateway = plugin.traits.is_bridge and (_is_default_gateway(plugin) or plugin.keys.get("isGateway") is True)
    return bool(of_ipv4) and (is_gateway or any(parse_address(keys.get("gateway")) for keys in of_ipv4))


def _usual_gateways(plugin: DocumentPlugin) -> dict[int, set[IpAddress]]:
    """Return the gateways that host-local returns with addresses, by address family."""
    gateways: dict[int, set[IpAddress]] = {}
    for pool in addresses.ranges(plugin):
        gateways.setdefault(pool.subnet.version, set()).add(pool.gateway)
    return gateways


def _key(keys: dict[str, t.Any], target: IpNetwork, usual: set[IpAddress] | None) -> _Key:
    gateway, priority, table = parse_address(keys.get("gw")), keys.get("priority"), keys.get("table")
    next_hop = _OF_THE_SUBNET if gateway is None or {gateway} == usual else str(gateway)
    number = table if is_integer(table) and table else _TABLE_MAIN
    return target, next_hop, priority if is_integer(priority) else 0, number


def _find_duplicate(document: Document, key: _Key, path: str, known: dict[_Key, str]) -> t.Iterator[Finding]:
    first = known.setdefault(key, path)
    if first != path:
        message = f"the route to {key[0]} is defined twice: ADD of executables fails, built-in plugins add it once"
        yield document.finding("route-twice", path, message, f"remove it; the other route is at {first}")


def _find_second_default(document: Document, plugin: DocumentPlugin, known: dict[_Key, str]) -> t.Iterator[Finding]:
    """Find a default route without a gateway beside ``isDefaultGateway``, which adds the same route.

    The plugin detects only default routes with a gateway.
    """
    if not plugin.traits.is_bridge or not _is_default_gateway(plugin):
        return
    routes = list(list_objects(plugin.ipam.get("routes"), ""))
    with_gateway = {
        target.version
        for target in (parse_network(keys.get("dst")) for keys, dummy in routes if parse_address(keys.get("gw")))
        if target is not None and target.prefixlen == 0
    }
    for key, path in known.items():
        target, next_hop, *rest = key
        is_added = target.prefixlen == 0 and target.version not in with_gateway
        if is_added and next_hop == _OF_THE_SUBNET and rest == [0, _TABLE_MAIN]:
            message = f"isDefaultGateway adds a route to {target} as well: ADD of executables fails, the built-in bridge adds it once"
            yield document.finding(
                "route-twice", path, message, "remove the route, or set isGateway instead of isDefaultGateway"
            )


def _is_default_gateway(plugin: DocumentPlugin) -> bool:
    return plugin.keys.get("isDefaultGateway") is True
