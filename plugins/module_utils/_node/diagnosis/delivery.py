# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The end of a packet's way, and what accepts it there."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.listeners import Listener
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import REFUSED, Evidence
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, Step


class Delivery(t.NamedTuple):
    """Where a packet has come.

    Attributes:
        packet: As it arrived, after translation.
        place: The network namespace that it is for; None if it left the node.
        passed: The network namespaces whose routing it has passed, by inode number.
        link: The link by which it left the node or arrived; None if it never left its network namespace.
    """

    packet: Packet
    place: Place | None
    passed: frozenset[int]
    link: Link | None


def check_delivery(delivery: Delivery, evidence: Evidence | None) -> t.Iterator[Step]:
    """Yield whether something accepts a packet in the network namespace that it is for."""
    place, packet = delivery.place, delivery.packet
    if place is None:
        return
    if packet.protocol == ICMP:
        version = packet.destination.version
        setting = "net/ipv4/icmp_echo_ignore_all" if version == 4 else "net/ipv6/icmp/echo_ignore_all"
        if place.setting(setting) == "1":
            yield place.broken(Check.LISTENER, f"{setting.replace('/', '.')} is 1", "0", place.set(setting, 0))
        return
    sockets = find_listeners(place, packet)
    is_refused = evidence is not None and evidence.answer == REFUSED
    if sockets and not (is_refused and all(each.address.version != packet.destination.version for each in sockets)):
        yield place.ok(Check.LISTENER, f"a process listens on port {packet.port}/{packet.protocol}")
        return
    others = [each for each in place.listeners if (each.protocol, each.port) == (packet.protocol, packet.port)]
    if others:
        found = (
            f"port {packet.port}/{packet.protocol} is open on {others[0].address} only"  # for IPv6 only, if that is ::
        )
        yield place.broken(Check.LISTENER, found, f"a process that listens on {packet.destination} or all addresses")
        return
    found = f"nothing listens on port {packet.port}/{packet.protocol}"
    yield place.broken(Check.LISTENER, found, f"a process that listens on port {packet.port}")


def find_listeners(place: Place, packet: Packet) -> list[Listener]:
    """Return the sockets of a namespace that accept a packet."""
    return [
        each
        for each in place.listeners
        if (each.protocol, each.port) == (packet.protocol, packet.port)
        and (
            each.address == packet.destination
            or (
                each.address.is_unspecified
                and (each.address.version == packet.destination.version or each.address.version == 6)
            )
        )
    ]
