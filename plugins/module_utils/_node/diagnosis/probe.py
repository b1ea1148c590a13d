# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Send or receive one packet, and collect what the kernel reports of it: the answer, its way through rules, its translation."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import random
import select
import socket
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux import icmp, ip_packet, packet_injection
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.rules import conntrack, packet_trace
from ansible_collections.cni.node.plugins.module_utils._linux.rules.conntrack import Translation
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, TCP, UDP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.rule_watch import Drop, RuleWatch

ANSWERED, REFUSED, UNREACHABLE, SILENT = ANSWERS = ("answered", "refused", "unreachable", "silent")

_REFUSALS = (errno.ECONNREFUSED, errno.ECONNRESET)
# Those from which the kernel takes the port of a new connection, by default.
_PORTS = (32768, 61000)
_PAUSE = 0.02


class Evidence(t.NamedTuple):
    """The fate of a packet.

    Attributes:
        answer: `ANSWERED`, `REFUSED`, `UNREACHABLE` or `SILENT`; empty if another machine is the one that receives it.
        error: The error that the sender received, or an empty string.
        drops: The rules that drop it, by the inode number of their network namespace.
        seen: The inode numbers of the network namespaces in which the packet itself, not its answer, met rules.
        translation: What the node's connection tracking makes of it; None if it does not track it.
        gaps: Why a part of the rules could not be watched.
        is_received: Whether the node has handled the packet as if it had arrived from elsewhere.
    """

    packet: Packet
    answer: str
    error: str = ""
    drops: t.Mapping[int, tuple[Drop, ...]] = {}
    seen: frozenset[int] = frozenset()
    translation: Translation | None = None
    gaps: tuple[str, ...] = ()
    is_received: bool = False

    def drop(
        self, place: Place, *, is_reply: bool, is_routed: bool | None = None, is_bridged: bool = False
    ) -> Drop | None:
        """Return the rule of a namespace that drops the packet, or its answer; None if none does.

        Args:
            is_routed: Whether only rules before or after the routing decision count; None for both.
        """
        return next(
            (
                drop
                for drop in self.drops.get(place.inode, ())
                if drop.is_reply in (is_reply, None)
                and is_routed in (drop.is_routed, None)
                and drop.is_bridged == is_bridged
            ),
            None,
        )


def probe(packet: Packet, sender: Place, watched: t.Iterable[Place], node: Place, timeout: float) -> Evidence:
    """Send a packet, and return what becomes of it.

    Args:
        sender: The network namespace that sends it.
        watched: Those whose rules are traced.
        node: The one whose connection tracking is read.
        timeout: Seconds to wait for an answer.

    Raises:
        CniError: ``IO_FAILURE``: a namespace cannot be entered.
    """
    number = packet.source_port
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(sender.run(lambda: _open(packet)))
            number = number or connection.getsockname()[1]
        except OSError as exc:
            return Evidence(packet, UNREACHABLE, exc.strerror or str(exc))
        packet = packet._replace(source_port=number)
        watches = stack.enter_context(_watch_rules(packet, watched))
        answer, error = _send(connection, packet, timeout)
        packet = packet._replace(source=packet.source or _source_of(connection))
        return _gather(Evidence(packet, answer, error), watches, node)


def receive(packet: Packet, link: Link, watched: t.Iterable[Place], node: Place, timeout: float) -> Evidence:
    """Let the node handle a packet as if it had arrived on a link, and return what becomes of it.

    Its answer, if there is one, goes to the source of the packet.

    Args:
        watched, node, timeout: As for `probe`.

    Raises:
        CniError: ``NOT_AVAILABLE``: the kernel cannot do that, or not on this link; ``IO_FAILURE``.
    """
    packet = packet._replace(source_port=pick_source_port())
    source = t.cast(IpAddress, packet.source)
    content = ip_packet.build(packet.protocol, source, packet.destination, packet.port, packet.source_port)
    with _watch_rules(packet, watched) as watches:
        node.run(lambda: packet_injection.inject(link.ifindex, link.mac, content))
        deadline = time.monotonic() + timeout
        is_over = False
        while not is_over and time.monotonic() < deadline:
            time.sleep(_PAUSE)
            has_news = sum(watch.read() for watch in watches) > 0
            is_over = not has_news and any(watch.is_decided for watch in watches)
        return _gather(Evidence(packet, "", is_received=True), watches, node)


