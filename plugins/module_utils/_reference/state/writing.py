# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write what the kernel lacks of a state: one writer for each kind of resource, for ADD and for repair."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import (
    kernel_writer,
    router_advertisements,
    rtnetlink,
    traffic_control,
)
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, VRF, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory
from ansible_collections.cni.node.plugins.module_utils._reference.state import host, links, own_links, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import is_route
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import State


def write_all(differences: t.Sequence[Difference]) -> list[CniError]:
    """Write differences of this thread's network namespace; return an error for each that could not be written."""
    errors = []
    try:
        with kernel_writer.connect() as writer:
            for difference in differences:
                try:
                    if not difference.is_repairable:
                        raise CniError(Code.LIMITED_CONNECTIVITY, "it cannot be repaired without ADD")
                    _write(writer, difference)
                except Exception as exc:  # such as a number of a record that no message of the kernel has room for
                    errors.append(as_error(exc).within(difference.message))
    except CniError as exc:  # there is no writer
        return [exc.within(difference.message) for difference in differences]
    return errors


def make_on_node(state: State, host_end: Link) -> None:
    """Make the ifb links and the limits of a state, whatever the node has of them.

    Args:
        host_end: The node's end of the container's pair, which is proven.

    Raises:
        CniError: Another link has the name of one of the state; the kernel refuses; pyroute2 is missing.
    """
    for difference in host.find(state, Node()):
        if not difference.is_repairable:
            raise CniError(Code.LIMITED_CONNECTIVITY, difference.message, "remove or rename that link")
    wanted = []
    for resource in state:
        name = resource.host_end if isinstance(resource, resources.Ifb) else getattr(resource, "link", "")
        wanted.append(Difference(resource, "", link=host_end if name == host_end.name else None))
    with kernel_writer.connect() as writer:
        for difference in in_order(wanted):
            _write(writer, difference)


def in_order(differences: t.Iterable[Difference]) -> list[Difference]:
    """Return differences in the order in which they depend on each other."""
    return sorted(differences, key=lambda difference: resources.rank(difference.resource))


def _write(writer: KernelWriter, difference: Difference) -> None:
    _WRITERS[type(difference.resource)](writer, difference, difference.resource)


def _write_setting(writer: KernelWriter, dummy: Difference, setting: resources.Sysctl) -> None:
    sysctl.write_at(setting.path, setting.value)


def _write_lease(writer: KernelWriter, dummy: Difference, lease: resources.ExpectedLease) -> None:
    lease_directory.assign(lease.directory, str(lease.address), lease.container_id, lease.ifname)


def _write_bridge(writer: KernelWriter, dummy: Difference, bridge: resources.Bridge) -> None:
    ensure_bridge(writer, bridge)


def ensure_bridge(writer: KernelWriter, bridge: resources.Bridge, link: Link | None = None) -> Link:
    """Return a bridge of this network namespace, which is up; create it if it is missing.

    Args:
        link: The link that has its name, if it is there.

    Raises:
        CniError: It is not a bridge.
    """
    if link is None:
        data = kernel_writer.vlan_filtering_data() if bridge.filters_vlans else b""
        writer.ensure_link(bridge.name, BRIDGE, data, mtu=bridge.mtu, mac=bridge.mac)
        link = _find_link(bridge.name)
    if link.kind != BRIDGE:
        problem = f"another link has the name {bridge.name}, and is not a bridge"
        raise CniError(Code.LIMITED_CONNECTIVITY, problem, "remove or rename that link")
    if bridge.is_promiscuous and not link.is_promiscuous:
        writer.set_promiscuous(link.ifindex)
    if not link.is_up:
        # New, or left so by a killed ADD. A bridge that is up may have the node's routes from a router.
        router_advertisements.ignore(bridge.name)
        writer.set_up(link.ifindex)
    return link


def _write_link(writer: KernelWriter, difference: Difference, link: resources.ExpectedLink) -> None:
    set_properties(writer, _verify_link(difference), link)


def set_properties(writer: KernelWriter, link: Link, expected: resources.ExpectedLink) -> None:
    """Give a link the properties that are expected of it."""
    ifindex = link.ifindex
    if expected.mode:
        writer.set_mode(ifindex, link.kind, expected.mode)
    if expected.mac:
        writer.set_mac(ifindex, expected.mac)
    if expected.is_promiscuous:
        writer.set_promiscuous(ifindex)
    if expected.mtu:
        writer.set_mtu(ifindex, expected.mtu)
    if expected.all_multicast is not None:
        writer.set_all_multicast(ifindex, expected.all_multicast)
    if expected.queue_length is not None:
        writer.set_queue_length(ifindex, expected.queue_length)
    if expected.is_up:
        writer.set_up(ifindex)


def _write_ifb(writer: KernelWriter, difference: Difference, ifb: resources.Ifb) -> None:
    host_end = _verify_link(difference)
    writer.ensure_ifb(ifb.name, host_end.mtu)
    link = _find_link(ifb.name)
    if link.kind != host.IFB:
        raise CniError(Code.LIMITED_CONNECTIVITY, f"another link has the name {ifb.name}", "remove or rename that link")
    writer.set_up(link.ifindex)
    traffic_control.redirect(host_end.ifindex, link.ifindex)


def _write_vrf(writer: KernelWriter, dummy: Difference, vrf: resources.Vrf) -> None:
    ensure_vrf(writer, vrf)


