# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The addresses that the node replaces in a packet: ports that it forwards to containers, and sources that it masquerades."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._base.json_text import any_case
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.delivery import find_listeners
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import (
    NodePlaces,
    has_flag,
    list_addresses,
    list_ips,
    list_mappings,
    list_plugins,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import Evidence
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import REPAIR, Check, Step
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.rules import port_mapping
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    NFTABLES,
    Purpose,
    main_messages,
)

# The hooks of the kernel at which it translates packets to ports of the node: those that arrive, and those of its processes.
ARRIVED, SENT = "prerouting", "output"

Translation = t.Generator[Step, None, Packet]


class UnreplacedSource(t.NamedTuple):
    """A source that rules of an attachment should have replaced. Not every answer needs that.

    Attributes:
        step: The step that is broken if the answer needs it.
        expected: The address of the node that would be in its place.
    """

    step: Step
    expected: IpAddress | None


class AddressTranslation:
    """The addresses that the node replaces in a packet, or in its answer.

    Attributes:
        unreplaced: The source that a packet has kept; None if no rule should have replaced it.
    """

    def __init__(
        self, places: NodePlaces, evidence: Evidence | None, answered: tuple[Packet, Packet] | None = None
    ) -> None:
        """
        Args:
            evidence: What a probe found out; None if none was sent.
            answered: For an answer, the packet that it answers: as it was sent, and as it was delivered.
        """
        self._places, self._answered = places, answered
        self._is_probed = evidence is not None
        self._seen = evidence.translation if evidence is not None else None
        self._mapped: Record | None = None  # the attachment to whose mapped port the packet goes
        self.unreplaced: UnreplacedSource | None = None

    def replace_destination(self, place: Place, packet: Packet, hook: str) -> Translation:
        """Yield where the node sends a packet for a port of its own, or an answer, and return the packet after that.

        Args:
            hook: `ARRIVED` or `SENT`.
        """
        if not place.is_node:
            return packet
        if self._answered is not None:
            sent, delivered = self._answered
            # The source is replaced after the routing decision.
            back = packet._replace(destination=t.cast(IpAddress, sent.source), port=sent.source_port)
            return back if packet.destination == delivered.source else packet
        mapping = self._find_mapping(place, packet)
        seen = self._seen
        if seen is not None and (seen.destination, seen.port) != (packet.destination, packet.port):
            changed = packet._replace(destination=seen.destination, port=seen.port)
            if mapping is not None and seen.destination in list_addresses(mapping[0]):
                self._mapped = mapping[0]
            yield place.ok(Check.HOST_PORT, f"{packet} is forwarded to {changed}")
            return changed
        if mapping is None or find_listeners(place, packet):
            return packet
        return (yield from self._map_port(place, packet, hook, *mapping))

    def _find_mapping(self, place: Place, packet: Packet) -> tuple[Record, port_mapping.Mapping] | None:
        """Return the mapping of the node's port to which a packet goes, and whose it is."""
        if not place.has_address(packet.destination):
            return None
        for record in self._places.records:
            for mapping in list_mappings(record):
                is_port = (mapping.host_port, mapping.protocol) == (packet.port, packet.protocol)
                is_here = mapping.is_of(packet.destination.version) and mapping.host in ("", str(packet.destination))
                if is_port and is_here:
                    return record, mapping
        return None

    def _map_port(
        self, place: Place, packet: Packet, hook: str, record: Record, mapping: port_mapping.Mapping
    ) -> Translation:
        """Yield whether the rules that map a port exist, and return the packet as they forward it."""
        version = packet.destination.version
        address = next((each for each in list_addresses(record) if each.version == version), None)
        missing = self._places.find_lost_rules(record, Purpose.PORT_MAPPING, address) if address is not None else []
        lost = main_messages([each for each in missing if not each.hooks or hook in each.hooks])
        where = f"port {packet.port}/{packet.protocol} is mapped to {record.attachment.container_id}"
        if lost or self._seen is not None:
            found = f"{where}, but not forwarded: {lost[0] if lost else 'another rule comes before those of portmap'}"
            yield place.broken(Check.HOST_PORT, found, "the rules of portmap", REPAIR)
        if address is None:
            return packet
        yield place.unknown(Check.HOST_PORT, f"{where}, and its rules exist; no packet shows that they apply")
        self._mapped = record
        return packet._replace(destination=address, port=mapping.container_port)

    def replace_source(self, place: Place, link: Link, packet: Packet) -> Translation:
        """Yield whether the node replaces the source of what it forwards, and return the packet after that."""
        if not place.is_node or packet.source is None:
            return packet
        if self._answered is not None:
            sent, delivered = self._answered
            is_answer = packet.destination == sent.source and packet.source == delivered.destination
            return sent.answer if is_answer else packet
        seen = self._seen
        if seen is not None and seen.source != packet.source:
            yield place.ok(Check.MASQUERADE, f"leaves by {link.name} with the address {seen.source}")
            # That of an echo request has no ports.
            return packet._replace(source=seen.source, source_port=seen.source_port or packet.source_port)
        masquerading = self._find_masquerading(packet)
        if masquerading is None:
            return packet
        lost, rules = masquerading
        expected = place.route(packet.destination, None).source
        if lost or seen is not None:
            found = lost or f"the address {packet.source} is not replaced, because another rule comes first"
            step = place.broken(Check.MASQUERADE, found, rules, REPAIR)
            # No container accepts a packet from 127.0.0.1, or from its own address.
            if packet.source.is_loopback or (self._mapped and packet.source in list_addresses(self._mapped)):
                yield step
            self.unreplaced = UnreplacedSource(step, expected)
        elif not self._is_probed:
            yield place.unknown(Check.MASQUERADE, "the masquerade rules exist; no packet shows that they apply")
            return packet._replace(source=expected)
        return packet

    def _find_masquerading(self, packet: Packet) -> tuple[str, str] | None:
        """Return which of the rules that replace the source of a packet is lost, and what they are; None without rules."""
        source = t.cast(IpAddress, packet.source)
        if self._mapped is not None and self._masquerades_mapped(self._mapped, packet):
            missing = self._places.find_lost_rules(self._mapped, Purpose.PORT_MASQUERADING, packet.destination)
            return "".join(main_messages(missing)[:1]), "the rules of portmap"
        record = next((each for each in self._places.records if _masquerades(each, packet)), None)
        if record is None:
            return None
        missing = self._places.find_lost_rules(record, Purpose.MASQUERADING, source)
        return "".join(main_messages(missing)[:1]), "the masquerade rules of ipMasq"

    def _masquerades_mapped(self, record: Record, packet: Packet) -> bool:
        """Return whether portmap replaces the source of a packet for a mapped port, so that the answer passes the node."""
        mappers = [each for each in list_plugins(record) if catalogue.find_plugin_type(each.type).maps_ports]
        keys = any_case(mappers[0].keys if mappers else {})
        if keys.get("snat") is False:
            return False
        source = t.cast(IpAddress, packet.source)
        if keys.get("masqAll") is True or (source.version == 4 and source.is_loopback):
            return True
        drifts = self._places.compare_rules(record, Purpose.PORT_MASQUERADING, packet.destination)
        if any(drift.backend == NFTABLES for drift in drifts):
            return source == packet.destination  # portmap has no rule for its neighbours there
        return any(source in interface.network for interface, dummy in list_ips(record))


def _masquerades(record: Record, packet: Packet) -> bool:
    """Return whether a network replaces the source address of a packet: ``ipMasq`` does unless it stays in the subnet."""
    ips = [interface for interface, dummy in list_ips(record)]
    is_outgoing = any(each.ip == packet.source and packet.destination not in each.network for each in ips)
    return is_outgoing and has_flag(record, "ipMasq")
