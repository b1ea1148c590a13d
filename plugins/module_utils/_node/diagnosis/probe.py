# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Send one packet, and collect what the kernel reports of it: the answer, its way through rules, and its translation."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import random
import re
import select
import socket
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux import icmp, program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import conntrack, iptables, packet_trace
from ansible_collections.cni.node.plugins.module_utils._linux.rules.conntrack import Translation
from ansible_collections.cni.node.plugins.module_utils._linux.rules.packet_trace import PacketTrace, Passage
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import ICMP, TCP, UDP, Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place

ANSWERED, REFUSED, UNREACHABLE, SILENT = ANSWERS = ("answered", "refused", "unreachable", "silent")

_REFUSALS = (errno.ECONNREFUSED, errno.ECONNRESET)
# The chains of the legacy iptables before routing, and those of packets that are already routed.
_EARLY_CHAINS = ("PREROUTING",)
_LEGACY = ("iptables-legacy-save", "ip6tables-legacy-save")
_COUNTED_RULE = re.compile(r"\[(\d+):\d+\] -A (\S+) (.*-j (?:DROP|REJECT).*)")
_POLICY = re.compile(r":(\S+) DROP \[(\d+):\d+\]")


class Drop(t.NamedTuple):
    """A rule that drops the packet or its answer.

    Attributes:
        text: The rule and its place.
        command: The command that removes the rule, or an empty string.
        is_reply: None where both are possible.
        is_routed: Whether the rule comes after the decision by which link the packet leaves.
        is_bridged: Whether the rule belongs to a bridge.
        is_firewalld: Whether the rule is in firewalld's table.
    """

    text: str
    command: str
    is_reply: bool | None
    is_routed: bool
    is_bridged: bool = False
    is_firewalld: bool = False


class Evidence(t.NamedTuple):
    """The fate of a packet.

    Attributes:
        answer: `ANSWERED`, `REFUSED`, `UNREACHABLE` or `SILENT`.
        error: The error that the sender received, or an empty string.
        drops: The rules that drop it, by the inode number of their network namespace.
        seen: The inode numbers of the network namespaces in which the packet itself, not its answer, met rules.
        translation: What the node's connection tracking makes of it; None if it does not track it.
        gaps: Why a part of the rules could not be watched.
    """

    packet: Packet
    answer: str
    error: str = ""
    drops: t.Mapping[int, tuple[Drop, ...]] = {}
    seen: frozenset[int] = frozenset()
    translation: Translation | None = None
    gaps: tuple[str, ...] = ()

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


