# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin bridge: it connects a container to a bridge of the node by a veth pair."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface, unpack_interface
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import NO_MAC
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import (
    kernel_writer,
    router_advertisements,
    rtnetlink,
)
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, Link
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_ranges
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.addressing import Addressing
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import (
    rules,
    sandbox,
    veth_pair,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.interface_plugin import InterfacePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.bridge_config import BridgeConfig, read_config
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FirewallPart,
    safe_interfaces,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import describe_all_masquerading
from ansible_collections.cni.node.plugins.module_utils._reference.rules.spoof_checking import describe_spoof_checking
from ansible_collections.cni.node.plugins.module_utils._reference.state import interfaces, own_links, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ExpectedAddress,
    ExpectedLink,
    Resource,
)


class BridgePlugin(RulePlugin, InterfacePlugin[BridgeConfig]):
    """Connects a container to a bridge, which it creates if it is missing."""

    name = "bridge"

    def read(self, request: PluginRequest) -> BridgeConfig:
        return read_config(request)

    def name_node_links(self, config: BridgeConfig, known: Facts) -> Facts:
        host_end = interfaces.find_host_end(known, config.bridge, config.vlan_gateway)
        return known._replace(host_end=host_end, routed_link=config.gateway_link)

    def describe(self, config: BridgeConfig, known: Facts) -> t.Iterator[Resource]:
        yield from interfaces.describe_container(known, mtu=config.mtu, is_up=not config.leaves_down)
        macs = (each.mac for each in known.on_node if each.name == config.bridge)
        # A bridge without an address takes the MAC of a port.
        yield config.describe_bridge(next(macs, "") if config.is_gateway else "")
        yield from interfaces.describe_host_end(known, config.mtu, config.bridge, config.vlan_gateway)
        if known.host_end:
            yield config.describe_port(known.host_end)
        if any(each.name == config.vlan_gateway for each in known.on_node):
            yield ExpectedLink(config.vlan_gateway, inside=False, is_up=True)
            yield config.describe_gateway_port(config.vlan_gateway)._replace(by_peer=True)
        if config.is_gateway:
            yield from _describe_gateways(config.gateway_link, known)
            yield from interfaces.describe_forwarding(known)

    def add(self, request: PluginRequest) -> Result:
        config = self.config_of(request)
        with sandbox.open_sandbox(request.attachment), kernel_writer.connect() as writer, Undo() as undo:
            return _Addition(request, config, writer, undo).run()

    def check(self, request: PluginRequest) -> None:
        parts = self.describe_rules(request)
        super().check(request)
        rules.require(parts)

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        config = self.config_of(request)
        parts = []
        if config.masquerades:
            addresses = request.own_interfaces()
            parts = describe_all_masquerading(request.attachment, addresses, config.masquerade_backend)
        if config.checks_macs:
            named = safe_interfaces(request.require_prev_result().keys)
            ports = [str(item["name"]) for item in named if not item.get("sandbox")]
            parts.append(describe_spoof_checking(request.attachment, ports, mac))
        return parts

    def delete(self, request: PluginRequest) -> None:
        sandbox.remove_own_link(request, self.name)
        if request.keys.get("macspoofchk") is True:
            rules.remove_spoof_checks(request.attachment)
        if request.keys.get("ipMasq") is True:
            rules.remove_masquerading(request.attachment, request.own_addresses())
        addressing.run_ipam(request)  # as the last step: a rule that is left would meet the next owner of the address


