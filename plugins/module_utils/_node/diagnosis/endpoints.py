# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The two ends of a diagnosis, as an operator names them."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, parse_address
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import shorten
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import NodePlaces, list_addresses
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, PROTOCOLS, TCP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import NODE, Place, name_of

_LAST_PORT = 65535
# Before the port: an address in brackets, an IPv4 address or a name; an IPv6 address without brackets has no port.
_DESTINATION = re.compile(
    r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<host>[^:\[\]]+)|(?P<v6>[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*))(?::(?P<port>\d{1,5}))?"
)
_EXPECTED = (
    "expected: an address, or the name of an attachment, with :PORT and /PROTOCOL if needed, such as 10.80.0.3:8080/tcp"
)


class PacketSource(t.NamedTuple):
    """Where a packet comes from.

    Attributes:
        place: The network namespace that sends it; None for an address outside of the node.
        records: The attachments of its container.
        address: The source address if it is given.
        netns: The path of the network namespace, also if it does not exist.
    """

    place: Place | None
    records: tuple[Record, ...] = ()
    address: IpAddress | None = None
    netns: str = ""

    def list_own_addresses(self) -> list[IpAddress]:
        """Return the addresses that the node has of this end."""
        if self.place is None and not self.netns:
            return []
        if self.address is not None:
            return [self.address]
        own = [address for record in self.records for address in list_addresses(record)]
        return own or (self.place.list_addresses() if self.place is not None else [])


class PacketDestination(t.NamedTuple):
    """Where a packet goes.

    Attributes:
        addresses: Those of the attachment, or the one that is given.
        records: The attachments that were named; empty for an address.
    """

    addresses: tuple[IpAddress, ...]
    protocol: str
    port: int
    records: tuple[Record, ...] = ()

    def list_own_targets(self, places: NodePlaces) -> list[str]:
        """Return the destinations that the node has, each in the form in which an operator gives it."""
        return [
            Packet(self.protocol, None, address, self.port).target
            for address in self.addresses
            if self.records or places.has_address(address)
        ]


def find_source(text: str, places: NodePlaces, paths: NodePaths) -> PacketSource:
    """Return the source that a name stands for: ``node``, an attachment, a network namespace, or an address.

    Raises:
        CniError: ``INVALID_CONFIG``: the text is empty; ``UNKNOWN_CONTAINER``: no container of this node has the name.
    """
    if not text:
        raise CniError(Code.INVALID_CONFIG, "from is empty", "expected: node, a container, or an address")
    if text == NODE:
        return PacketSource(places.node)
    address = parse_address(text)
    if address is not None:
        records = tuple(record for record in places.records if address in list_addresses(record))
        if places.node.has_address(address):
            return PacketSource(places.node, address=address)
        if not records:
            return PacketSource(None, address=address)
        return PacketSource(_first_place(records, places), records, address, records[0].attachment.netns)
    records = find_records(text, places)
    if records:
        return PacketSource(_first_place(records, places), records, None, records[0].attachment.netns)
    path = text if text.startswith("/") else netns.path_of(paths.netns_dir, text)
    place = places.at(path)
    if place is None:
        raise CniError(
            Code.UNKNOWN_CONTAINER,
            f"from: {text!r} is neither an attachment nor a network namespace of this node",
            f"expected: 'node', an address, a container ID, or a network namespace; attachments: {_list_containers(places)}",
        )
    return PacketSource(place, netns=path)


def find_destination(text: str, places: NodePlaces) -> PacketDestination:
    """Return the destination that a text stands for.

    Raises:
        CniError: ``INVALID_CONFIG``: the text is malformed; ``UNKNOWN_CONTAINER``: no attachment of this node has the name.
    """
    rest, dummy, protocol = text.rpartition("/") if text.rpartition("/")[2] in PROTOCOLS else (text, "", "")
    match = _DESTINATION.fullmatch(rest)
    if match is None:
        raise CniError(Code.INVALID_CONFIG, f"to: {text!r} is not a destination", _EXPECTED)
    port = int(match["port"] or 0)
    protocol = protocol or (TCP if match["port"] else ICMP)
    if (match["port"] and not 0 < port <= _LAST_PORT) or (protocol == ICMP) == bool(port):
        what = f"{port} is not a port of {protocol}" if match["port"] else f"{protocol} needs a port"
        raise CniError(Code.INVALID_CONFIG, f"to: {text!r}: {what}", _EXPECTED)
    host = match["bracketed"] or match["v6"] or match["host"]
    address = parse_address(host)
    if address is not None:
        if address.is_multicast or address.is_unspecified:
            raise CniError(Code.INVALID_CONFIG, f"to: {text!r} is not the address of a single host", _EXPECTED)
        return PacketDestination((address,), protocol, port)
    records = find_records(host, places)
    # Containerd records the loopback interface of a container as another attachment.
    addresses = tuple(address for record in records for address in list_addresses(record) if not address.is_loopback)
    if not addresses:
        raise CniError(
            Code.UNKNOWN_CONTAINER,
            f"to: {host!r} is neither an address nor an attachment of this node that has one",
            f"{_EXPECTED}; attachments: {_list_containers(places)}",
        )
    return PacketDestination(addresses, protocol, port, records)


def find_records(text: str, places: NodePlaces) -> tuple[Record, ...]:
    """Return the attachments of a container, by its ID, the start of a long ID, or its network namespace.

    ``CONTAINER/INTERFACE`` selects one of them.
    """
    container, dummy, ifname = text.rpartition("/") if not text.startswith("/") and "/" in text else (text, "", "")
    named = [
        record
        for record in places.records
        if container in (record.attachment.container_id, record.attachment.netns, name_of(record.attachment.netns))
        or (len(container) >= 12 and record.attachment.container_id.startswith(container))
    ]
    return tuple(record for record in named if ifname in ("", record.attachment.ifname))


def _first_place(records: t.Iterable[Record], places: NodePlaces) -> Place | None:
    return next(filter(None, (places.at(record.attachment.netns) for record in records)), None)


def _list_containers(places: NodePlaces) -> str:
    names = sorted({record.attachment.container_id for record in places.records})
    return shorten(names, 10) or "none"
