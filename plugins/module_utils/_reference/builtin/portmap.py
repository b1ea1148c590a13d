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
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import conntrack, rtnetlink, sysctl
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import interface_check, rules
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    IPTABLES,
    NFTABLES,
    FirewallPart,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.port_mapping import (
    Mapping,
    describe_port_mapping,
    parse_mappings,
)

_LAST_PORT: t.Final = 65535
_LAST_BIT: t.Final = 31
_UDP: t.Final = "udp"


class Portmap(Plugin):
    """Forwards the ports of the capability ``portMappings``."""

    name = "portmap"

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        mappings = _read_mappings(request)
        _require_valid(request)
        firsts = _first_addresses(request)
        with Undo() as undo:
            rules.write(_parts(request, mappings, firsts), undo)
            for interface in firsts if mappings else ():
                _forget_flows(mappings, interface)
                if interface.version == 4 and request.keys.get("snat") is not False:
                    _route_loopback(interface)
        return result

    def check(self, request: PluginRequest) -> None:
        request.require_prev_result()
        rules.require(_parts(request, _read_mappings(request), _first_addresses(request)))

    def delete(self, request: PluginRequest) -> None:
        rules.remove_port_mappings(request.attachment, interface_check.own_addresses(request))


def _read_mappings(request: PluginRequest) -> list[Mapping]:
    entries = request.runtime_config.values.get("portMappings") or ()
    mappings = parse_mappings(entries)
    if len(mappings) != len(entries):
        what = "a host port, a container port, a protocol and optionally an address of the node"
        raise refuse("/runtimeConfig/portMappings is not valid", f"expected: entries with {what}")
    for index, mapping in enumerate(mappings):
        for key, port in (("hostPort", mapping.host_port), ("containerPort", mapping.container_port)):
            if not 0 < port <= _LAST_PORT:
                raise refuse(f"/runtimeConfig/portMappings/{index}/{key}: {port} is not a port")
    return mappings


def _require_valid(request: PluginRequest) -> None:
    config = request.config
    bit = config.integer("markMasqBit")
    if "markMasqBit" in config and "externalSetMarkChain" in config:
        raise refuse("/markMasqBit excludes /externalSetMarkChain", "expected: one of both")
    if not 0 <= bit <= _LAST_BIT:
        raise refuse(f"/markMasqBit: {bit} is not a bit of a mark", f"expected: 0 to {_LAST_BIT}")
    backend = config.text("backend")
    if backend not in ("", IPTABLES, NFTABLES):
        raise refuse(f"/backend: {backend!r} is unknown", f"expected: {IPTABLES} or {NFTABLES}")
    if backend == NFTABLES and "externalSetMarkChain" in config:
        raise refuse(f"/externalSetMarkChain excludes the backend {NFTABLES}", "expected: a chain of iptables")


def _first_addresses(request: PluginRequest) -> list[IpInterface]:
    """Return the first address of each family."""
    firsts: dict[int, IpInterface] = {}
    for interface in interface_check.own_interfaces(request):
        firsts.setdefault(interface.version, interface)
    return [firsts[family] for family in sorted(firsts)]


def _parts(
    request: PluginRequest, mappings: t.Sequence[Mapping], interfaces: t.Iterable[IpInterface]
) -> list[FirewallPart]:
    parts = (
        describe_port_mapping(request.attachment, address, mappings, request.keys)
        for address in rules.container_addresses(interfaces)
    )
    return [part for part in parts if part is not None]


def _forget_flows(mappings: t.Iterable[Mapping], interface: IpInterface) -> None:
    """Forget the flows to mapped UDP ports, which would go on to where they went before."""
    ports = sorted({mapping.host_port for mapping in mappings if mapping.protocol == _UDP})
    if ports:
        with contextlib.suppress(CniError):  # the rules are there; flows end by themselves
            conntrack.forget_udp(interface.version, ports)


def _route_loopback(interface: IpInterface) -> None:
    """Let the node's own programs reach mapped ports at a loopback address."""
    link = rtnetlink.link_to(interface.ip)
    if link is not None:
        sysctl.write_at(f"net/ipv4/conf/{link.name}/route_localnet", "1")


__all__ = ("Portmap",)
