# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Give the container's interface the addresses and routes of an IPAM plugin."""

from __future__ import annotations

import time

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.interfaces import describe_forwarding

# Seconds that the kernel may look for duplicates of an address, and between two looks.
_DUPLICATES_TIMEOUT = 5.0
_PAUSE = 0.05
# linux/if_addr.h
_DAD_FAILED, _TENTATIVE = 0x08, 0x40


class Addressing:
    """The addresses, routes and DNS settings that an IPAM plugin has returned, as they stand in a result.

    Empty lists if the configuration has no IPAM plugin.
    """

    def __init__(self, ips: list[JsonObject], routes: list[JsonObject], dns: JsonObject) -> None:
        self.ips = ips
        self.routes = routes
        self.dns = dns

    def facts(self, attachment: Attachment) -> Facts:
        """Return the addresses and routes of the container's interface.

        Raises:
            CniError: The IPAM plugin has returned a value that cannot be used.
        """
        ips = [facts.read_ip(ip, attachment.ifname) for ip in self.ips]
        routes = facts.read_routes(self.routes, attachment.ifname, ips)
        return Facts(attachment, ips=tuple(ips), routes=tuple(routes))

    def place(self, index: int) -> None:
        """Note the interface of the addresses, by its number in the result."""
        self.ips = [{**ip, "interface": index} for ip in self.ips]


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


def enable_forwarding(known: Facts) -> None:
    """Let the node forward packets of the families of addresses.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for setting in describe_forwarding(known):
        if sysctl.read_at(setting.path) != setting.value:
            sysctl.write_at(setting.path, setting.value)


def configure(writer: KernelWriter, known: Facts, *, announces: bool = False) -> int:
    """Give an interface of this thread's network namespace its addresses, set it up, and add the routes.

    Args:
        announces: Whether its IPv4 addresses are announced to others then.

    Returns:
        Its index.
    """
    ifname = known.attachment.ifname
    link = rtnetlink.link(ifname)
    if link is None:
        raise refuse(f"there is no interface {ifname}")
    if any(ip.interface.version == 6 for ip in known.ips):
        _enable_ipv6(ifname)
    with writer.batch():
        if announces:
            writer.announce_addresses(link.ifindex)
        for ip in known.ips:
            writer.add_address(link.ifindex, ip.interface, finds_duplicates=True)
        if not link.is_up:
            writer.set_up(link.ifindex)
    if any(ip.interface.version == 6 and ip.gateway for ip in known.ips):
        _wait_for_addresses(ifname)
    with writer.batch():
        for route in known.routes:
            writing.add_route(writer, link.ifindex, route)
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
        with workers.lend():
            time.sleep(_PAUSE)


def _address_flags(ifname: str) -> list[int]:
    with open("/proc/thread-self/net/if_inet6", encoding="utf-8", errors="replace") as lines:
        fields = [line.split() for line in lines]
    return [int(each[4], 16) for each in fields if each[5] == ifname]
