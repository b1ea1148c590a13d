# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the gateways that the plugin bridge adds to its bridge."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface, parse_interface
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_ranges
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join


class _Gateway(t.NamedTuple):
    """An address that bridge gives to its bridge.

    Attributes:
        group: Number of the set; a container gets an address of each set.
    """

    address: IpInterface
    group: int
    path: str


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check the gateways that bridge adds to its bridge."""
    if not plugin.traits.is_bridge or not catalogue.is_routed(plugin.type, plugin.keys):
        return
    ipam = plugin.ipam_traits
    if ipam.has_addresses:
        if plugin.capabilities.get(ipam.address_capability):
            return  # the runtime's addresses replace those of the configuration
        for keys, path in list_objects(plugin.ipam.get("addresses"), join(plugin.ipam_path, "addresses")):
            yield from _check_static(document, keys, path)
    yield from _find_second_gateways(document, plugin)


def _check_static(document: Document, keys: dict[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Check an address without a gateway. The bridge gets the first one of its network."""
    own = parse_interface(keys.get("address"))
    if own is None or keys.get("gateway"):
        return
    place, network = join(path, "address"), own.network
    if network.num_addresses == 1:
        message = f"{network} has no address for the gateway"
        hint = "write the prefix length of the container's subnet"
        yield document.finding("gateway-outside-subnet", place, message, hint, keys["address"])
    elif own.ip == network[1]:
        message = f"bridge takes {own.ip}, the container's own address, as the gateway"
        yield document.finding(
            "gateway-handed-out", place, message, "use another address, or set gateway", keys["address"]
        )


def _find_second_gateways(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find gateways that the bridge cannot have together."""
    known: list[_Gateway] = []
    for group, members in enumerate(ipam_ranges.range_sets(plugin.ipam)):
        for member in members:
            gateway = _Gateway(ipam_ranges.bridge_address(member), group, f"{plugin.ipam_path}{member.path}")
            others = [other for other in known if ipam_ranges.replaces(other.address, gateway.address)]
            # Every container needs the gateways of all sets, but only some need those of two ranges of one set.
            other = next((other for other in others if other.group != group), next(iter(others), None))
            if other:
                is_forced = plugin.keys.get("forceAddress") is True
                yield _report_second_gateway(document, gateway, other, is_forced=is_forced)
            known.append(gateway)


def _report_second_gateway(document: Document, gateway: _Gateway, other: _Gateway, *, is_forced: bool) -> Finding:
    is_range = gateway.group == other.group
    own = f"the gateway {gateway.address}"
    if is_forced:
        message = f"{own} replaces {other.address} on the bridge, so containers lose that gateway"
    else:
        what = "fails for a container of this range" if is_range else "always fails"
        message = f"{own} cannot be added to the bridge beside {other.address}, so ADD {what}"
    code = "second-range-gateway" if is_range else "second-gateway"
    return document.finding(code, gateway.path, message, "use a network and a bridge for each subnet")
