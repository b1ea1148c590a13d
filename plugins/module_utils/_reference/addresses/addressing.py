# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Give the container's interface the addresses and routes of an IPAM plugin."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT8, UINT32, Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state.interfaces import FORWARDING

# Seconds that the kernel may look for duplicates of an address, and between two looks.
_DUPLICATES_TIMEOUT = 5.0
_PAUSE = 0.05
# linux/if_addr.h
_DAD_FAILED, _TENTATIVE = 0x08, 0x40


@dataclasses.dataclass
class Addressing:
    """The addresses, routes and DNS settings that an IPAM plugin has returned, as they stand in a result.

    Empty lists if the configuration has no IPAM plugin.
    """

    ips: list[JsonObject]
    routes: list[JsonObject]
    dns: JsonObject

    @property
    def interfaces(self) -> list[IpInterface]:
        return [_interface(ip) for ip in self.ips]

    @property
    def gateways(self) -> list[tuple[IpInterface, IpAddress | None]]:
        """Each address with its gateway."""
        return [(_interface(ip), parse_address(ip.get("gateway"))) for ip in self.ips]

    def place(self, index: int) -> None:
        """Note the interface of the addresses, by its number in the result."""
        self.ips = [{**ip, "interface": index} for ip in self.ips]


def _interface(ip: JsonObject) -> IpInterface:
    interface = parse_interface(ip["address"])
    if interface is None:
        raise refuse(f"the IPAM plugin returned {ip['address']!r}, which is not an address with a prefix length")
    return interface


def ipam_type(request: PluginRequest) -> str:
    """Return the type of the IPAM plugin, or an empty string.

    Raises:
        CniError: It is a reference plugin of another kind, which might run itself for ever.
    """
    ipam = request.config.section("ipam")
    plugin_type = ipam.text("type")
    row = catalogue.find_plugin_type(plugin_type)
    if row.is_reference and not row.assigns_addresses:
        what = f"{ipam.pointer('type')}: plugin {plugin_type} assigns no addresses"
        raise refuse(what, "expected: an IPAM plugin such as host-local")
    return plugin_type


def allocate(request: PluginRequest, undo: Undo) -> Addressing:
    """Run ADD of the IPAM plugin, and its DEL if the caller fails later; without an IPAM plugin, return nothing.

    Raises:
        CniError: The error of the IPAM plugin, or it has returned no address.
    """
    plugin_type = ipam_type(request)
    if not plugin_type:
        return Addressing([], [], {})
    undo.add(lambda: request.delegate(plugin_type, "DEL"), needs_others=True)
    keys = request.delegate(plugin_type).keys
    if not keys.get("ips"):
        raise refuse(f"the IPAM plugin {plugin_type} has returned no address")
    return Addressing(list(keys["ips"]), list(keys.get("routes") or ()), dict(keys.get("dns") or {}))


def run_ipam(request: PluginRequest) -> None:
    """Run the operation of this request, other than ADD, with the IPAM plugin, if there is one.

    DEL keeps the address if another plugin of the network has failed, and is repeated.
    """
    try:
        plugin_type = ipam_type(request)
    except CniError:
        if request.parameters.command != "DEL":
            raise
        return  # ADD refuses it, so that there is no address
    if plugin_type and not request.parameters.has_failed:
        request.delegate(plugin_type)


def enable_forwarding(interfaces: t.Iterable[IpInterface]) -> None:
    """Let the node forward packets of the families of addresses.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for family in sorted({interface.version for interface in interfaces}):
        if sysctl.read_at(FORWARDING[family]) != "1":
            sysctl.write_at(FORWARDING[family], "1")


def configure(writer: KernelWriter, ifname: str, addressing: Addressing, *, announces: bool = False) -> int:
    """Give an interface of this thread's network namespace its addresses, set it up, and add the routes.

    Args:
        announces: Whether its IPv4 addresses are announced to others then.

    Returns:
        Its index.
    """
    link = rtnetlink.link(ifname)
    if link is None:
        raise refuse(f"there is no interface {ifname}")
    if any(interface.version == 6 for interface in addressing.interfaces):
        _enable_ipv6(ifname)
    with writer.batch():
        if announces:
            writer.announce_addresses(link.ifindex)
        for interface in addressing.interfaces:
            writer.add_address(link.ifindex, interface, finds_duplicates=True)
        if not link.is_up:
            writer.set_up(link.ifindex)
    if any(interface.version == 6 and gateway for interface, gateway in addressing.gateways):
        _wait_for_addresses(ifname)
    with writer.batch():
        for route in addressing.routes:
            _add_route(writer, link.ifindex, route, addressing)
    return link.ifindex


def _enable_ipv6(ifname: str) -> None:
    for name in (rtnetlink.LOOPBACK, ifname):
        path = f"net/ipv6/conf/{name}/disable_ipv6"
        if sysctl.read_at(path) != "0":
            sysctl.write_at(path, "0")
    sysctl.write_at(f"net/ipv6/conf/{ifname}/keep_addr_on_down", "1")


def _wait_for_addresses(ifname: str) -> None:
    """Wait until the kernel has found no duplicates of the addresses of an interface, which needs a carrier."""
    deadline = time.monotonic() + _DUPLICATES_TIMEOUT
    while True:
        link = rtnetlink.link(ifname)
        if link is None or not link.has_carrier:
            return
        flags = _address_flags(ifname)
        if any(each & _DAD_FAILED for each in flags):
            raise refuse(f"another device has an IPv6 address of {ifname}")
        if not any(each & _TENTATIVE for each in flags):
            return
        if time.monotonic() > deadline:
            raise refuse(f"the IPv6 addresses of {ifname} are still tentative after {_DUPLICATES_TIMEOUT:g} s")
        with workers.pause():
            time.sleep(_PAUSE)


def _address_flags(ifname: str) -> list[int]:
    with open("/proc/thread-self/net/if_inet6", encoding="utf-8", errors="replace") as lines:
        fields = [line.split() for line in lines]
    return [int(each[4], 16) for each in fields if each[5] == ifname]


def _add_route(writer: KernelWriter, ifindex: int, route: JsonObject, addressing: Addressing) -> None:
    destination = parse_interface(route.get("dst"))
    if destination is None:
        raise refuse(f"the IPAM plugin returned a route to {route.get('dst')!r}")
    # The result may come from an executable.
    numbers = Keys(route, f"the route to {destination}: ")
    defaults = (gateway for dummy, gateway in addressing.gateways if gateway)
    default = next((gateway for gateway in defaults if gateway.version == destination.version), None)
    writer.add_route(
        ifindex,
        destination.network,
        numbers.integer("table", within=UINT32) or rtnetlink.MAIN_TABLE,
        replace=False,
        gateway=parse_address(route.get("gw")) or default,
        scope=numbers.optional_integer("scope", within=UINT8),
        priority=numbers.integer("priority", within=UINT32),
    )
