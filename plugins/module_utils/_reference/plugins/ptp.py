# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin ptp: it connects a container with the node by a veth pair alone."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import (
    rules,
    sandbox,
    veth_pair,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.interface_plugin import InterfacePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import FirewallPart
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import (
    describe_all_masquerading,
    read_masquerade_backend,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state import interfaces, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import ContainerIp, Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ExpectedAddress,
    ExpectedRoute,
    Resource,
)

# RT_SCOPE_HOST
_HOST_SCOPE = 254


class PtpConfig(t.NamedTuple):
    """The keys of a configuration.

    Attributes:
        dns: The DNS settings of the result; None for those of the IPAM plugin.
    """

    mtu: int
    masquerades: bool
    masquerade_backend: str
    dns: JsonObject | None


class Ptp(RulePlugin, InterfacePlugin[PtpConfig]):
    """Makes a veth pair, and routes all traffic of the container to the node."""

    name = "ptp"

    def read(self, request: PluginRequest) -> PtpConfig:
        config = request.config
        addressing.ipam_type(request)
        mtu, masquerades = config.integer("mtu", within=PACKET_SIZE), config.flag("ipMasq")
        dns = ipam_config.read_own_dns(config.section("dns"))
        return PtpConfig(mtu, masquerades, read_masquerade_backend(config), dns)

    def name_node_links(self, dummy: PtpConfig, known: Facts) -> Facts:
        host_end = interfaces.find_host_end(known)
        return known._replace(host_end=host_end, routed_link=host_end)

    def describe(self, config: PtpConfig, known: Facts) -> t.Iterator[Resource]:
        routes = [route for ip in known.ips for route in _describe_routes(ip)]
        yield from interfaces.describe_container(known, mtu=config.mtu, own_routes=routes)
        yield from interfaces.describe_host_end(known, config.mtu)
        if known.routed_link:
            yield from _describe_gateways(known)
            yield from interfaces.describe_forwarding(known)

    def require_accepted(self, request: PluginRequest) -> None:
        super().require_accepted(request)
        if not addressing.ipam_type(request):
            raise _refuse_no_ipam()

    def add(self, request: PluginRequest) -> Result:
        config, attachment = self.config_of(request), request.attachment
        with sandbox.open_sandbox(attachment), kernel_writer.connect() as writer, Undo() as undo:
            given = addressing.allocate(request, undo)
            known = given.facts(attachment)
            _require_gateways(known)
            given.place(1)
            addressing.enable_forwarding(known)
            pair = veth_pair.create(writer, attachment, undo, mtu=config.mtu)
            sandbox.run_inside(attachment, lambda inside: _configure(inside, known))
            _write_gateways(writer, pair.host_index, known._replace(routed_link=pair.host_name))
            if config.masquerades:
                rules.write(describe_all_masquerading(attachment, known.addresses, config.masquerade_backend), undo)
        keys = {"interfaces": [pair.host_interface, pair.container_interface], "ips": given.ips, "routes": given.routes}
        return Result(version.LATEST, {**keys, "dns": given.dns if config.dns is None else config.dns})

    def check(self, request: PluginRequest) -> None:
        super().check(request)
        rules.require(self.describe_rules(request))

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        config = self.config_of(request)
        addresses = request.own_interfaces() if config.masquerades else []
        return describe_all_masquerading(request.attachment, addresses, config.masquerade_backend)

    def delete(self, request: PluginRequest) -> None:
        sandbox.remove_own_link(request, self.name)
        if request.keys.get("ipMasq") is True:
            rules.remove_masquerading(request.attachment, request.own_addresses())
        addressing.run_ipam(request)  # as the last step, as for bridge


def _describe_routes(ip: ContainerIp) -> t.Iterator[ExpectedRoute]:
    """Yield the routes with which a container reaches its network through the node."""
    source, scope = ip.interface.ip, interfaces.LINK_SCOPE if ip.interface.version == 4 else None
    if ip.gateway is not None:
        yield ExpectedRoute(ip.link, ipaddress.ip_network(ip.gateway), None, inside=True, scope=scope, source=source)
        if interfaces.has_network(ip):
            yield ExpectedRoute(ip.link, ip.interface.network, ip.gateway, inside=True, source=source)


def _describe_gateways(known: Facts) -> t.Iterator[ExpectedAddress | ExpectedRoute]:
    """Yield the gateways' addresses on the node's end, and the routes to the container."""
    link = known.routed_link
    for ip in known.ips:
        if ip.gateway is not None:
            yield ExpectedAddress(link, ipaddress.ip_interface(ip.gateway), inside=False)
            scope = _HOST_SCOPE if ip.interface.version == 4 else None
            yield ExpectedRoute(link, ipaddress.ip_network(ip.interface.ip), None, inside=False, scope=scope)


def _refuse_no_ipam() -> CniError:
    return refuse("/ipam/type is missing", "expected: an IPAM plugin such as host-local")


def _require_gateways(known: Facts) -> None:
    if not known.ips:
        raise _refuse_no_ipam()
    lacking = next((ip.interface for ip in known.ips if ip.gateway is None), None)
    if lacking is not None:
        raise refuse(f"the IPAM plugin returned {lacking} without a gateway", "expected: a gateway for each address")


def _configure(writer: KernelWriter, known: Facts) -> None:
    """Give the container its addresses; all traffic but that to the gateway itself goes through the gateway."""
    ifindex = addressing.configure(writer, known)
    with writer.batch():
        for ip in known.ips:
            writer.remove_route(ifindex, ip.interface.network, MAIN_TABLE)
            for route in _describe_routes(ip):
                writing.add_route(writer, ifindex, route)


def _write_gateways(writer: KernelWriter, ifindex: int, known: Facts) -> None:
    with writer.batch():
        for resource in _describe_gateways(known):
            if isinstance(resource, ExpectedAddress):
                writer.add_address(ifindex, resource.interface, finds_duplicates=True)
            else:
                writing.add_route(writer, ifindex, resource)
