# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin ptp: it connects a container with the node by a veth pair alone."""

from __future__ import annotations

import ipaddress

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.addressing import Addressing, IpamUser
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import (
    interface_check,
    rules,
    sandbox,
    veth_pair,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import FirewallPart
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import (
    describe_all_masquerading,
    read_masquerade_backend,
)

# RT_SCOPE_LINK
_LINK = 253


class Ptp(IpamUser, RulePlugin):
    """Makes a veth pair, and routes all traffic of the container to the node."""

    name = "ptp"

    def add(self, request: PluginRequest) -> Result:
        config, attachment = request.config, request.attachment
        dns = ipam_config.read_own_dns(config.section("dns"))
        mtu = config.integer("mtu", within=PACKET_SIZE)
        masquerades, backend = config.flag("ipMasq"), read_masquerade_backend(config)
        addressing.ipam_type(request)  # refused before anything else
        with sandbox.open_sandbox(attachment), kernel_writer.connect() as writer, Undo() as undo:
            given = addressing.allocate(request, undo)
            gateways = _require_gateways(given)
            given.place(1)
            addressing.enable_forwarding(given.interfaces)
            pair = veth_pair.create(writer, attachment, undo, mtu=mtu)
            sandbox.run_inside(attachment, lambda inside: _configure(inside, attachment.ifname, given, gateways))
            _write_host_end(writer, pair.host_index, gateways)
            if masquerades:
                rules.write(describe_all_masquerading(attachment, given.interfaces, backend), undo)
        keys = {"interfaces": [pair.host_interface, pair.container_interface], "ips": given.ips, "routes": given.routes}
        return Result(version.LATEST, {**keys, "dns": given.dns if dns is None else dns})

    def check(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)
        interface_check.require(request)
        rules.require(self.describe_rules(request))

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        backend = read_masquerade_backend(request.config)
        interfaces = interface_check.own_interfaces(request) if request.config.flag("ipMasq") else []
        return describe_all_masquerading(request.attachment, interfaces, backend)

    def delete(self, request: PluginRequest) -> None:
        sandbox.remove_own_link(interface_check.link_claim(request, self.name))
        if request.keys.get("ipMasq") is True:
            rules.remove_masquerading(request.attachment, interface_check.own_addresses(request))
        addressing.run_ipam(request)  # as the last step, as for bridge


def _require_gateways(given: Addressing) -> list[tuple[IpInterface, IpAddress]]:
    if not given.ips:
        raise refuse("/ipam/type is missing", "expected: an IPAM plugin such as host-local")
    gateways = []
    for interface, gateway in given.gateways:
        if gateway is None:
            raise refuse(
                f"the IPAM plugin returned {interface} without a gateway", "expected: a gateway for each address"
            )
        gateways.append((interface, gateway))
    return gateways


def _configure(
    writer: KernelWriter, ifname: str, given: Addressing, gateways: list[tuple[IpInterface, IpAddress]]
) -> None:
    """Give the container its addresses; all traffic but that to the gateway itself goes through the gateway."""
    ifindex = addressing.configure(writer, ifname, given)
    with writer.batch():
        for interface, gateway in gateways:
            writer.remove_route(ifindex, interface.network, MAIN_TABLE)
            only = ipaddress.ip_network(gateway)
            writer.add_route(ifindex, only, MAIN_TABLE, replace=False, scope=_LINK, source=interface.ip)
            writer.add_route(
                ifindex, interface.network, MAIN_TABLE, replace=False, gateway=gateway, source=interface.ip
            )


def _write_host_end(writer: KernelWriter, ifindex: int, gateways: list[tuple[IpInterface, IpAddress]]) -> None:
    with writer.batch():
        for interface, gateway in gateways:
            writer.add_address(ifindex, ipaddress.ip_interface(gateway), finds_duplicates=True)
            writer.add_host_route(ifindex, interface)