class _Addition:
    """The steps of one ADD."""

    def __init__(self, request: PluginRequest, config: BridgeConfig, writer: KernelWriter, undo: Undo) -> None:
        self._request = request
        self._config = config
        self._writer = writer
        self._undo = undo

    def run(self) -> Result:
        config, attachment = self._config, self._request.attachment
        present = rtnetlink.link(config.bridge)
        if present is not None and present.kind != BRIDGE:
            hint = "rename it, or set /bridge to another name"
            raise refuse(f"the link {config.bridge} exists, and is not a bridge", hint)
        bridge = writing.ensure_bridge(self._writer, config.describe_bridge(), present)
        pair = veth_pair.create(
            self._writer, attachment, self._undo, mtu=config.mtu, mac=config.mac, master=bridge.ifindex
        )
        writing.set_port(self._writer, pair.host_index, config.describe_port(pair.host_name), bridge)
        made = [{"name": config.bridge}, pair.host_interface, pair.container_interface]
        if config.checks_macs:
            ports = [config.bridge, pair.host_name]
            rules.write([describe_spoof_checking(attachment, ports, pair.mac)], self._undo)
        given = addressing.allocate(self._request, self._undo)
        if given.ips:
            made += self._address(bridge, given)
        elif not config.leaves_down:
            sandbox.run_inside(
                attachment, lambda writer: writer.set_up(sandbox.require_link(attachment.ifname).ifindex)
            )
        # A port or an address may have changed it.
        made[0]["mac"] = sandbox.require_link(config.bridge).mac
        dns = given.dns if config.dns is None else config.dns
        return Result(version.LATEST, {"interfaces": made, "ips": given.ips, "routes": given.routes, "dns": dns})

    def _address(self, bridge: Link, given: Addressing) -> list[JsonObject]:
        """Give the container its addresses, and the node those of the gateways; return further interfaces."""
        config, request = self._config, self._request
        given.place(2)
        if config.is_gateway:
            _complete_gateways(given, request.attachment, is_default=config.is_default_gateway)
        known = given.facts(request.attachment)
        sandbox.run_inside(request.attachment, lambda writer: self._configure(writer, known))
        further = self._write_gateways(bridge, known) if config.is_gateway else []
        if config.masquerades:
            backend = config.masquerade_backend
            rules.write(describe_all_masquerading(request.attachment, known.addresses, backend), self._undo)
        return further

    def _configure(self, writer: KernelWriter, known: Facts) -> None:
        ifname, finds_duplicates = self._request.attachment.ifname, self._config.finds_duplicates
        with contextlib.suppress(CniError):  # the kernel may be without IPv6
            if finds_duplicates:
                sysctl.write_at(f"net/ipv6/conf/{ifname}/enhanced_dad", "1")
            sysctl.write_at(f"net/ipv6/conf/{ifname}/accept_dad", "1" if finds_duplicates else "0")
        addressing.configure(writer, known, announces=True)

    def _write_gateways(self, bridge: Link, known: Facts) -> list[JsonObject]:
        config = self._config
        link = self._ensure_vlan_gateway(bridge) if config.vlans.vlan else bridge
        for gateway in sorted(_list_gateways(known), key=lambda each: each.version):
            _ensure_address(self._writer, link, gateway, config.force_address)
        addressing.enable_forwarding(known)
        return [{"name": link.name, "mac": link.mac}] if config.vlans.vlan else []

    def _ensure_vlan_gateway(self, bridge: Link) -> Link:
        """Return the link with the addresses of a VLAN's gateways, which is one end of a veth pair; create it if needed."""
        name = self._config.vlan_gateway
        link = rtnetlink.link(name)
        if link is None:
            try:
                self._writer.create_veth(veth_pair.random_name(), name, mtu=bridge.mtu, master=bridge.ifindex)
            except CniError:
                if rtnetlink.link(name) is None:  # otherwise, the ADD of another container has just created it
                    raise
            link = sandbox.require_link(name)
        port = own_links.find_peer(link, rtnetlink.link_by_index(link.peer))
        if link.is_up or port is None:
            return link
        # New, or left so by an ADD that failed, was killed, or has not set it up yet.
        router_advertisements.ignore(port.name)
        writing.set_port(self._writer, port.ifindex, self._config.describe_gateway_port(port.name), bridge)
        self._writer.set_up(link.ifindex)
        return sandbox.require_link(name)


def _describe_gateways(link: str, known: Facts) -> t.Iterator[ExpectedAddress]:
    """Yield the gateways: all of IPv6, but only the last one of IPv4, which has replaced the others."""
    gateways = {each.version if each.version == 4 else each: each for each in _list_gateways(known)}
    yield from (ExpectedAddress(link, each, inside=False, is_only=each.version == 4) for each in gateways.values())


def _list_gateways(known: Facts) -> list[IpInterface]:
    return [
        unpack_interface(ip.gateway.packed, ip.interface.network.prefixlen)
        for ip in known.ips
        if ip.gateway is not None
    ]


def _ensure_address(writer: KernelWriter, link: Link, wanted: IpInterface, force: bool) -> None:
    """Give a link of the node the address of a gateway, and make its MAC permanent.

    Raises:
        CniError: It has another address of IPv4, or one of an overlapping network, which must not be replaced.
    """
    present = [each.interface for each in rtnetlink.addresses(link.ifindex)]
    if wanted in present:
        return
    for other in (each for each in present if ipam_ranges.replaces(each, wanted)):
        if not force:
            advice = 'set "forceAddress": true to replace it'
            raise refuse(f"{link.name} has the address {other}, not {wanted}", advice)
        writer.remove_address(link.ifindex, other)
    # Otherwise its MAC, which containers know as that of their gateway, would change with its ports. A bridge that has lost it
    # with its last port has that of the container's port now. The address comes last, as the next ADD takes a link that has it
    # for complete.
    writer.set_mac(link.ifindex, link.mac if link.mac != NO_MAC else sandbox.require_link(link.name).mac)
    writer.add_address(link.ifindex, wanted, finds_duplicates=True)


def _complete_gateways(given: Addressing, attachment: Attachment, *, is_default: bool) -> None:
    """Choose the gateways that the IPAM plugin has not, and add the default routes."""
    for keys, ip in zip(given.ips, given.facts(attachment).ips):
        gateway = str(ip.gateway or ip.interface.network.network_address + 1)
        keys["gateway"] = keys.get("gateway") or gateway
        everywhere = "0.0.0.0/0" if ip.interface.version == 4 else "::/0"
        in_main = (route for route in given.routes if route.get("table") in (None, 0, rtnetlink.MAIN_TABLE))
        if is_default and not any(route["dst"] == everywhere for route in in_main):
            given.routes.append({"dst": everywhere, "gw": gateway})