class _Watch:
    """Watches the rules of a network namespace while a packet passes."""

    def __init__(self, place: Place, flow: packet_trace.TracedFlow) -> None:
        self.place, self.gap = place, ""
        self._version = flow.version
        self._trace: PacketTrace | None = None
        try:
            self._trace = place.run(lambda: PacketTrace(flow))
        except CniError as exc:
            self.gap = f"the rules in {place.name} are not traced: {exc}"
        self._counters = self._read_counters()

    def close(self) -> None:
        if self._trace is not None:
            self._trace.close()

    def finish(self) -> tuple[list[Passage], tuple[Drop, ...]]:
        passages = self._trace.read() if self._trace is not None else []
        if self._trace is not None and self._trace.is_incomplete:
            self.gap = f"the kernel has dropped a part of the trace of the rules in {self.place.name}"
        drops = dict.fromkeys(self._describe(passage, passages) for passage in passages if passage.is_dropped)
        counters = self._read_counters()
        changed = [rule for rule, count in counters.items() if count > self._counters.get(rule, count)]
        return passages, (*drops, *(_legacy_drop(self.place, rule) for rule in changed))

    def _describe(self, passage: Passage, passages: t.Sequence[Passage]) -> Drop:
        where = (passage.family, passage.table, passage.chain)
        try:
            rule = self.place.run(lambda: packet_trace.describe_rule(*where, passage.handle))
        except CniError:
            rule = f"the rule with handle {passage.handle}"
        # The kernel repeats the headers for each chain that it begins, but not for each rule.
        earlier = passages[: passages.index(passage) + 1]
        with_headers = [each for each in earlier if each.packet == passage.packet and each.is_reply is not None]
        last = with_headers[-1] if with_headers else passage
        text = f"{rule} in chain {passage.chain} of table {passage.family} {passage.table}"
        is_firewalld = passage.table == "firewalld"
        command = ""
        if passage.handle and not is_firewalld and packet_trace.is_readable(passage.table, passage.chain):
            words = ("nft", "delete", "rule", *where, "handle", str(passage.handle))
            command = self.place.command(*words)
        return Drop(
            printable.line(text), command, last.is_reply, last.is_routed, passage.family == "bridge", is_firewalld
        )

    def _read_counters(self) -> dict[tuple[str, ...], int]:
        """Return how many packets each rule and policy of the legacy iptables has dropped."""
        name = _LEGACY[self._version == 6]
        path = program.find(name)
        names = f"/proc/thread-self/net/{'ip' if self._version == 4 else 'ip6'}_tables_names"
        if path is None or not self.place.run(lambda: _has_content(names)):
            return {}
        try:
            listing = self.place.run(lambda: program.output([str(path), "-c"]))
        except CniError as exc:
            self.gap = self.gap or f"the legacy rules in {self.place.name} are not counted: {exc}"
            return {}
        counters: dict[tuple[str, ...], int] = {}
        table = ""
        for line in listing.splitlines():
            rule, policy = _COUNTED_RULE.match(line), _POLICY.match(line)
            table = line[1:] if line.startswith("*") else table
            if rule:
                counters[name, table, rule[2], rule[3]] = int(rule[1]) + counters.get(
                    (name, table, rule[2], rule[3]), 0
                )
            elif policy:
                counters[name, table, policy[1], ""] = int(policy[2])
        return counters


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
        connection = None
        try:
            connection = stack.enter_context(sender.run(lambda: _open(packet)))
            number = number or connection.getsockname()[1]
        except OSError as exc:
            return Evidence(packet, UNREACHABLE, exc.strerror or str(exc))
        packet = packet._replace(source_port=number)
        watches = []
        for place in watched:
            watches.append(_Watch(place, packet_trace.TracedFlow(packet.protocol, packet.destination.version, number)))
            stack.callback(watches[-1].close)
        answer, error = _send(connection, packet, timeout)
        source = packet.source or _source_of(connection)
        packet = packet._replace(source=source)
        translation = node.run(lambda: find_translation(packet))
        finished = {watch.place.inode: watch.finish() for watch in watches}
        return Evidence(
            packet,
            answer,
            error,
            {inode: drops for inode, (dummy, drops) in finished.items()},
            frozenset(
                inode
                for inode, (passages, dummy) in finished.items()
                if any(each.is_reply is False for each in passages)
            ),
            translation,
            tuple(watch.gap for watch in watches if watch.gap),
        )


def find_translation(packet: Packet) -> Translation | None:
    """Return what connection tracking makes of a packet in this thread's network namespace; None if it does not track it."""
    if packet.source is None:
        return None
    return conntrack.find(
        conntrack.Flow(packet.protocol, packet.source, packet.destination, packet.source_port, packet.port)
    )


def pick_identifier() -> int:
    """Return an identifier for an echo request."""
    return random.SystemRandom().randrange(1, 0xFFFF)


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


def _has_content(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return bool(stream.read(1))
    except OSError:  # the kernel has no such tables
        return False


def _legacy_drop(place: Place, rule: tuple[str, ...]) -> Drop:
    name, table, chain, text = rule
    tool = name[: -len("-save")]
    what = f"-A {chain} {text}" if text else f"the policy of chain {chain}"
    # What iptables prints is not quoted for a shell.
    change = ("-D", chain, *iptables.words(text)) if text else ("-P", chain, "ACCEPT")
    command = place.command(tool, "-t", table, *change)
    return Drop(
        printable.line(f"{what} in table {table} of {tool}"), printable.line(command), None, chain not in _EARLY_CHAINS
    )
