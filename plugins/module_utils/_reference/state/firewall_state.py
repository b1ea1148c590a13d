# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Build the firewall rules of an attachment from its record."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpNetwork
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, read_interface
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    ContainerAddress,
    FirewallPart,
    safe_interfaces,
    safe_mac,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.forwarding import (
    describe_forwarding,
    read_firewall,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.masquerading import (
    describe_masquerading,
    read_masquerade_backend,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.port_mapping import (
    describe_port_mapping,
    read_mappings,
    read_portmap,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.spoof_checking import describe_spoof_checking

_PORTS: t.Final = "portMappings"


class UnreadableRules(CniError):
    """A record whose configuration does not tell which firewall rules an attachment has."""


def firewall_state(record: Record, network: NetworkConfiguration) -> list[FirewallPart]:
    """Return the firewall rules that the plugins of an attachment have made, in the order of the plugins.

    Args:
        network: The configuration in the record.

    Raises:
        UnreadableRules: A plugin would refuse its configuration, and which rules it has made is not known.
        CniError: The result cannot be used.
    """
    plugins = [(plugin, catalogue.find_plugin_type(plugin.type)) for plugin in network.plugins]
    if record.result is None or not any(row.writes_rules for dummy, row in plugins):
        return []
    builder = _Builder(record.attachment, record.result, network)
    try:
        return [part for plugin, row in plugins if row.writes_rules for part in builder.parts(plugin)]
    except CniError as exc:
        raise UnreadableRules(exc.code, exc.msg, exc.details) from exc


class _Builder:
    """Builds the parts of one attachment; what its plugins share is determined once."""

    def __init__(self, attachment: Attachment, result: Result, network: NetworkConfiguration) -> None:
        self._attachment = attachment
        self._network = network
        self._result = result.to("1.1.0").keys

    def parts(self, plugin: PluginConfiguration) -> t.Iterator[FirewallPart]:
        row, keys = catalogue.find_plugin_type(plugin.type), plugin.keys
        if row.masquerades and keys.get("ipMasq") is True:
            backend = read_masquerade_backend(Keys(keys))
            for address in self._addresses:
                yield describe_masquerading(self._attachment, address, backend)
        if row.checks_macs and keys.get("macspoofchk") is True:
            yield self._spoof_checking()
        if row.maps_ports and _PORTS in plugin.capabilities:
            yield from self._port_mappings(keys)
        if row.filters:
            yield from describe_forwarding(self._all_addresses, self._first_interface, read_firewall(Keys(keys)))

    def _port_mappings(self, keys: t.Mapping[str, t.Any]) -> t.Iterator[FirewallPart]:
        mappings = read_mappings(Keys(self._attachment.capability_args, "/runtimeConfig"))
        config = read_portmap(Keys(keys))
        firsts: dict[int, ContainerAddress] = {}
        for address in self._addresses:
            firsts.setdefault(address.family, address)  # as portmap does
        for address in firsts.values():
            part = describe_port_mapping(self._attachment, address, mappings, config)
            if part is not None:
                yield part

    def _spoof_checking(self) -> FirewallPart:
        interfaces = safe_interfaces(self._result)
        ports = [item["name"] for item in interfaces if not item.get("sandbox")]
        own = (item for item in interfaces if item.get("sandbox") and item["name"] == self._attachment.ifname)
        mac = safe_mac(next(own, {}).get("mac"))
        may_change = any(catalogue.find_plugin_type(plugin.type).tunes_interface for plugin in self._network.plugins)
        return describe_spoof_checking(self._attachment, ports, "" if may_change else mac)

    @property
    def _first_interface(self) -> str:
        """The name of the first interface of the result, or an empty string."""
        interfaces = self._result.get("interfaces") or ()
        return str(interfaces[0]["name"]) if interfaces and interfaces[0] in safe_interfaces(self._result) else ""

    @functools.cached_property
    def _addresses(self) -> list[ContainerAddress]:
        """The addresses of the container's interface, and those for which the result names no interface."""
        interfaces = dict(enumerate(self._result.get("interfaces") or ()))
        return [
            container_address(ip["address"])
            for ip in self._result.get("ips") or ()
            if self._is_own(interfaces.get(ip.get("interface")))
        ]

    @functools.cached_property
    def _all_addresses(self) -> list[ContainerAddress]:
        return [container_address(ip["address"]) for ip in self._result.get("ips") or ()]

    def _is_own(self, interface: t.Mapping[str, t.Any] | None) -> bool:
        return interface is None or (
            interface.get("name") == self._attachment.ifname and bool(interface.get("sandbox"))
        )


def container_address(text: str) -> ContainerAddress:
    interface = read_interface("the address of the result", text)
    return ContainerAddress(str(interface.ip), _text(interface.network), interface.version, interface.max_prefixlen)


# Most attachments of a node have the same network.
@functools.lru_cache(maxsize=64)
def _text(network: IpNetwork) -> str:
    return str(network)


__all__ = ("UnreadableRules", "container_address", "firewall_state")
