# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the addresses that an IPAM plugin would assign."""

from __future__ import annotations

import ipaddress
import itertools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    IpNetwork,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_ranges
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses

_NOT_FOR_ALL = "use another one: kernels before 5.14 and other devices take it for a broadcast address"


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check the addresses that the IPAM plugin would assign: each range by itself, then all ranges."""
    for dummy, keys, path in addresses.range_objects(plugin):
        yield from _check_range(document, plugin, keys, path)
    ranges = addresses.ranges(plugin)
    yield from _compare_ranges(document, ranges)
    yield from _find_full_ranges(document, ranges)
    yield from _find_assigned_gateways(document, ranges)
    ipam = plugin.ipam_traits
    if ipam.has_addresses or ipam.has_cluster_ranges:
        known: dict[IpInterface, str] = {}
        for keys, path in list_objects(plugin.ipam.get("addresses"), join(plugin.ipam_path, "addresses")):
            yield from _check_static(document, plugin, keys, path)
            yield from _check_static_address(document, keys, join(path, "address"), known)


def _check_range(document: Document, plugin: DocumentPlugin, keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    written = parse_interface(keys.get("subnet"))
    if written is None:
        return
    subnet, place = written.network, join(path, "subnet")
    if written.ip != subnet.network_address:
        message = f"{keys['subnet']} is an address inside the subnet {subnet}"
        yield document.finding("host-bits-set", place, message, f"write {subnet}", keys["subnet"])
    if subnet.prefixlen > subnet.max_prefixlen - 2:
        message = f"{subnet} is too small to assign addresses"
        yield document.finding(
            "subnet-too-small", place, message, f"expected: /{subnet.max_prefixlen - 2} or wider", keys["subnet"]
        )
    yield from _check_ends(document, keys, path, subnet)
    yield from _check_gateway(document, plugin, keys, path, subnet)


def _check_ends(document: Document, keys: dict[str, t.Any], path: str, subnet: IpNetwork) -> t.Iterator[Finding]:
    inside = {}
    for key in ("rangeStart", "rangeEnd"):
        end = parse_address(keys.get(key))
        if end is None:
            continue
        if end.version != subnet.version:
            yield family_mismatch(document, join(path, key), keys[key], subnet)
        elif end not in subnet:
            message = f"{end} is not in the subnet {subnet}"
            yield document.finding(
                "range-outside-subnet", join(path, key), message, addresses.expected_address(subnet), keys[key]
            )
        else:
            inside[key] = int(end)
            yield from _check_end(document, ipaddress.ip_interface((end, subnet.prefixlen)), join(path, key))
    if len(inside) == 2 and inside["rangeStart"] > inside["rangeEnd"]:
        message = f"the range begins at {keys['rangeStart']} but ends at {keys['rangeEnd']}"
        yield document.finding(
            "range-backwards", join(path, "rangeStart"), message, "swap the two addresses", keys["rangeStart"]
        )


def _check_gateway(
    document: Document, plugin: DocumentPlugin, keys: dict[str, t.Any], path: str, subnet: IpNetwork
) -> t.Iterator[Finding]:
    gateway, place = parse_address(keys.get("gateway")), join(path, "gateway")
    if gateway is None:
        return
    if gateway.version != subnet.version:
        yield family_mismatch(document, place, keys["gateway"], subnet)
    elif gateway not in subnet and not gateway.is_link_local and plugin.traits.gateway_on_link:
        yield addresses.gateway_outside_subnet(document, plugin, gateway, subnet, place)
    elif gateway in subnet:
        yield from check_host(document, gateway, subnet, place)


def check_host(document: Document, address: IpAddress, subnet: IpNetwork, path: str) -> t.Iterator[Finding]:
    """Check an address that the node or every container gets."""
    interface = ipaddress.ip_interface((address, subnet.prefixlen))
    reason = ipam_ranges.unusable_reason(interface)
    if reason:
        hint = "expected: an address that a host can have"
        yield document.finding("unusable-address", path, f"{interface.ip} {reason}", hint, str(interface.ip))
    elif ipam_ranges.is_network_address(interface):
        message = f"{interface.ip} is the network address of {interface.network}"
        yield document.finding("reserved-address", path, message, _NOT_FOR_ALL, str(interface.ip))


def _check_end(document: Document, interface: IpInterface, path: str) -> t.Iterator[Finding]:
    """Check an end of a range, which one of the containers gets."""
    end, reason = interface.ip, ipam_ranges.unusable_reason(interface)
    if reason:
        message, hint = f"{end} {reason}, and a container may get it", "end the range before it"
        yield document.finding("reserved-address", path, message, hint, str(end))
    elif ipam_ranges.is_network_address(interface):
        message = f"{end} is the network address of {interface.network}, and a container may get it"
        yield document.finding("reserved-address", path, message, _NOT_FOR_ALL, str(end))


def _compare_ranges(document: Document, ranges: list[Range]) -> t.Iterator[Finding]:
    """Compare ranges pairwise. host-local refuses overlapping ranges, and two address families in one set."""
    families = {pool.group: pool.subnet for pool in reversed(ranges)}
    for pool in ranges:
        if pool.subnet.version != families[pool.group].version:
            yield family_mismatch(document, join(pool.path, "subnet"), str(pool.subnet), families[pool.group])
    for pool, other in itertools.combinations(ranges, 2):
        if pool.overlaps(other):
            message = f"the range {other.first} to {other.last} overlaps with {pool.first} to {pool.last}"
            yield document.finding("ranges-overlap", other.path, message, f"the other range is at {pool.path}")


def _find_full_ranges(document: Document, ranges: list[Range]) -> t.Iterator[Finding]:
    for dummy, members in itertools.groupby(ranges, key=lambda pool: pool.group):
        group = list(members)
        if not any(pool.has_room or int(pool.first) > int(pool.last) for pool in group):
            message = f"the only address of the range is the gateway's, {group[0].gateway}"
            yield document.finding("subnet-too-small", group[0].path, message, "widen the range")


def _find_assigned_gateways(document: Document, ranges: list[Range]) -> t.Iterator[Finding]:
    """Find gateways that another range would assign. host-local reserves only a range's own gateway."""
    for pool, other in itertools.permutations(ranges, 2):
        if other.holds(pool.gateway) and other.gateway != pool.gateway and not pool.overlaps(other):
            yield addresses.assigned_gateway(document, pool.gateway, other, pool.path, str(pool.gateway))