@contextlib.contextmanager
def _watch_rules(packet: Packet, places: t.Iterable[Place]) -> t.Iterator[list[RuleWatch]]:
    flow = packet_trace.TracedFlow(packet.protocol, packet.destination.version, packet.source_port)
    with contextlib.ExitStack() as stack:
        watches = []
        for place in places:
            watches.append(RuleWatch(place, flow))
            stack.callback(watches[-1].close)
        yield watches


def _gather(evidence: Evidence, watches: t.Sequence[RuleWatch], node: Place) -> Evidence:
    """Return evidence with what the rules and the connection tracking of the node show."""
    translation = node.run(lambda: find_translation(evidence.packet))
    for watch in watches:
        watch.read()
    return evidence._replace(
        drops={watch.place.inode: watch.find_drops() for watch in watches},
        seen=frozenset(watch.place.inode for watch in watches if watch.has_seen),
        translation=translation,
        gaps=tuple(watch.gap for watch in watches if watch.gap),
    )


def find_translation(packet: Packet) -> Translation | None:
    """Return what connection tracking makes of a packet in this thread's network namespace; None if it does not track it."""
    if packet.source is None:
        return None
    return conntrack.find(
        conntrack.Flow(packet.protocol, packet.source, packet.destination, packet.source_port, packet.port)
    )


def pick_source_port() -> int:
    """Return a port for a packet, or an identifier for an echo request."""
    return random.SystemRandom().randrange(*_PORTS)


def _open(packet: Packet) -> socket.socket:
    family = socket.AF_INET if packet.destination.version == 4 else socket.AF_INET6
    if packet.protocol == ICMP:
        protocol = socket.IPPROTO_ICMP if packet.destination.version == 4 else socket.IPPROTO_ICMPV6
        connection = socket.socket(family, socket.SOCK_RAW, protocol)
    else:
        kind = socket.SOCK_STREAM if packet.protocol == TCP else socket.SOCK_DGRAM
        connection = socket.socket(family, kind)
    try:
        connection.setblocking(False)
        if packet.source is not None or packet.protocol != ICMP:
            any_address = "0.0.0.0" if packet.destination.version == 4 else "::"
            connection.bind((str(packet.source) if packet.source is not None else any_address, 0))
    except BaseException:
        connection.close()
        raise
    return connection


def _send(connection: socket.socket, packet: Packet, timeout: float) -> tuple[str, str]:
    """Send the packet, and return the answer and the error of the sender."""
    address = (str(packet.destination), packet.port if packet.protocol != ICMP else 0)
    deadline = time.monotonic() + timeout
    try:
        if packet.protocol == TCP:
            number = connection.connect_ex(address)
            if number not in (0, errno.EINPROGRESS):
                raise OSError(number, os.strerror(number))
            if not _is_ready(connection, select.POLLOUT, deadline):
                return SILENT, ""
            number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if number:
                raise OSError(number, os.strerror(number))
            return ANSWERED, ""
        connection.connect(address)
        connection.send(
            icmp.echo_request(packet.destination.version, packet.source_port) if packet.protocol == ICMP else b""
        )
        while _is_ready(connection, select.POLLIN, deadline):
            content = connection.recv(2048)
            if packet.protocol == UDP or icmp.is_echo_reply(content, packet.destination.version, packet.source_port):
                return ANSWERED, ""
        return SILENT, ""
    except OSError as exc:
        return REFUSED if exc.errno in _REFUSALS else UNREACHABLE, exc.strerror or str(exc)


def _is_ready(connection: socket.socket, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(1000 * max(deadline - time.monotonic(), 0)))


def _source_of(connection: socket.socket) -> IpAddress | None:
    with contextlib.suppress(OSError, ValueError):
        address = ipaddress.ip_address(connection.getsockname()[0])
        return None if address.is_unspecified else address
    return None
