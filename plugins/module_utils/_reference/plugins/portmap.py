# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin portmap: it forwards ports of the node to a container."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_lookup
from ansible_collections.cni.node.plugins.module_utils._linux.rules import conntrack
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import rules
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import FirewallPart
from ansible_collections.cni.node.plugins.module_utils._reference.rules.port_mapping import (
    Mapping,
    PortmapConfig,
    describe_port_mapping,
    read_mappings,
    read_portmap,
    udp_ports,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Sysctl

# With it, the node's own programs reach mapped ports at a loopback address.
_ROUTE_LOCALNET = "net/ipv4/conf/{}/route_localnet"

_Config = tuple[PortmapConfig, list[Mapping]]


class Portmap(RulePlugin, ChainedPlugin[_Config]):
    """Forwards the ports of the capability ``portMappings``."""

    name = "portmap"

    def read(self, request: PluginRequest) -> _Config:
        return read_portmap(request.config), read_mappings(request.runtime_config)

    def describe(self, config: _Config, known: Facts) -> t.Iterator[Sysctl]:
        own, mappings = config
        link = known.routed_link
        if link and mappings and own.masquerades and any(ip.interface.version == 4 for ip in known.ips):
            yield Sysctl(_ROUTE_LOCALNET.format(link), "1", inside=False, link=link)

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        config, mappings = self.config_of(request)
        firsts = _first_addresses(request)
        own = next((interface for interface in firsts if mappings and interface.ip.is_loopback), None)
        if own is not None:
            raise refuse(
                f"ports cannot be forwarded to {own.ip}, which is the node itself", "expected: a container's address"
            )
        with Undo() as undo:
            rules.write(_describe(request, config, mappings, firsts), undo)
            for interface in firsts if mappings else ():
                if interface.version == 4 and config.masquerades:
                    _route_loopback(interface)
        return result

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        config, mappings = self.config_of(request)
        return _describe(request, config, mappings, _first_addresses(request))

    def check(self, request: PluginRequest) -> None:
        request.require_prev_result()
        rules.require(self.describe_rules(request))

    def delete(self, request: PluginRequest) -> None:
        rules.remove_port_mappings(request.attachment, request.own_addresses())
        with contextlib.suppress(CniError):  # mappings that cannot be read have no flows
            _forget_flows(request)


def _describe(
    request: PluginRequest, config: PortmapConfig, mappings: t.Sequence[Mapping], firsts: t.Iterable[IpInterface]
) -> list[FirewallPart]:
    addresses = rules.container_addresses(firsts)
    parts = (describe_port_mapping(request.attachment, address, mappings, config) for address in addresses)
    return [part for part in parts if part is not None]


def _first_addresses(request: PluginRequest) -> list[IpInterface]:
    """Return the first address of each family."""
    firsts: dict[int, IpInterface] = {}
    for interface in request.own_interfaces():
        firsts.setdefault(interface.version, interface)
    return [firsts[family] for family in sorted(firsts)]


def _forget_flows(request: PluginRequest) -> None:
    """Forget the flows to mapped UDP ports that go on to the container."""
    ports, addresses = udp_ports(read_mappings(request.runtime_config)), request.own_addresses()
    for family in (4, 6):
        own = None if addresses is None else [address for address in addresses if (":" in address) == (family == 6)]
        conntrack.forget_udp(family, ports, own)


def _route_loopback(interface: IpInterface) -> None:
    """Let the node's own programs reach mapped ports at a loopback address."""
    link = route_lookup.link_to(interface.ip)
    if link is not None:
        sysctl.write_at(_ROUTE_LOCALNET.format(link.name), "1")
