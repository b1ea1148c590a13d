# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpNetwork
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_rules import (
    ContainerAddress,
    ExpectedRule,
    Masquerading,
    PortMapping,
    SpoofChecking,
)

_PORTS: t.Final = "portMappings"


def expected_rules(record: Record, network: NetworkConfiguration) -> list[ExpectedRule]:
    """Return the firewall rules that plugins have made for an attachment.

    Args:
        network: The configuration in the record.

    Raises:
        CniError: The result cannot be used.
    """
    masquerading = [plugin for plugin in network.plugins if _masquerades(plugin)]
    mapping = [plugin for plugin in network.plugins if _maps_ports(plugin)]
    checks_macs = any(map(_checks_macs, network.plugins))
    ports = record.attachment.capability_args.get(_PORTS)
    if record.result is None or not (masquerading or checks_macs or (mapping and ports)):
        return []
    result = record.result.to("1.1.0").keys
    addresses = _container_addresses(result, record.attachment.ifname)
    rules: list[ExpectedRule] = [
        Masquerading(record, address, _backend(plugin, "ipMasqBackend"))
        for plugin in masquerading
        for address in addresses
    ]
    for plugin in mapping:
        for address in _first_of_each_family(addresses):  # as portmap does
            rules += _port_mappings(record, address, ports, plugin)
    return [*rules, _spoof_checking(record, result, network)] if checks_macs else rules


def _masquerades(plugin: PluginConfiguration) -> bool:
    return catalogue.find_plugin_type(plugin.type).masquerades and plugin.keys.get("ipMasq") is True


def _maps_ports(plugin: PluginConfiguration) -> bool:
    return catalogue.find_plugin_type(plugin.type).maps_ports and _PORTS in plugin.capabilities


def _checks_macs(plugin: PluginConfiguration) -> bool:
    return catalogue.find_plugin_type(plugin.type).checks_macs and plugin.keys.get("macspoofchk") is True


def _spoof_checking(record: Record, result: t.Mapping[str, t.Any], network: NetworkConfiguration) -> SpoofChecking:
    interfaces = result.get("interfaces") or ()
    ports = frozenset(item["name"] for item in interfaces if item.get("name") and not item.get("sandbox"))
    ifname = record.attachment.ifname
    macs = [item.get("mac") for item in interfaces if item.get("sandbox") and item.get("name") == ifname]
    is_final = not any(catalogue.find_plugin_type(plugin.type).tunes_interface for plugin in network.plugins)
    return SpoofChecking(record, ports, str(macs[0] or "").lower() if macs and is_final else "")


def _port_mappings(
    record: Record, address: ContainerAddress, ports: t.Any, plugin: PluginConfiguration
) -> list[PortMapping]:
    """Return the mappings to an address, or an empty list if one has a form that only portmap may understand."""
    mappings = []
    options = _backend(plugin, "backend"), plugin.keys.get("snat") is not False
    try:
        for entry in ports:
            text = entry.get("hostIP")
            host_ip = ipaddress.ip_address(text) if text else None
            if host_ip is None or host_ip.version == address.family:
                host = "" if host_ip is None or host_ip.is_unspecified else str(host_ip)
                numbers = int(entry["hostPort"]), int(entry["containerPort"])
                mappings.append(PortMapping(record, address, host, *numbers, entry["protocol"].lower(), *options))
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
    return mappings


def _container_addresses(result: t.Mapping[str, t.Any], ifname: str) -> list[ContainerAddress]:
    """Return the addresses of the container's interface, and those for which the result names no interface."""
    interfaces = dict(enumerate(result.get("interfaces") or ()))
    addresses = []
    for ip in result.get("ips") or ():
        interface = interfaces.get(ip.get("interface"))
        if interface is None or (interface.get("name") == ifname and interface.get("sandbox")):
            ip_interface = ipaddress.ip_interface(ip["address"])
            network = _text(ip_interface.network)
            addresses.append(
                ContainerAddress(str(ip_interface.ip), network, ip_interface.version, ip_interface.max_prefixlen)
            )
    return addresses


def _first_of_each_family(addresses: t.Iterable[ContainerAddress]) -> t.Collection[ContainerAddress]:
    firsts: dict[int, ContainerAddress] = {}
    for address in addresses:
        firsts.setdefault(address.family, address)
    return firsts.values()


# Most attachments of a node have the same network.
@functools.lru_cache(maxsize=64)
def _text(network: IpNetwork) -> str:
    return str(network)


def _backend(plugin: PluginConfiguration, key: str) -> str:
    return str(plugin.keys.get(key) or "")


__all__ = ("expected_rules",)
