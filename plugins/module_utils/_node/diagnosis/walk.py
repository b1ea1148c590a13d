# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Follow a packet through the network namespaces of a node (layer 3)."""

from __future__ import annotations

import errno
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_lookup import RouteAnswer
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.delivery import Delivery
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import (
    Container,
    NodePlaces,
    find_bridge,
    list_addresses,
    list_ips,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import Evidence
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.rule_watch import Drop
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.segment import (
    Arrival,
    Outside,
    Segment,
    describe_child,
    is_child,
    require_usable,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import REPAIR, Check, Step
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.translation import (
    ARRIVED,
    SENT,
    AddressTranslation,
    UnreplacedSource,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import Purpose, main_messages

# A packet that passes more network namespaces goes round in circles.
_MOST_HOPS = 16
BRIDGED_RULES = {4: "net/bridge/bridge-nf-call-iptables", 6: "net/bridge/bridge-nf-call-ip6tables"}


Walk = t.Generator[Step, None, "Delivery | None"]


class Way:
    """The way of a packet, or of its answer.

    Args:
        evidence: What a probe found out; None if none was sent.
        answered: For the way of an answer, the packet that it answers: as it was sent, and as it was delivered.
    """

    def __init__(
        self, places: NodePlaces, evidence: Evidence | None, answered: tuple[Packet, Packet] | None = None
    ) -> None:
        self._places, self._evidence, self._answered = places, evidence, answered
        self._is_back = answered is not None
        self._translation = AddressTranslation(places, evidence, answered)
        self._pending: tuple[Step, ...] = ()

    @property
    def unreplaced(self) -> UnreplacedSource | None:
        """The source that the packet has kept, although the node should have replaced it; None without such a one."""
        return self._translation.unreplaced

    def from_process(self, place: Place, packet: Packet) -> Walk:
        """Yield the steps of a packet that a process sends, and return where it comes; None if it is lost."""
        if self._answered is None:
            packet = yield from self._translation.replace_destination(place, packet, SENT)
        is_from_loopback = packet.source is not None and packet.source.is_loopback
        # The kernel decides again after a translation, from whatever address.
        answer = place.route(packet.destination, None if is_from_loopback else packet.source)
        if not answer.kind:
            yield self._no_route(place, packet, answer)
            return None
        if answer.kind == "local":
            loopback = place.link("lo")
            yield from require_usable(place, loopback) if loopback is not None else ()
            yield from self.check_rules(place, None)
            return Delivery(packet, place, frozenset(), None)
        link = place.links.get(answer.link)
        if link is None:
            yield place.broken(Check.ROUTE, f"the route to {packet.destination} has no link", "a route with a link")
            return None
        yield place.ok(Check.ROUTE, _describe_route(packet.destination, answer, link))
        yield from self.check_rules(place, None)
        yield from self._check_link_to_container(place, packet, link)
        packet = yield from self._translation.replace_source(place, link, packet)
        end = yield from self._cross(place, link, answer.gateway or packet.destination)
        return (yield from self._go_on(end, packet, frozenset()))

    def from_link(self, place: Place, link: Link, packet: Packet) -> Walk:
        """Yield the steps of a packet that arrives from outside."""
        return (yield from self._go_on(Arrival(place, link), packet, frozenset()))

    def _go_on(self, end: Arrival | Outside | None, packet: Packet, passed: frozenset[int]) -> Walk:
        for dummy in range(_MOST_HOPS):
            if end is None:
                return None
            if isinstance(end, Outside):
                yield from self._pending
                if self.unreplaced is not None:
                    yield self.unreplaced.step
                return Delivery(packet, None, passed, end.link)
            place, link = end.place, end.link
            passed |= {place.inode}
            yield from self.check_rules(place, is_routed=False)
            received = packet
            packet = yield from self._translation.replace_destination(place, packet, ARRIVED)
            answer = place.route(packet.destination, packet.source, link.ifindex)
            if not answer.kind:
                yield self._not_routed(place, link, packet, answer)
                return None
            yield from self._pending
            if answer.kind == "local":
                yield from self.check_rules(place, is_routed=True)
                return Delivery(packet, place, passed, link)
            out = place.links.get(answer.link)
            if out is None:
                yield place.broken(Check.ROUTE, f"the route to {packet.destination} has no link", "a route with a link")
                return None
            yield from self._check_forwarding(place, link, packet)
            yield place.ok(Check.ROUTE, _describe_route(packet.destination, answer, out))
            yield from self.check_rules(place, is_routed=True)
            yield from self._check_link_to_container(place, packet, out)
            packet = yield from self._translation.replace_source(place, out, packet)
            next_hop = answer.gateway or packet.destination
            is_translated = packet.destination != received.destination
            stays = out == link and out.kind == BRIDGE and is_translated and filters_bridges(place, next_hop)
            end = yield from self._cross(place, out, next_hop, end if stays else None)
        found = f"the packet goes round in circles after {_MOST_HOPS} hops"
        yield self._places.node.broken(Check.ROUTE, found, "routes without a loop")
        return None

    def _cross(
        self, place: Place, link: Link, next_hop: IpAddress, entered: Arrival | None = None
    ) -> t.Generator[Step, None, Arrival | Outside | None]:
        """Yield the steps from a link to the next hop.

        Args:
            entered: How the packet came to a bridge, if the rules of iptables for bridges have translated it, so that it stays in
                the bridge and leaves it by a port.
        """
        segment = Segment(self._places, next_hop, self._evidence, is_back=self._is_back)
        if entered is not None:
            end = yield from segment.reenter_bridge(place, link, entered.port)
        else:
            end = yield from segment.cross(place, link)
        is_switched = isinstance(end, Outside) or (isinstance(end, Arrival) and not end.place.is_node)
        if is_switched and not place.is_node and filters_bridges(self._places.node, next_hop):
            yield from self.check_rules(self._places.node, None)
        # A receiver that would refuse the packet does not even answer ARP, so its reason comes first.
        self._pending = tuple(segment.check_neighbour(place, link, end)) if end is not None else ()
        if isinstance(end, Arrival) and not end.place.has_address(next_hop):
            yield from self._pending
        return end

    def check_rules(self, place: Place, is_routed: bool | None) -> t.Iterator[Step]:
        """Yield a broken step if a rule of a network namespace drops the packet, before or after the routing decision."""
        if self._evidence is None:
            return
        drop = self._evidence.drop(place, is_reply=self._is_back, is_routed=is_routed)
        if drop is not None:
            yield self._describe_drop(place, drop)

    def _describe_drop(self, place: Place, drop: Drop) -> Step:
        needed, command = "a rule that accepts the packet before it", drop.command
        if place.is_node:
            missing = [
                rule
                for record, address in self._list_ends()
                for rule in self._places.find_lost_rules(record, Purpose.FORWARDING, address)
            ]
            lost = main_messages(missing)
            if lost:
                needed, command = f"what the attachment has lost: {lost[0]}", REPAIR
        if drop.is_firewalld:
            needed = "a zone or policy of firewalld that accepts the packet"
        return place.broken(Check.FIREWALL, f"dropped by: {drop.text}", needed, command)

    def _list_ends(self) -> t.Iterator[tuple[Record, IpAddress]]:
        """Yield the attachments between which the packet goes, each with its address."""
        evidence = t.cast(Evidence, self._evidence)
        packet, translation = evidence.packet, evidence.translation
        addresses = {packet.source, packet.destination, translation.destination if translation else None}
        for record in self._places.records:
            yield from ((record, address) for address in list_addresses(record) if address in addresses)

    def _no_route(self, place: Place, packet: Packet, answer: RouteAnswer) -> Step:
        behind = next(iter(self._places.containers(packet.destination)), None) if place.is_node else None
        if behind is not None:
            return describe_child(place, behind) if is_child(behind) else self._wrong_link(place, packet, None, behind)
        container = self._find_container(place)
        gateways = (
            _gateways(container.record, packet.destination.version)
            if container is not None and container.record
            else []
        )
        word = os.strerror(answer.error)
        if gateways:
            command = place.command("ip", "route", "add", "default", "via", gateways[0])
            return place.broken(
                Check.ROUTE, f"no route to {packet.destination} ({word})", f"default via {gateways[0]}", command
            )
        return place.broken(
            Check.ROUTE, f"no route to {packet.destination} ({word})", f"a route to {packet.destination}"
        )

    def _not_routed(self, place: Place, link: Link, packet: Packet, answer: RouteAnswer) -> Step:
        """Return the step for a packet that the kernel refuses when it arrives."""
        out = None
        if answer.error in (errno.EXDEV, errno.EINVAL) and packet.source is not None:
            out = place.links.get(place.route(packet.source, None).link)
            if out is not None and out != link and _is_idle_bridge(place, out):
                found = f"packets from {packet.source} on {link.name} are dropped: the way back goes through {out.name}"
                return _describe_idle_bridge(Check.REVERSE_PATH, place, out, found)
        if answer.error == errno.EXDEV:
            setting = f"net/ipv4/conf/{link.name}/rp_filter"
            return place.broken(
                Check.REVERSE_PATH,
                f"rp_filter drops packets from {packet.source} on {link.name}: the way back goes "
                f"{'through ' + out.name if out is not None else 'nowhere'}",
                f"a route to {packet.source} through {link.name}, or rp_filter 2 on {link.name}",
                place.set(setting, 2),
            )
        if answer.error == errno.EINVAL:
            return place.broken(
                Check.REVERSE_PATH,
                f"the kernel does not accept packets from {packet.source} to {packet.destination} on {link.name}",
                "a source address that is not the receiver's own, and no 127.0.0.0/8 unless route_localnet is 1",
            )
        for step in self._check_forwarding(place, link, packet):
            return step
        return self._no_route(place, packet, answer)

    def _check_forwarding(self, place: Place, link: Link, packet: Packet) -> t.Iterator[Step]:
        if packet.destination.version == 4:
            setting, globally = f"net/ipv4/conf/{link.name}/forwarding", "net/ipv4/ip_forward"
        else:
            setting = globally = "net/ipv6/conf/all/forwarding"
        if place.setting(setting) != "0":
            return
        if place.setting(globally) == "0":
            setting = globally
        yield place.broken(Check.FORWARDING, f"{setting.replace('/', '.')} is 0", "1", place.set(setting, 1))

    def _check_link_to_container(self, place: Place, packet: Packet, link: Link) -> t.Iterator[Step]:
        """Yield a broken step if the node would send a packet for a container somewhere else."""
        containers = [
            container for container in self._places.containers(packet.destination) if container.host_end is not None
        ]
        if not place.is_node or not containers or any(link.ifindex in _links_to(container) for container in containers):
            return
        # A link that the attachment names is right, even if it has lost its port.
        if any(container.record and link.name in container.record.node_interfaces for container in containers):
            return
        yield self._wrong_link(place, packet, link, containers[0])

    def _wrong_link(self, place: Place, packet: Packet, link: Link | None, container: Container) -> Step:
        record, end = container.record, container.host_end
        bridge = place.links.get(end.master) if end is not None else None
        named = find_bridge(record) if record is not None else ""
        expected = bridge.name if bridge is not None else named or (end.name if end is not None else "")
        # Without the link, its routes are gone.
        for needed in filter(None, (bridge, end)):
            for step in require_usable(place, needed):
                return step
        found = (
            f"{packet.destination} of {container.place.name} is sent through {link.name}"
            if link
            else (f"no route to {packet.destination} of {container.place.name}")
        )
        if link is not None and _is_idle_bridge(place, link):
            return _describe_idle_bridge(Check.ROUTE, place, link, found)
        if not expected:
            return place.broken(Check.ROUTE, found, f"a route to {packet.destination}")
        drift = self._places.find_drift(record).messages if record is not None else ()
        command = place.command("ip", "route", "add", str(packet.destination), "dev", expected)
        return place.broken(Check.ROUTE, found, f"a route through {expected}", REPAIR if drift else command)

    def _find_container(self, place: Place) -> Container | None:
        for record in self._places.records:
            container = self._places.container(record)
            if container is not None and container.place is place:
                return container
        return None


def filters_bridges(node: Place, address: IpAddress) -> bool:
    """Return whether the rules of iptables apply to what passes a bridge."""
    return node.setting(BRIDGED_RULES[address.version]) == "1"


def _links_to(container: Container) -> set[int]:
    """Return the indexes of the links of the node by which a container is reached."""
    host_end = t.cast(Link, container.host_end)
    return {host_end.ifindex, host_end.master}


def _is_idle_bridge(place: Place, link: Link) -> bool:
    return link.kind == BRIDGE and not place.ports(link)


def _describe_idle_bridge(check: Check, place: Place, bridge: Link, found: str) -> Step:
    """Return the step for a packet that is sent to a bridge without ports, which no network may use any more."""
    addresses = [str(address) for address in place.addresses(bridge) if not address.is_link_local]
    return place.broken(
        check,
        f"{found}, a bridge without ports that has {', '.join(addresses) or 'no address'}",
        f"a subnet of its own for {bridge.name}, or no such bridge, if nothing needs it",
        place.command("ip", "link", "delete", bridge.name),
    )


def _describe_route(destination: IpAddress, answer: RouteAnswer, link: Link) -> str:
    return f"{destination} via {answer.gateway} dev {link.name}" if answer.gateway else f"{destination} dev {link.name}"


def _gateways(record: Record, version: int) -> list[str]:
    return [str(gateway) for dummy, gateway in list_ips(record) if gateway is not None and gateway.version == version]
