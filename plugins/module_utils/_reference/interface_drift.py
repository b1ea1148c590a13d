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
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

_LEAVES_DOWN: t.Final = tuple(row.leaves_down_key for row in catalogue.CATALOGUE.values() if row.leaves_down_key)


class LinkDrift(t.NamedTuple):
    """Messages about the drift of an attachment's links.

    Attributes:
        inside: Drift in the container's network namespace.
        on_node: Drift of the node's links.
    """

    inside: tuple[str, ...]
    on_node: tuple[str, ...]


def find_drift(record: Record, network: NetworkConfiguration) -> LinkDrift | None:
    """Compare the kernel's links, addresses and routes with the result of an attachment, without running a plugin.

    Args:
        network: The configuration in the record.

    Returns:
        None if CHECK is disabled or the result cannot be compared with the kernel.

    Raises:
        CniError: ``IO_FAILURE``; ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    first = catalogue.find_plugin_type(network.plugins[0].type)
    if record.result is None or network.disable_check or not first.result_is_complete:
        return None
    result = record.result.to("1.1.0").keys
    if any(map(_is_userspace_device, result.get("interfaces") or ())):
        return None
    view = rtnetlink.snapshot(record.attachment.netns, routes=moves_routes(network) or bool(result.get("routes")))
    inside = _ContainerDrift(view, network, _sandbox(result, record.attachment)).find(result)
    on_node = _node_drift(_interfaces(result, "")) if first.link_kind == VETH else []
    return LinkDrift(tuple(inside), tuple(on_node))


def moves_routes(network: NetworkConfiguration) -> bool:
    """Return whether a plugin moves the routes of the interface out of the main table, where other plugins expect them."""
    return any(catalogue.find_plugin_type(plugin.type).moves_routes for plugin in network.plugins)


class _ContainerDrift:
    """Compares the container's network namespace with a result."""

    def __init__(self, view: View, network: NetworkConfiguration, sandbox: str) -> None:
        self._view = view
        self._sandbox = sandbox
        self._links = {link.name: link for link in view.links}
        self._result_has_mtu = not any(
            catalogue.find_plugin_type(plugin.type).tunes_interface for plugin in network.plugins
        )
        self._expects_up = not any(plugin.keys.get(key) for plugin in network.plugins for key in _LEAVES_DOWN)
        # The plugins' own CHECK does not find routes that were moved.
        self._has_moved_routes = moves_routes(network)

    def find(self, result: t.Mapping[str, t.Any]) -> list[str]:
        """Return a message for each difference."""
        interfaces = _interfaces(result, self._sandbox)
        messages = [message for interface in interfaces for message in self._interface_drift(interface)]
        if any(interface["name"] not in self._links for interface in interfaces):
            return messages  # its addresses and routes are gone with it
        present = {address.interface for address in self._view.addresses}
        addresses = _addresses(result, self._sandbox)
        messages += [f"address {text} is missing" for text in addresses if ipaddress.ip_interface(text) not in present]
        return messages + self._missing_routes(addresses, result.get("routes") or ())

    def _missing_routes(self, addresses: t.Iterable[str], routes: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
        present: dict[IpNetwork, list[Route]] = {}
        for route in self._view.routes:
            present.setdefault(route.destination, []).append(route)
        connected = [_network(text) for text in addresses] if self._has_moved_routes else []
        missing = [str(net) for net in connected if net.prefixlen < net.max_prefixlen and net not in present]
        for expected in routes:
            destination = _network(str(expected["dst"]))
            gateway = expected.get("gw") if destination.prefixlen else ""  # CHECK accepts any default route
            candidates = present.get(destination, ())
            if not any(_is_route(route, gateway, expected.get("table")) for route in candidates):
                missing.append(_describe(expected, gateway))
        return [f"the route to {text} is missing" for text in missing]

    def _interface_drift(self, interface: t.Mapping[str, t.Any]) -> list[str]:
        name, mac = interface["name"], str(interface.get("mac") or "").lower()
        link = self._links.get(name)
        if link is None:
            return [f"interface {name} is {self._describe_absence(mac)}"]
        messages = [f"interface {name} is down"] if self._expects_up and not link.is_up else []
        if mac and link.mac != mac:
            messages.append(f"the MAC of {name} is {link.mac}, not {mac}")
        if self._result_has_mtu and interface.get("mtu") and link.mtu != interface["mtu"]:
            messages.append(f"the MTU of {name} is {link.mtu}, not {interface['mtu']}")
        return messages

    def _describe_absence(self, mac: str) -> str:
        renamed = [link.name for link in self._view.links if mac and link.mac == mac]
        return f"called {renamed[0]} now" if renamed else "gone"


def _node_drift(interfaces: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    links = {interface["name"]: rtnetlink.link(interface["name"]) for interface in interfaces}
    bridge = next((link for link in links.values() if link and link.kind == "bridge"), None)
    return [message for name, link in links.items() for message in _node_link_drift(name, link, bridge)]


def _node_link_drift(name: str, link: Link | None, bridge: Link | None) -> list[str]:
    if link is None:
        return [f"interface {name} of the node is gone"]
    messages = [] if link.is_up else [f"interface {name} of the node is down"]
    if link.kind != VETH or bridge is None:
        return messages
    if name.startswith(f"{bridge.name}."):
        if not _leads_to_port(link, bridge):
            messages.append(f"the peer of interface {name} of the node is not a port of {bridge.name}")
    elif link.master != bridge.ifindex:
        messages.append(f"interface {name} of the node is not a port of {bridge.name}")
    return messages


def _leads_to_port(link: Link, bridge: Link) -> bool:
    """Return whether the peer of a veth is a port of the bridge. A VLAN's gateway address is on the end that is not a port."""
    port = rtnetlink.link_by_index(link.peer)
    return port is not None and port.peer == link.ifindex and port.master == bridge.ifindex


def _is_route(route: Route, gateway: str | None, table: int | None) -> bool:
    # The kernel lists the gateways of a multipath route elsewhere.
    has_gateway = not gateway or not route.link or route.gateway == ipaddress.ip_address(gateway)
    return has_gateway and (not table or route.table == table)


def _describe(route: t.Mapping[str, t.Any], gateway: str | None) -> str:
    via = f" via {gateway}" if gateway else ""
    return f"{route['dst']}{via}" + (f" in table {route['table']}" if route.get("table") else "")


def _sandbox(result: t.Mapping[str, t.Any], attachment: Attachment) -> str:
    """Return the path of the container's namespace in the result, which may differ from its path now.

    Interfaces with another sandbox, such as those of a virtual machine, are not compared.
    """
    ifname = attachment.ifname
    own = (
        item["sandbox"] for item in result.get("interfaces") or () if item.get("name") == ifname and item.get("sandbox")
    )
    return str(next(own, attachment.netns))


def _interfaces(result: t.Mapping[str, t.Any], sandbox: str) -> list[t.Mapping[str, t.Any]]:
    """Return the interfaces of the container, or those of the node if the sandbox is an empty string."""
    return [
        item for item in result.get("interfaces") or () if (item.get("sandbox") or "") == sandbox and item.get("name")
    ]


def _is_userspace_device(interface: t.Mapping[str, t.Any]) -> bool:
    """Return whether a userspace program drives the device and bypasses the kernel."""
    return bool(interface.get("pciID") or interface.get("socketPath"))


def _addresses(result: t.Mapping[str, t.Any], sandbox: str) -> list[str]:
    """Return the addresses of the container's interfaces; all addresses of an old result, which names no interfaces."""
    ips, interfaces = result.get("ips") or (), result.get("interfaces") or ()
    inside = {number for number, item in enumerate(interfaces) if (item.get("sandbox") or "") == sandbox}
    return [str(ip["address"]) for ip in ips if not interfaces or ip.get("interface") in inside]


# Many attachments have the same routes.
@functools.lru_cache(maxsize=1024)
def _network(text: str) -> IpNetwork:
    return ipaddress.ip_network(text, strict=False)


__all__ = ("LinkDrift", "find_drift", "moves_routes")
