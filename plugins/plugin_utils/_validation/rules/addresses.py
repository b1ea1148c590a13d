# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The addresses that a plugin gives to a container, and their gateways."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpNetwork, parse_network
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_ranges
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import cluster_ranges


def range_objects(plugin: DocumentPlugin) -> t.Iterator[tuple[int, JsonObject, str]]:
    """Return the objects that define a plugin's host-local ranges: number of the set, keys, JSON pointer."""
    if plugin.ipam_traits.has_ranges:
        yield from ipam_ranges.range_objects(plugin.ipam, plugin.ipam_path)


def ranges(plugin: DocumentPlugin) -> list[Range]:
    """Return a plugin's host-local ranges, without those whose subnet is invalid or too small."""
    has_ranges = plugin.ipam_traits.has_ranges
    return ipam_ranges.host_local_ranges(plugin.ipam, plugin.ipam_path) if has_ranges else []


def subnets(plugin: DocumentPlugin) -> list[IpNetwork]:
    """Return the networks of the addresses that the configuration gives to a container."""
    ipam = plugin.ipam_traits
    if ipam.has_addresses or ipam.has_cluster_ranges:
        written = [keys.get("address") for keys, dummy in list_objects(plugin.ipam.get("addresses"), "")]
    else:
        written = [keys.get("subnet") for dummy, keys, dummy_path in range_objects(plugin)]
    return [*cluster_ranges.subnets(plugin), *(subnet for subnet in map(parse_network, written) if subnet)]


def has_unknown_subnet(plugin: DocumentPlugin) -> bool:
    """Return whether a subnet is a word, such as one that Calico replaces, or a placeholder."""
    written = [keys.get("subnet") for dummy, keys, dummy_path in range_objects(plugin)]
    return any(isinstance(subnet, str) and parse_network(subnet) is None for subnet in written)


def subnets_before(document: Document, plugin: DocumentPlugin) -> list[IpNetwork]:
    """Return the networks of the addresses that the plugins before a plugin give to a container."""
    return [subnet for other in document.plugins if other.index < plugin.index for subnet in subnets(other)]


def is_passed_on(document: Document) -> bool:
    """Return whether a virtual machine gets the gateway of the address as its default route."""
    return any(plugin.traits.passes_gateway for plugin in document.plugins)


def _uses_gateway(document: Document, plugin: DocumentPlugin, version: int) -> bool:
    """Return whether a plugin uses the gateway of an address: for its bridge, a route without ``gw``, or a virtual machine."""
    is_of_bridge = plugin.traits.is_bridge and catalogue.is_routed(plugin.type, plugin.keys)
    if is_of_bridge or is_passed_on(document):
        return True
    routes = (keys for keys, dummy in list_objects(plugin.ipam.get("routes"), "") if not keys.get("gw"))
    targets = (parse_network(keys.get("dst")) for keys in routes)
    return any(target is not None and target.version == version for target in targets)


def gateway_outside_subnet(
    document: Document, plugin: DocumentPlugin, gateway: IpAddress, subnet: IpNetwork, path: str
) -> Finding:
    """Return a finding about a gateway outside its subnet, which is only a warning if nothing uses the gateway."""
    is_used = _uses_gateway(document, plugin, gateway.version)
    message = f"the gateway {gateway} is not in the subnet {subnet}"
    return document.finding(
        "gateway-outside-subnet",
        path,
        message if is_used else f"{message}, and nothing uses it",
        expected_address(subnet),
        str(gateway),
    )._replace(is_conditional=not is_used)


def assigned_gateway(document: Document, gateway: IpAddress, pool: Range, path: str, value: object) -> Finding:
    """Return a finding about a gateway that a range assigns."""
    message = f"the gateway {gateway} is in the range {pool.first} to {pool.last}, so a container may get its address"
    return document.finding("gateway-handed-out", path, message, f"exclude it from the range at {pool.path}", value)


def expected_address(subnet: IpNetwork) -> str:
    return f"expected: an address in {subnet}"