def ensure_vrf(writer: KernelWriter, vrf: resources.Vrf) -> Link:
    """Return a VRF of this network namespace, which is up; create it if it is missing.

    Raises:
        CniError: Another link has its name, or a VRF with another table.
    """
    present = rtnetlink.links()
    if all(link.name != vrf.name for link in present):
        table = vrf.table or links.free_vrf_table(present)
        writer.ensure_link(vrf.name, VRF, kernel_writer.vrf_data(table))
    link = _find_link(vrf.name)
    if link.kind != VRF or vrf.table not in (0, link.table):
        problem = "is not a VRF" if link.kind != VRF else f"is a VRF with table {link.table}, not {vrf.table}"
        hint = "set another vrfname or the same table, or remove that link"
        raise CniError(Code.LIMITED_CONNECTIVITY, f"the link {vrf.name} of the container {problem}", hint)
    writer.set_up(link.ifindex)
    return link


def _write_port(writer: KernelWriter, difference: Difference, port: resources.Port) -> None:
    ifindex, master = _find_port(difference, port).ifindex, _find_link(port.master)
    kind, noun = (VRF, "VRF") if port.inside else (BRIDGE, BRIDGE)
    if master.kind != kind:
        raise CniError(Code.LIMITED_CONNECTIVITY, f"{port.master} is not a {noun}", "remove or rename that link")
    writer.set_master(ifindex, master.ifindex)
    set_port(writer, ifindex, port, master)


def set_port(writer: KernelWriter, ifindex: int, port: resources.Port, bridge: Link) -> None:
    """Give a port the flags and the VLANs that are expected of it."""
    if port.is_hairpin:
        writer.set_hairpin(ifindex)
    if port.is_isolated:
        writer.set_isolated(ifindex)
    if port.leaves_default_vlan and bridge.default_vlan:
        writer.remove_vlan(ifindex, bridge.default_vlan)
    for vlan in port.trunk:
        writer.add_vlan(ifindex, vlan, is_access=False)
    if port.vlan:
        writer.add_vlan(ifindex, port.vlan, is_access=True)


def _find_port(difference: Difference, port: resources.Port) -> Link:
    """Return the link that belongs to the master: the link of the difference, or its peer."""
    link = _verify_link(difference)
    if not port.by_peer:
        return link
    peer = own_links.find_peer(link, rtnetlink.link_by_index(link.peer))
    if peer is None:
        raise CniError(Code.LIMITED_CONNECTIVITY, f"the peer of {link.name} is not in this network namespace")
    return peer


def _write_address(writer: KernelWriter, difference: Difference, address: resources.ExpectedAddress) -> None:
    # A bridge that was gone is a new link.
    link = _verify_link(difference) if difference.link else _find_link(address.link)
    if address.interface.version == 6:
        path = f"net/ipv6/conf/{link.name}/disable_ipv6"
        if sysctl.read_at(path) == "1":
            sysctl.write_at(path, "0")
    writer.add_address(link.ifindex, address.interface)


def _write_route(writer: KernelWriter, difference: Difference, route: resources.ExpectedRoute) -> None:
    ifindex = _verify_link(difference).ifindex
    table = route.table or MAIN_TABLE
    rivals = [known for known in rtnetlink.routes(ifindex) if known.destination == route.destination]
    # The kernel makes the route of a network itself, in the table of a VRF, too.
    if not any(is_route(known, route, table) for known in rivals):
        add_route(writer, ifindex, route, replace=any(known.table == table for known in rivals))
    if route.moved_for and any(known.table == MAIN_TABLE for known in rivals):
        # The kernel has made this route again for an address or a link that was repaired.
        writer.remove_route(ifindex, route.destination, MAIN_TABLE)


def add_route(writer: KernelWriter, ifindex: int, route: resources.ExpectedRoute, *, replace: bool = False) -> None:
    """Add a route through a link; arguments and errors as `KernelWriter.add_route`."""
    writer.add_route(
        ifindex,
        route.destination,
        route.table or MAIN_TABLE,
        replace=replace,
        gateway=route.gateway,
        scope=route.scope,
        source=route.source,
        priority=route.priority,
    )


def _write_rule(writer: KernelWriter, dummy: Difference, rule: resources.ExpectedRule) -> None:
    writer.add_rule(rule.source, rule.table)


def _write_rate(dummy: KernelWriter, difference: Difference, rate: resources.Rate) -> None:
    link = _verify_link(difference) if difference.link else _find_link(rate.link)
    traffic_control.limit_rate(link.ifindex, rate.rate, rate.burst)


def _find_link(name: str) -> Link:
    link = rtnetlink.link(name)
    if link is None:
        raise CniError(Code.LIMITED_CONNECTIVITY, f"there is no link {name}")
    return link


def _verify_link(difference: Difference) -> Link:
    """Return the link of a difference as it is now; refuse another link in its place.

    Raises:
        CniError: ``LIMITED_CONNECTIVITY``.
    """
    seen = difference.link
    current = rtnetlink.link_by_index(seen.ifindex) if seen else None
    if seen is None or current is None or _identity(current) != _identity(seen):
        raise CniError(Code.LIMITED_CONNECTIVITY, "the link has just been removed or replaced", "run the task again")
    return current


def _identity(link: Link) -> tuple[str, str, int, int | None]:
    return link.name, link.kind, link.peer, link.peer_netns


_WRITERS: t.Final[t.Mapping[type, t.Callable[[KernelWriter, Difference, t.Any], None]]] = {
    resources.Bridge: _write_bridge,
    resources.ExpectedLink: _write_link,
    resources.Ifb: _write_ifb,
    resources.Vrf: _write_vrf,
    resources.Port: _write_port,
    resources.ExpectedAddress: _write_address,
    resources.ExpectedRoute: _write_route,
    resources.ExpectedRule: _write_rule,
    resources.Rate: _write_rate,
    resources.Sysctl: _write_setting,
    resources.ExpectedLease: _write_lease,
}