def _check_static(document: Document, plugin: DocumentPlugin, keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    own, gateway = parse_interface(keys.get("address")), parse_address(keys.get("gateway"))
    if own is None or gateway is None:
        return
    if own.ip == gateway:
        message = f"{gateway} is the container's own address and cannot be its gateway"
        yield document.finding("gateway-handed-out", join(path, "gateway"), message, "", keys["gateway"])
        return
    yield from _check_gateway(document, plugin, keys, path, own.network)


def _check_static_address(
    document: Document, keys: dict[str, t.Any], path: str, known: dict[IpInterface, str]
) -> t.Iterator[Finding]:
    own = parse_interface(keys.get("address"))
    if own is None:
        return
    yield from check_host(document, own.ip, own.network, path)
    # A link has an IPv6 address once, whatever its prefix length.
    key = own if own.version == 4 else ipaddress.ip_interface(own.ip)
    first = known.setdefault(key, path)
    if first != path:
        message = f"the address {own} is given twice"
        yield document.finding("address-twice", path, message, f"remove it; the other one is at {first}", str(own))


def family_mismatch(document: Document, path: str, value: str, subnet: IpNetwork) -> Finding:
    message = f"{value} and {subnet} belong to different address families"
    return document.finding("family-mismatch", path, message, f"expected: IPv{subnet.version}", value)
