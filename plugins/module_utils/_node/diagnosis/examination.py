# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Follow one packet from end to end, and its answer back, up to the first step that is broken."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis import probe
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.delivery import Delivery, check_delivery
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.endpoints import PacketDestination, PacketSource
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import NodePlaces, list_addresses
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, SCTP, UDP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place, name_of
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import Evidence
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.segment import (
    describe_missing_interface,
    require_address,
    require_usable,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import (
    Check,
    State,
    Step,
    broken,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.translation import UnreplacedSource
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.walk import BRIDGED_RULES, Way, filters_bridges


class SentPacket(t.NamedTuple):
    """A packet that another node has sent.

    Attributes:
        source_port: As it left that node.
        answer: What it received, as in `Evidence`.
    """

    source_port: int
    answer: str


class Examination:
    """The steps of one packet from end to end.

    Attributes:
        leaving: The packet as it leaves the node; None if it does not.
    """

    def __init__(
        self,
        places: NodePlaces,
        begin: PacketSource,
        end: PacketDestination,
        timeout: float,
        *,
        dry_run: bool,
        sent: SentPacket | None = None,
    ) -> None:
        self._places, self._begin, self._end = places, begin, end
        self._timeout, self._dry_run = timeout, dry_run
        self._sent = sent if begin.place is None else None
        self._evidence: Evidence | None = None
        self._has_arrived = False
        self.leaving: Packet | None = None

    @property
    def answer(self) -> str:
        return self._evidence.answer if self._evidence is not None else ""

    def steps(self) -> t.Iterator[Step]:
        """Yield the steps up to the first broken one."""
        for step in self._all_steps():
            if step.state is State.BROKEN and self.answer == probe.ANSWERED and step.check is not Check.MTU:
                # What was answered has passed, whatever seems to be in its way.
                step = step._replace(
                    state=State.UNKNOWN, needed="", command="", found=f"{step.found}; the answer came anyway"
                )
            yield step
            if step.state is State.BROKEN:
                return

    def _all_steps(self) -> t.Iterator[Step]:
        packet = self._packet()
        place = self._begin.place
        if place is None and self._begin.netns:
            name = name_of(self._begin.netns)
            yield broken(Check.NETNS, name, f"the network namespace {name} does not exist", "a running container")
            return
        if place is not None:
            yield from self._check_source(place, packet)
        self._evidence = self._find_evidence(place, packet)
        if self._evidence is not None:
            packet = self._evidence.packet
        way = Way(self._places, self._evidence)
        delivery = yield from self._walk(way, place, packet)
        if delivery is None:
            return
        if delivery.place is None:
            self.leaving = delivery.packet
        yield from check_delivery(delivery, self._evidence)
        yield from self._walk_back(place, packet, delivery, way.unreplaced)
        yield from self._conclude(delivery)

    def _packet(self) -> Packet:
        """Return the packet to follow: between addresses of one family, which both ends have, if possible."""
        own = [address for record in self._begin.records for address in list_addresses(record)]
        source = self._begin.address
        versions = {source.version} if source is not None else {address.version for address in own}
        fitting = [address for address in self._end.addresses if address.version in versions]
        destination = (fitting or self._end.addresses)[0]
        if source is None:
            source = self._choose_source(own, destination)
        identifier = probe.pick_source_port() if self._end.protocol == ICMP else 0
        return Packet(self._end.protocol, source, destination, self._end.port, identifier)

    def _choose_source(self, own: t.Sequence[IpAddress], destination: IpAddress) -> IpAddress | None:
        """Return the address of the container that the kernel would choose; otherwise its first one of the family."""
        candidates = [address for address in own if address.version == destination.version]
        if self._begin.place is not None and len(candidates) != 1:
            chosen = self._begin.place.route(destination, None).source
            if chosen in candidates or not candidates:
                return chosen
        return candidates[0] if candidates else None

    def _check_source(self, place: Place, packet: Packet) -> t.Iterator[Step]:
        """Yield whether the interface and the address that the packet comes from are there."""
        record = next((each for each in self._begin.records if packet.source in list_addresses(each)), None)
        if record is None or packet.source is None:
            return
        name = record.attachment.ifname
        link = place.link(name)
        if link is None:
            yield describe_missing_interface(place, name)
            return
        yield from require_usable(place, link)
        missing = list(require_address(place, link, packet.source, record))
        yield from missing
        if not missing and place.is_duplicate(packet.source):
            yield place.broken(
                Check.ADDRESS,
                f"{packet.source} is not used, because a neighbour has it, too",
                "an address that only one machine has",
            )
        elif not missing:
            yield place.ok(Check.ADDRESS, f"{name} has {packet.source}")

    def _find_evidence(self, place: Place | None, packet: Packet) -> Evidence | None:
        if packet.protocol == SCTP:
            return None
        if place is None:
            return self._find_evidence_of_arrival(packet)
        watched = self._list_watched(packet, place)
        return None if self._dry_run else probe.probe(packet, place, watched, self._places.node, self._timeout)

    def _find_evidence_of_arrival(self, packet: Packet) -> Evidence | None:
        """Return what is known of a packet from elsewhere; None if nothing is."""
        node, known = self._places.node, None
        if self._sent is not None:
            packet = packet._replace(source_port=self._sent.source_port)
            translation = node.run(lambda: probe.find_translation(packet))
            known = Evidence(packet, self._sent.answer, translation=translation)
            self._has_arrived = translation is not None
        link = self._find_arrival(packet)
        is_answered = known is not None and known.answer == probe.ANSWERED
        if self._dry_run or is_answered or link is None or not self._places.has_address(packet.destination):
            return known
        known = known or Evidence(packet, "")
        try:
            received = probe.receive(packet, link, self._list_watched(packet), node, self._timeout)
        except CniError as exc:
            return known._replace(gaps=(f"no packet could be made to arrive on {link.name}: {exc}",))
        return received._replace(answer=known.answer)

    def _find_arrival(self, packet: Packet) -> Link | None:
        """Return the link by which packets come from the source."""
        node = self._places.node
        return node.links.get(node.route(t.cast(IpAddress, packet.source), None).link)

    def _list_watched(self, packet: Packet, *places: Place) -> list[Place]:
        """Return the network namespaces whose rules the packet or its answer may meet."""
        watched = {each.inode: each for each in (*places, self._places.node)}
        for record in self._places.records:
            if packet.destination in list_addresses(record) or self._maps_port(record):
                container = self._places.at(record.attachment.netns)
                if container is not None:
                    watched[container.inode] = container
        return list(watched.values())

    def _maps_port(self, record: Record) -> bool:
        begin, ending = f"{self._end.port}->", f"/{self._end.protocol}"
        return any(begin in port and port.endswith(ending) for port in record.requested_ports)

    def _walk(self, way: Way, place: Place | None, packet: Packet) -> t.Generator[Step, None, Delivery | None]:
        if place is not None:
            return (yield from way.from_process(place, packet))
        node, link = self._places.node, self._find_arrival(packet)
        if link is None:
            yield node.broken(Check.ROUTE, f"no route to {packet.source}", f"a route to {packet.source}")
            return None
        yield node.ok(Check.ROUTE, f"packets from {packet.source} arrive on {link.name}")
        return (yield from way.from_link(node, link, packet))

    def _walk_back(
        self, place: Place | None, packet: Packet, delivery: Delivery, unreplaced: UnreplacedSource | None
    ) -> t.Iterator[Step]:
        """Yield the steps of the answer.

        A source that was not replaced is broken if the answer is lost, and the answer to the replaced one is not.
        """
        needs_other_source = False
        if unreplaced is not None:
            expected = delivery._replace(packet=delivery.packet._replace(source=unreplaced.expected))
            needs_other_source = not any(map(_is_broken, self._follow_answer(place, packet, expected)))
        for step in self._follow_answer(place, packet, delivery):
            if unreplaced is not None and needs_other_source and _is_broken(step):
                yield unreplaced.step
                return
            yield step._replace(is_back=True)

    def _follow_answer(self, place: Place | None, packet: Packet, delivery: Delivery) -> t.Iterator[Step]:
        node, answering, delivered = self._places.node, delivery.place, delivery.packet
        if delivery.link is None or delivered.source is None:
            return
        way = Way(self._places, self._evidence, (packet, delivered))
        if answering is None:
            for each in filter(None, (node, place)):
                yield from way.check_rules(each, None)
            return
        returned = yield from way.from_process(answering, delivered.answer)
        if returned is None:
            return
        if returned.place is None and place is not None:
            to, link = returned.packet.destination, returned.link.name if returned.link else ""
            found = f"the answer to {to} leaves the node by {link}"
            yield answering.broken(Check.WAY_BACK, found, f"a route of the node to {to}")
        is_translated = (delivered.destination, delivered.port) != (packet.destination, packet.port)
        passes_node = answering is node or node.inode in returned.passed or filters_bridges(node, packet.destination)
        if is_translated and not passes_node:
            setting = BRIDGED_RULES[packet.destination.version]
            yield node.broken(
                Check.WAY_BACK,
                f"the answer of {delivered.destination} stays on the bridge, so the node does not replace its address by "
                f"{packet.destination}",
                f"{setting.replace('/', '.')} = 1 (kernel module br_netfilter)",
                node.set(setting, 1),
            )

    def _conclude(self, delivery: Delivery) -> t.Iterator[Step]:
        """Yield what the probe shows besides the steps: what was not watched, and the answer."""
        evidence, node, sender = self._evidence, self._places.node, self._begin.place
        if evidence is None:
            yield node.unknown(Check.FIREWALL, "no packet was sent, so that it is not known whether a rule drops it")
            return
        for gap in evidence.gaps:
            yield node.unknown(Check.FIREWALL, gap)
        if sender is not None:
            yield self._judge_answer(sender, delivery, evidence)
        elif evidence.answer != probe.ANSWERED:  # what the sender received is a step there
            yield from self._judge_arrival(evidence)

    def _judge_answer(self, sender: Place, delivery: Delivery, evidence: Evidence) -> Step:
        """Return what the sender received."""
        if evidence.answer == probe.ANSWERED:
            return sender.ok(Check.ANSWER, f"{evidence.packet} has answered")
        has_left = delivery.place is None
        has_arrived = delivery.place is not None and delivery.place.inode in evidence.seen
        if evidence.packet.protocol == UDP and evidence.answer == probe.SILENT and (has_arrived or has_left):
            found = "the packet was sent and not refused; a server of UDP need not answer"
            return sender.unknown(Check.ANSWER, found)
        found = {
            probe.REFUSED: "the connection was refused",
            probe.UNREACHABLE: f"the kernel reports: {evidence.error}",
            probe.SILENT: "no answer",
        }[evidence.answer]
        if has_left:
            left = f"the packet left the node by {delivery.link.name if delivery.link else ''}"
            needed = f"an answer of {evidence.packet.destination}: look there"
            return sender.broken(Check.ANSWER, f"{left}: {found}", needed)
        seen = f"it was {'' if has_arrived else 'not '}seen at its destination"
        needed = "an answer; look at tc filters and at the program"
        return sender.broken(Check.ANSWER, f"{found}, although every step seems right; {seen}", needed)

    def _judge_arrival(self, evidence: Evidence) -> t.Iterator[Step]:
        """Yield what the node shows of a packet from elsewhere that was not answered."""
        node, target = self._places.node, evidence.packet.target
        if self._has_arrived:
            passed = f"the packet for {target} has arrived, and no rule of the node has dropped it"
            yield node.ok(Check.FIREWALL, passed)
            return
        if node.inode in evidence.seen:
            yield node.ok(Check.FIREWALL, f"no rule of the node drops a packet from there for {target}")
        elif evidence.is_received and not evidence.gaps:
            yield node.unknown(Check.FIREWALL, f"no rule has seen a packet from there for {target}; look at tc filters")
        if self._sent is not None:
            found = f"connection tracking does not have the packet for {target} that was sent"
            yield node.unknown(Check.ANSWER, f"{found}: it did not arrive, or it is not tracked")


def _is_broken(step: Step) -> bool:
    return step.state is State.BROKEN
