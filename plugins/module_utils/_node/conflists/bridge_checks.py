# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find bridges whose addresses the plugin bridge refuses or replaces."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import (
    Range,
    bridge_address,
    range_sets,
    replaces,
)
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import (
    bridge_name,
    gateway_link_name,
    is_routed,
)
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import ConfiguredPlugin, all_plugins


def check(planned: PlannedDirectory, view: View) -> t.Iterator[Finding]:
    """Find bridges with other addresses than the gateway of a network. The plugin bridge compares them at ADD."""
    for network in planned.desired:
        for plugin in all_plugins(network):
            if catalogue.find_plugin_type(plugin.type).is_bridge and is_routed(plugin.type, plugin.keys):
                for finding in _find_conflicts(network, plugin, view):
                    yield finding._replace(is_unchanged=not planned.is_new(network))


def _find_conflicts(network: NetworkConfiguration, plugin: ConfiguredPlugin, view: View) -> t.Iterator[Finding]:
    bridge, link = _link(bridge_name(plugin.keys), view), _link(gateway_link_name(plugin.keys), view)
    if bridge is None or link is None:
        return
    addresses = [address.interface for address in view.addresses if address.link == link.ifindex]
    for ranges in range_sets(plugin.keys.get("ipam")):
        gateways = [bridge_address(members) for members in ranges]
        conflicting = [_conflicting_addresses(addresses, gateway) for gateway in gateways]
        if conflicting and all(conflicting):
            ports = sum(port.master == bridge.ifindex and port.name != link.name for port in view.links)
            yield from _finding(network, plugin, ranges[0], link.name, gateways[0], conflicting[0], ports)


def _finding(
    network: NetworkConfiguration,
    plugin: ConfiguredPlugin,
    addresses: Range,
    name: str,
    gateway: IpInterface,
    others: t.Sequence[IpInterface],
    ports: int,
) -> t.Iterator[Finding]:
    path, current = f"{plugin.path}/ipam{addresses.path}", ", ".join(map(str, others))
    if not plugin.keys.get("forceAddress"):
        message = f"{name} has the address {current}, so that ADD refuses to add the gateway {gateway}"
        hint = f'set "forceAddress": true, or remove the address: ip address delete {others[0]} dev {name}'
        yield Finding("bridge-address-differs", network.source, path, message, hint, str(gateway), plugin.plugin)
    elif ports:
        containers = f"{quantity(ports, 'port')} of the bridge may lose the gateway"
        message = f"the gateway {gateway} replaces {current} on {name}: {containers}"
        hint = "containers with old addresses are cut off until their attachments are recreated"
        yield Finding("bridge-address-replaced", network.source, path, message, hint, str(gateway), plugin.plugin)


def _conflicting_addresses(addresses: t.Iterable[IpInterface], gateway: IpInterface) -> list[IpInterface]:
    """Return the addresses listed before the gateway that bridge refuses, or removes with ``forceAddress``."""
    conflicting = []
    for address in addresses:
        if address == gateway:
            break
        if replaces(address, gateway):
            conflicting.append(address)
    return conflicting


def _link(name: str, view: View) -> Link | None:
    return next((link for link in view.links if link.name == name), None)
