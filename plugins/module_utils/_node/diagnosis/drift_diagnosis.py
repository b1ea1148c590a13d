# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find out what attachments that have drifted do not reach any more, without sending a packet."""

from __future__ import annotations

import ipaddress
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, parse_address
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.diagnosis import Diagnosis
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.endpoints import (
    PacketDestination,
    PacketSource,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.examination import Examination
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import (
    NodePlaces,
    has_default_route,
    list_addresses,
    list_ips,
    list_mappings,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import NODE
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, State, Step

_MOST = 10
_SECONDS = 2.0
_ELSEWHERE: dict[int, IpAddress] = {
    4: ipaddress.ip_address("198.51.100.1"),
    6: ipaddress.ip_address("2001:db8:ffff::1"),
}


def diagnose_drifted(
    paths: NodePaths, cache_dir: str, attachments: t.Iterable[JsonMapping], seconds: float = _SECONDS
) -> list[JsonObject]:
    """Return a diagnosis for each attachment that has drifted, for ten at most.

    Args:
        attachments: The attachments of the module `node_info`.
        seconds: The time for one attachment.

    Raises:
        CniError: ``IO_FAILURE``: the kernel cannot be read.
    """
    drifted = {
        (entry["network"], entry["container_id"], entry["ifname"]) for entry in attachments if entry.get("drift")
    }
    if not drifted:
        return []
    described: list[JsonObject] = []
    with netns.open_current() as home:
        places = NodePlaces(paths, cache_dir, home)
        for record in [record for record in places.records if record.attachment.key in drifted][:_MOST]:
            try:
                described += [_describe(record, diagnosis) for diagnosis in _diagnose(places, record, seconds)]
            except Exception as exc:  # does not keep the others from it
                step = places.node.unknown(Check.NETNS, f"not followed: {as_error(exc)}")
                described.append(_describe(record, Diagnosis(record.attachment.container_id, "", (step,), "")))
    return described


def _describe(record: Record, diagnosis: Diagnosis) -> JsonObject:
    return {
        "network": record.attachment.network,
        "container_id": record.attachment.container_id,
        "ifname": record.attachment.ifname,
        "from": diagnosis.source,
        "to": diagnosis.destination,
        "steps": [step.as_dict() for step in diagnosis.steps],
    }


def _diagnose(places: NodePlaces, record: Record, seconds: float) -> list[Diagnosis]:
    """Return the first way of an attachment that is broken; the last one if none is, and none without an address.

    A program that does not listen does not explain drift, so other ways are preferred.
    """
    deadline = time.monotonic() + seconds
    followed = []
    for begin, end in _list_ways(places, record):
        followed.append(_follow(places, record, begin, end, deadline))
        step = followed[-1].broken
        if (step is not None and step.check is not Check.LISTENER) or time.monotonic() > deadline:
            return followed[-1:]
    return [each for each in followed if each.broken is not None][:1] or followed[-1:]


def _list_ways(places: NodePlaces, record: Record) -> t.Iterator[tuple[PacketSource, PacketDestination]]:
    """Yield the ways that an attachment is for: to its gateway, from the node, to its mapped ports, and to the outside."""
    netns_path = record.attachment.netns
    own, node = PacketSource(places.at(netns_path), (record,), None, netns_path), PacketSource(places.node)
    container = places.container(record)
    for interface, gateway in list_ips(record):
        if gateway is not None:
            yield own, PacketDestination((gateway,), ICMP, 0)
        if container is None or container.host_end is not None:
            yield node, PacketDestination((interface.ip,), ICMP, 0, (record,))
    for version in sorted({address.version for address in list_addresses(record)}):
        route = places.node.route(_ELSEWHERE[version], None)
        if route.kind != "unicast" or route.source is None:
            continue
        neighbour = route.gateway or _ELSEWHERE[version]
        for mapping in list_mappings(record):
            if mapping.is_of(version):
                host = parse_address(mapping.host) or route.source
                yield (
                    PacketSource(None, address=neighbour),
                    PacketDestination((host,), mapping.protocol, mapping.host_port),
                )
        if has_default_route(record, version):
            yield own, PacketDestination((neighbour,), ICMP, 0)


def _follow(
    places: NodePlaces, record: Record, begin: PacketSource, end: PacketDestination, deadline: float
) -> Diagnosis:
    source = record.attachment.container_id if begin.records else str(begin.address or NODE)
    destination = str(Packet(end.protocol, None, end.addresses[0], end.port))
    steps: list[Step] = []
    try:
        for step in Examination(places, begin, end, 0, dry_run=True).steps():
            steps.append(step)
            if step.state is not State.BROKEN and time.monotonic() > deadline:
                steps.append(places.node.unknown(Check.ANSWER, "not followed further, because it takes too long"))
                break
    except CniError as exc:
        steps.append(places.node.unknown(Check.ANSWER, f"not followed further: {exc}"))
    return Diagnosis(source, destination, tuple(steps), "")
