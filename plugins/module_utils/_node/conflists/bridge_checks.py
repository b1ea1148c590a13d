# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import IpInterface, Link, View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import bridge_name, is_routed
from ansible_collections.cni.node.plugins.module_utils._reference.ipam_ranges import (
    Range,
    bridge_address,
    ipam_range_sets,
)
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import Configured, configured


def findings(planned: PlannedDirectory, view: View) -> t.Iterator[Finding]:
    """Find bridges whose address is not the gateway that a network gives them, as bridge itself does at ADD."""
    for network in planned.wanted:
        for plugin in configured(network):
            if catalogue.row(plugin.type).is_bridge and is_routed(plugin.type, plugin.keys):
                found = _of_bridge(network, plugin, view)
                yield from (one._replace(is_unchanged=not planned.is_new(network)) for one in found)


def _of_bridge(network: NetworkConfiguration, plugin: Configured, view: View) -> t.Iterator[Finding]:
    bridge = _link(bridge_name(plugin.keys), view)
    vlan = plugin.keys.get("vlan")
    link = _link(f"{bridge.name}.{vlan}", view) if bridge and vlan else bridge
    if bridge is None or link is None:
        return
    has = [address.interface for address in view.addresses if address.link == link.ifindex]
    for ranges in ipam_range_sets(plugin.keys.get("ipam")):
        gateways = [bridge_address(one) for one in ranges]
        in_the_way = [_in_the_way(has, gateway) for gateway in gateways]
        if in_the_way and all(in_the_way):
            ports = sum(port.master == bridge.ifindex and port.name != link.name for port in view.links)
            yield from _finding(network, plugin, ranges[0], link.name, gateways[0], in_the_way[0], ports)


def _finding(
    network: NetworkConfiguration,
    plugin: Configured,
    one: Range,
    name: str,
    gateway: IpInterface,
    others: t.Sequence[IpInterface],
    ports: int,
) -> t.Iterator[Finding]:
    path, has = f"{plugin.path}/ipam{one.path}", ", ".join(map(str, others))
    if not plugin.keys.get("forceAddress"):
        message = f"{name} has the address {has}, so that ADD refuses to add the gateway {gateway}"
        hint = f'set "forceAddress": true, or remove the address: ip address delete {others[0]} dev {name}'
        yield Finding("bridge-address-differs", network.source, path, message, hint, str(gateway), plugin.plugin)
    elif ports:
        message = f"the gateway {gateway} replaces {has} on {name}: {quantity(ports, 'port')} of the bridge may lose the gateway"
        hint = "containers with old addresses are cut off until they are attached again"
        yield Finding("bridge-address-replaced", network.source, path, message, hint, str(gateway), plugin.plugin)


def _in_the_way(has: t.Iterable[IpInterface], gateway: IpInterface) -> list[IpInterface]:
    """Return the addresses that bridge refuses, or removes with ``forceAddress``, before it comes to the gateway's own."""
    found = []
    for one in has:
        if one == gateway:
            break
        if one.version == gateway.version and (one.version == 4 or _overlap(one, gateway)):
            found.append(one)
    return found


def _overlap(one: IpInterface, other: IpInterface) -> bool:
    return one.ip in other.network or other.ip in one.network


def _link(name: str, view: View) -> Link | None:
    return next((link for link in view.links if link.name == name), None)


__all__ = ("findings",)
