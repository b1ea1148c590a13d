# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

_LEAVES_DOWN: t.Final = tuple(row.leaves_down_key for row in catalogue.CATALOGUE.values() if row.leaves_down_key)


class LinkDrift(t.NamedTuple):
    """What the kernel no longer has of an attachment's links.

    Attributes:
        inside: Of the container's network namespace.
        on_node: Of the node.
    """

    inside: tuple[str, ...]
    on_node: tuple[str, ...]


def drift(record: Record, network: NetworkConfiguration) -> LinkDrift | None:
    """Say what of an attachment is no longer in the kernel as its result has it; no plugin is run.

    Args:
        network: The configuration that is recorded.

    Returns:
        Nothing where the result does not tell what the kernel is to have.

    Raises:
        CniError: ``IO_FAILURE``; ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    first = catalogue.row(network.plugins[0].type)
    if record.result is None or network.disable_check or not first.result_is_complete:
        return None
    result = record.result.to("1.1.0").keys
    if any(map(_is_no_link, result.get("interfaces") or ())):
        return None
    view = rtnetlink.snapshot(record.attachment.netns, routes=moves_routes(network) or bool(result.get("routes")))
    inside = _Inside(view, network, _sandbox(result, record.attachment)).compared(result)
    on_node = _on_the_node(_interfaces(result, "")) if first.link_kind == VETH else []
    return LinkDrift(tuple(inside), tuple(on_node))


def moves_routes(network: NetworkConfiguration) -> bool:
    """Return whether the routes of an interface are not in the main table, where plugins look for them."""
    return any(catalogue.row(plugin.type).moves_routes for plugin in network.plugins)


class _Inside:
    """What there is in the container's network namespace."""

    def __init__(self, view: View, network: NetworkConfiguration, sandbox: str) -> None:
        self._view = view
        self._sandbox = sandbox
        self._links = {link.name: link for link in view.links}
        self._knows_mtu = not any(catalogue.row(plugin.type).tunes_interface for plugin in network.plugins)
        self._is_to_be_up = not any(plugin.keys.get(key) for plugin in network.plugins for key in _LEAVES_DOWN)
        # The plugins' own CHECK does not find those that were moved.
        self._are_routes_moved = moves_routes(network)

    def compared(self, result: t.Mapping[str, t.Any]) -> list[str]:
        interfaces = _interfaces(result, self._sandbox)
        found = [fault for interface in interfaces for fault in self._faults(interface)]
        if any(interface["name"] not in self._links for interface in interfaces):
            return found  # all else follows from it
        addresses = {address.interface for address in self._view.addresses}
        wanted = _addresses(result, self._sandbox)
        found += [f"address {text} is missing" for text in wanted if ipaddress.ip_interface(text) not in addresses]
        return found + self._missing_routes(wanted, result.get("routes") or ())

    def _missing_routes(self, addresses: t.Iterable[str], routes: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
        there: dict[rtnetlink.IpNetwork, list[Route]] = {}
        for found in self._view.routes:
            there.setdefault(found.destination, []).append(found)
        connected = [_network(text) for text in addresses] if self._are_routes_moved else []
        missing = [str(one) for one in connected if one.prefixlen < one.max_prefixlen and one not in there]
        for route in routes:
            destination = _network(str(route["dst"]))
            gateway = route.get("gw") if destination.prefixlen else ""  # CHECK takes any of a default route
            if not any(_is_route(one, gateway, route.get("table")) for one in there.get(destination, ())):
                missing.append(_described(route, gateway))
        return [f"the route to {one} is missing" for one in missing]

    def _faults(self, interface: t.Mapping[str, t.Any]) -> list[str]:
        name, mac = interface["name"], str(interface.get("mac") or "").lower()
        link = self._links.get(name)
        if link is None:
            return [f"interface {name} is {self._fate(mac)}"]
        found = [f"interface {name} is down"] if self._is_to_be_up and not link.is_up else []
        if mac and link.mac != mac:
            found.append(f"the MAC of {name} is {link.mac}, not {mac}")
        if self._knows_mtu and interface.get("mtu") and link.mtu != interface["mtu"]:
            found.append(f"the MTU of {name} is {link.mtu}, not {interface['mtu']}")
        return found

    def _fate(self, mac: str) -> str:
        renamed = [link.name for link in self._view.links if mac and link.mac == mac]
        return f"called {renamed[0]} now" if renamed else "gone"


def _on_the_node(interfaces: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    links = {interface["name"]: rtnetlink.link(interface["name"]) for interface in interfaces}
    bridge = next((link for link in links.values() if link and link.kind == "bridge"), None)
    return [fault for name, link in links.items() for fault in _faults_on_the_node(name, link, bridge)]


def _faults_on_the_node(name: str, link: Link | None, bridge: Link | None) -> list[str]:
    if link is None:
        return [f"interface {name} of the node is gone"]
    found = [] if link.is_up else [f"interface {name} of the node is down"]
    if link.kind != VETH or bridge is None:
        return found
    if name.startswith(f"{bridge.name}."):
        if not _leads_to_port(link, bridge):
            found.append(f"interface {name} of the node does not lead to a port of {bridge.name}")
    elif link.master != bridge.ifindex:
        found.append(f"interface {name} of the node is no port of {bridge.name}")
    return found


def _leads_to_port(link: Link, bridge: Link) -> bool:
    """Return whether the other end of a veth is a port: the gateway of a VLAN has the end that is none."""
    port = rtnetlink.link_by_index(link.peer)
    return port is not None and port.peer == link.ifindex and port.master == bridge.ifindex


def _is_route(found: Route, gateway: str | None, table: int | None) -> bool:
    # One with several ways has its gateways elsewhere.
    is_way = not gateway or not found.link or found.gateway == ipaddress.ip_address(gateway)
    return is_way and (not table or found.table == table)


def _described(route: t.Mapping[str, t.Any], gateway: str | None) -> str:
    via = f" via {gateway}" if gateway else ""
    return f"{route['dst']}{via}" + (f" in table {route['table']}" if route.get("table") else "")


def _sandbox(result: t.Mapping[str, t.Any], attachment: Attachment) -> str:
    """Return what the result calls the container's namespace: a path may be another one by now.

    Others are none of ours to look into, such as those of a virtual machine.
    """
    own = (one for one in result.get("interfaces") or () if one.get("name") == attachment.ifname and one.get("sandbox"))
    return next((str(one["sandbox"]) for one in own), attachment.netns)


def _interfaces(result: t.Mapping[str, t.Any], sandbox: str) -> list[t.Mapping[str, t.Any]]:
    """Return the links of the container, or of the node where there is no sandbox."""
    return [one for one in result.get("interfaces") or () if (one.get("sandbox") or "") == sandbox and one.get("name")]


def _is_no_link(interface: t.Mapping[str, t.Any]) -> bool:
    """Tell a device that a program drives past the kernel."""
    return bool(interface.get("pciID") or interface.get("socketPath"))


def _addresses(result: t.Mapping[str, t.Any], sandbox: str) -> list[str]:
    """Return the addresses of the container's links; all of a result of old, which names no links."""
    ips, interfaces = result.get("ips") or (), result.get("interfaces") or ()
    inside = {number for number, one in enumerate(interfaces) if (one.get("sandbox") or "") == sandbox}
    return [str(ip["address"]) for ip in ips if not interfaces or ip.get("interface") in inside]


# Many attachments have the same routes.
@functools.lru_cache(maxsize=1024)
def _network(text: str) -> rtnetlink.IpNetwork:
    return ipaddress.ip_network(text, strict=False)


__all__ = ("LinkDrift", "drift", "moves_routes")
