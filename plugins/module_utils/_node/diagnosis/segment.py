# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Follow a packet from a link to the next hop: through pairs, bridges and the parents of links (layer 2)."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links import link_message
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import (
    Container,
    NodePlaces,
    find_bridge,
    has_flag,
    list_ips,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import Evidence
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, Step
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

_CHILDREN = (link_message.MACVLAN, link_message.IPVLAN)
# Kinds of links that have a carrier only if others are up, which are on the packet's way, too.
_DEPENDENT = (*_CHILDREN, link_message.VLAN, link_message.BRIDGE, VETH)


class Arrival(t.NamedTuple):
    """Where a packet arrives.

    Attributes:
        place: The network namespace.
        link: The link by which it arrives there.
        port: The port of that link through which it came, if that is a bridge.
    """

    place: Place
    link: Link
    port: Link | None = None


class Outside(t.NamedTuple):
    """A packet leaves what can be seen from the node.

    Attributes:
        link: The last link.
    """

    place: Place
    link: Link


Steps = t.Generator[Step, None, "Arrival | Outside | None"]


class Segment:
    """The way from a link to the next hop.

    Args:
        next_hop: The address for which the packet is sent there.
        evidence: What a probe found out; None if none was sent.
        is_back: Whether it is the way of the answer.
    """

    def __init__(self, places: NodePlaces, next_hop: IpAddress, evidence: Evidence | None, *, is_back: bool) -> None:
        self._places, self._next_hop = places, next_hop
        self._evidence, self._is_back = evidence, is_back
        self._mtu = 0

    def cross(self, place: Place, link: Link) -> Steps:
        """Yield the steps from a link to the next hop, and return where the packet arrives; None if it is lost."""
        yield from require_usable(place, link)
        self._mtu = link.mtu
        end = yield from self._leave(place, link)
        if isinstance(end, Arrival):
            for container in self._places.containers(self._next_hop):
                if container.place is end.place and container.record is not None:
                    yield from require_address(end.place, end.link, self._next_hop, container.record)
        return end

    def reenter_bridge(self, place: Place, bridge: Link, port: Link | None) -> Steps:
        """Yield the steps of a packet that the node has translated in a bridge, and that stays in it."""
        self._mtu = bridge.mtu
        return (yield from self._pass_bridge(place, bridge, port, is_inside=True))

    def _leave(self, place: Place, link: Link) -> Steps:
        if link.kind == link_message.BRIDGE:
            return (yield from self._pass_bridge(place, link, None))
        if link.kind in (*_CHILDREN, link_message.VLAN):
            return (yield from self._through_parent(place, link))
        if link.kind == VETH:
            return (yield from self._through_pair(place, link))
        for container in self._places.containers(self._next_hop):
            if is_child(container) and self._places.peer(container.place, t.cast(Link, container.inside)) == (
                place,
                link,
            ):
                yield describe_child(place, container)
                return None
        return Outside(place, link)

    def _through_pair(self, place: Place, link: Link) -> Steps:
        peer = self._places.peer(place, link)
        if peer is None and place.is_node and not self._is_of_attachment(link):
            # The node itself is a container.
            return Outside(place, link)
        if peer is None:
            yield place.broken(
                Check.PAIR, f"the other end of {link.name} is not reachable", "a veth pair", _recreate(link)
            )
            return None
        other, end = peer
        yield from require_usable(other, end, Check.PAIR)
        yield from self._check_mtu(other, end)
        bridge = other.links.get(end.master)
        if bridge is not None and bridge.kind == link_message.BRIDGE:
            return (yield from self._pass_bridge(other, bridge, end))
        expected = self._expected_bridge(end)
        if expected:
            yield _missing_port(other, end, expected)
            return None
        yield other.ok(Check.PAIR, f"{link.name} leads to {end.name}")
        return Arrival(other, end)

    def _through_parent(self, place: Place, link: Link) -> Steps:
        parent = self._places.peer(place, link)
        if parent is None:
            yield place.unknown(Check.PAIR, f"the parent of {link.name} is in an unknown network namespace")
            return None
        other, end = parent
        yield from require_usable(other, end, Check.PAIR)
        if link.kind == link_message.VLAN:
            if end.kind in (VETH, link_message.BRIDGE):
                yield other.unknown(Check.VLAN, f"{link.name} sends VLAN {link.vlan} through {end.name}")
            return Outside(other, end)
        if self._next_hop in other.addresses(end):
            yield other.broken(
                Check.MODE,
                f"{self._next_hop} is the address of {end.name}, the parent of {link.name}",
                f"the kernel passes nothing between a {link.kind} and the node's own address on its parent: "
                "use another address of the node, or the plugin ptp or bridge",
            )
            return None
        for container in self._places.containers(self._next_hop):
            inside = container.inside
            if inside is None or inside.kind != link.kind or self._places.peer(container.place, inside) != parent:
                continue
            separate = next((each for each in (link, inside) if each.mode in ("private", "vepa", "source")), None)
            if separate is not None:
                yield other.broken(
                    Check.MODE,
                    f"{separate.name} has the mode {separate.mode}, which passes nothing to its neighbours",
                    "mode bridge",
                )
                return None
            yield from require_usable(container.place, inside)
            return Arrival(container.place, inside)
        return Outside(other, end)

    def _pass_bridge(self, place: Place, bridge: Link, port: Link | None, *, is_inside: bool = False) -> Steps:
        yield from require_usable(place, bridge, Check.BRIDGE)
        if port is not None and not is_inside:
            yield from self._enter_bridge(place, bridge, port)
        if place.has_address(self._next_hop):
            if bridge.filters_vlans and port is not None:
                yield from self._check_vlans(place, bridge, port, bridge)
            return Arrival(place, bridge, port)
        container = self._find_behind(place, bridge)
        if container is not None:
            return (yield from self._leave_bridge(place, bridge, port, container))
        uplink = next((each for each in place.ports(bridge) if each.kind != VETH and each != port), None)
        if uplink is not None:
            yield from require_usable(place, uplink)
            return Outside(place, uplink)
        own = ", ".join(map(str, place.addresses(bridge))) or "none"
        gateway = self._find_gateway(bridge)
        yield place.broken(
            Check.GATEWAY if gateway else Check.NEIGHBOUR,
            f"nothing on bridge {bridge.name} has the address {self._next_hop}; the bridge has {own}",
            f"address {gateway} on {bridge.name}" if gateway else f"an attachment with {self._next_hop}",
            place.command("ip", "address", "add", gateway, "dev", bridge.name) if gateway else "",
        )
        return None

    def _enter_bridge(self, place: Place, bridge: Link, port: Link) -> t.Iterator[Step]:
        yield from _require_forwarding(place, bridge, port)
        yield place.ok(Check.PORT, f"{port.name} is a port of {bridge.name}")
        drop = self._evidence and self._evidence.drop(place, is_reply=self._is_back, is_bridged=True)
        spoof = self._find_spoofed(port)
        if drop:
            yield place.broken(
                Check.SPOOF_CHECK, f"{drop.text} drops the packet", "a rule that accepts it", drop.command
            )
        elif spoof:
            yield place.broken(Check.SPOOF_CHECK, *spoof)

    def _leave_bridge(self, place: Place, bridge: Link, port: Link | None, container: Container) -> Steps:
        inside, end = container.inside, container.host_end
        name = container.record.attachment.ifname if container.record is not None else ""
        if inside is None:
            yield describe_missing_interface(container.place, name)
            return None
        if end is None:
            yield container.place.broken(
                Check.PAIR, f"{inside.name} is not an end of a pair with the node", "a veth pair", _recreate(inside)
            )
            return None
        if end.master != bridge.ifindex:
            yield _missing_port(place, end, bridge.name)
            return None
        yield from require_usable(place, end, Check.PAIR)
        yield from self._check_mtu(place, end)
        if bridge.filters_vlans:
            yield from self._check_vlans(place, bridge, port or bridge, end)
        if port is not None and port.is_isolated and end.is_isolated:
            yield place.broken(
                Check.ISOLATION,
                f"{port.name} and {end.name} are both isolated ports of {bridge.name}",
                "one of them not isolated; with portIsolation, containers of a network do not reach each other",
                place.command("bridge", "link", "set", "dev", end.name, "isolated", "off"),
            )
        if port == end and not end.is_hairpin:
            yield place.broken(
                Check.PORT,
                f"the packet returns through {end.name}, and hairpin is off",
                "hairpin on (hairpinMode)",
                place.command("bridge", "link", "set", "dev", end.name, "hairpin", "on"),
            )
        yield from require_usable(container.place, inside)
        yield from self._check_mtu(container.place, inside)
        yield from _require_forwarding(place, bridge, end)
        yield place.ok(Check.PORT, f"{end.name} is the port of {bridge.name} for {self._next_hop}")
        return Arrival(container.place, inside)

    def _check_vlans(self, place: Place, bridge: Link, port: Link, end: Link) -> t.Iterator[Step]:
        vlan, out = place.vlans(port).pvid, place.vlans(end)
        if not vlan:
            yield place.broken(
                Check.VLAN,
                f"{port.name} has no access VLAN (PVID)",
                "an access VLAN",
                place.command("bridge", "vlan", "add", "dev", port.name, "vid", "VLAN", "pvid", "untagged"),
            )
        elif vlan not in out.untagged | out.tagged:
            words = ("bridge", "vlan", "add", "dev", end.name, "vid", str(vlan), "pvid", "untagged")
            yield place.broken(
                Check.VLAN,
                f"{end.name} of {bridge.name} is not in VLAN {vlan} of {port.name}",
                f"VLAN {vlan} on both",
                place.command(*words, *(["self"] if end == bridge else [])),
            )
        else:
            yield place.ok(Check.VLAN, f"{port.name} and {end.name} are in VLAN {vlan}")

    def _check_mtu(self, place: Place, link: Link) -> t.Iterator[Step]:
        if link.mtu < self._mtu:
            yield place.broken(
                Check.MTU,
                f"the MTU of {link.name} is {link.mtu}, and the sender's {self._mtu}: larger packets are lost without an error",
                f"{self._mtu}",
                place.command("ip", "link", "set", link.name, "mtu", str(self._mtu)),
            )

    def check_neighbour(self, place: Place, link: Link, end: Arrival | Outside) -> t.Iterator[Step]:
        """Yield whether the next hop answers with the MAC that it has."""
        known = place.neighbour(self._next_hop, link)
        forget = place.command("ip", "neighbour", "delete", str(self._next_hop), "dev", link.name)
        expected = end.link.mac if isinstance(end, Arrival) and end.link.kind != link_message.IPVLAN else ""
        if known is not None and known.mac and expected and known.mac != expected and not known.is_silent:
            yield place.broken(
                Check.NEIGHBOUR,
                f"{self._next_hop} has the MAC {known.mac} in the neighbour table",
                f"{expected}, the MAC of {end.link.name} in {end.place.name}",
                forget,
            )
        elif known is not None and known.is_silent and self._evidence is not None:
            yield place.broken(
                Check.NEIGHBOUR,
                f"{self._next_hop} does not answer on {link.name}",
                f"a machine with {self._next_hop} in the network of {link.name}, which answers ARP or neighbour discovery",
            )
        elif known is not None and not known.is_silent:
            yield place.ok(Check.NEIGHBOUR, f"{self._next_hop} has the MAC {known.mac}")

    def _find_behind(self, place: Place, bridge: Link) -> Container | None:
        """Return the attachment behind a bridge that has the next hop's address; one behind another bridge if none is."""
        containers = self._places.containers(self._next_hop) if place.is_node else []
        behind = (
            container
            for container in containers
            if container.host_end is not None and container.host_end.master == bridge.ifindex
        )
        of_bridge = (each for each in containers if each.record and bridge.name in each.record.node_interfaces)
        return next(behind, None) or next(of_bridge, None) or self._find_unrecorded(place, bridge)

    def _find_unrecorded(self, place: Place, bridge: Link) -> Container | None:
        """Return a container behind a bridge that has the address without a record."""
        for port in place.ports(bridge):
            peer = self._places.peer(place, port) if port.kind == VETH else None
            if peer is not None and peer[0] is not place and peer[0].has_address(self._next_hop):
                return Container(None, *peer, port)
        return None

    def _is_of_attachment(self, link: Link) -> bool:
        return any(link.name in record.node_interfaces for record in self._places.records)

    def _expected_bridge(self, end: Link) -> str:
        """Return the bridge that a link of the node belongs to by the record of its attachment, or an empty string."""
        records = (record for record in self._places.records if end.name in record.node_interfaces)
        return next(filter(None, map(find_bridge, records)), "")

    def _find_gateway(self, bridge: Link) -> str:
        """Return the next hop with its prefix length if it is the gateway of an attachment to a bridge."""
        for record in self._places.records:
            for interface, gateway in list_ips(record) if bridge.name in record.node_interfaces else ():
                if gateway == self._next_hop:
                    return f"{gateway}/{interface.network.prefixlen}"
        return ""

    def _find_spoofed(self, port: Link) -> tuple[str, str, str] | None:
        """Return found, needed and command if a container with ``macspoofchk`` sends from another MAC than recorded."""
        for record in self._places.records:
            if port.name not in record.node_interfaces or not has_flag(record, "macspoofchk"):
                continue
            container = self._places.container(record)
            interfaces = (record.result.keys.get("interfaces") if record.result else None) or ()
            macs = [str(each.get("mac")) for each in interfaces if each.get("sandbox")]
            if container is not None and container.inside is not None and macs and container.inside.mac not in macs:
                return (
                    f"{container.inside.name} of {container.place.name} sends from {container.inside.mac}, and macspoofchk drops that",
                    f"the MAC {macs[0]}",
                    container.place.command("ip", "link", "set", container.inside.name, "address", macs[0]),
                )
        return None


def is_child(container: Container) -> bool:
    """Return whether a container has a link of its own on a link of the node."""
    return container.inside is not None and container.inside.kind in _CHILDREN


def describe_child(place: Place, container: Container) -> Step:
    """Return the step for a packet of the node to a container with a link of its own on a link of the node."""
    kind = container.inside.kind if container.inside is not None else ""
    return place.broken(
        Check.MODE,
        f"the node is not connected with the {kind} of {container.place.name} through its parent",
        f"a {kind} of the node's own on the same parent, or the plugin ptp or bridge: the kernel passes nothing between a {kind} "
        "and its parent",
    )


def require_usable(place: Place, link: Link, check: Check = Check.LINK) -> t.Iterator[Step]:
    """Yield a broken step if a link is down or has no carrier."""
    if not link.is_up:
        command = place.command("ip", "link", "set", link.name, "up")
        yield place.broken(check, f"{link.name} is down", f"{link.name} is up", command)
    elif not link.has_carrier and link.kind not in _DEPENDENT:
        yield place.broken(check, f"{link.name} has no carrier", "a connection to its network")


def require_address(place: Place, link: Link, address: IpAddress, record: Record) -> t.Iterator[Step]:
    """Yield a broken step if a container lacks an address that its record has."""
    if not place.has_address(address):
        has = ", ".join(map(str, place.addresses(link))) or "none"
        full = {each.ip: str(each) for each, dummy in list_ips(record)}[address]
        command = place.command("ip", "address", "add", full, "dev", link.name)
        yield place.broken(Check.ADDRESS, f"{link.name} has the addresses {has}, not {address}", full, command)


def describe_missing_interface(place: Place, name: str) -> Step:
    """Return the step for an attachment without its interface."""
    return place.broken(Check.LINK, f"there is no interface {name}", f"interface {name}", "run cni.node.attachments")


def _missing_port(place: Place, end: Link, bridge: str) -> Step:
    return place.broken(
        Check.PORT,
        f"{end.name} is not a port of {bridge}",
        f"{end.name} is a port of {bridge}",
        place.command("ip", "link", "set", end.name, "master", bridge),
    )


def _require_forwarding(place: Place, bridge: Link, port: Link) -> t.Iterator[Step]:
    if port.is_blocked:
        yield place.broken(
            Check.PORT,
            f"{port.name} is a port of {bridge.name} that does not forward",
            "state forwarding",
            place.command("bridge", "link", "set", "dev", port.name, "state", "3"),
        )


def _recreate(link: Link) -> str:
    return f"run cni.node.attachments with on_drift: recreate for the attachment of {link.name}"
