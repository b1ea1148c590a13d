# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Trace the packets of one flow through the rules of nf_tables, which iptables uses as well unless it is the legacy one."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import select
import struct
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables

# linux/netfilter/nfnetlink.h, linux/netfilter/nf_tables.h
_GROUP = 9
_MESSAGE = 10 << 8 | 17
_TABLE, _CHAIN, _HANDLE, _TYPE, _VERDICT, _ID, _NETWORK, _TRANSPORT, _OUTGOING, _POLICY = 1, 2, 3, 4, 5, 6, 8, 9, 12, 16
_VERDICT_CODE = 1
_OF_POLICY, _OF_RULE = 1, 3
_DROP = 0
# Before the priority of every other chain, those that defragment packets and track connections included.
_PRIORITY = -401
_START_TIME = 2.0
_PAUSE = 0.005
_SIZE = 64 * 1024
# Messages that one call reads: a container that traces its own packets could send them faster than they are read.
_MOST_READ = 20_000
_PORTS = struct.Struct("!HH")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


class TracedFlow(t.NamedTuple):
    """The packets to trace: those of a protocol with a port or, for ICMP, an identifier at either end.

    Attributes:
        protocol: ``tcp``, ``udp`` or ``icmp``, which stands for ICMPv6 where ``version`` is 6.
        version: 4 or 6.
        number: The port or identifier.
    """

    protocol: str
    version: int
    number: int


class Passage(t.NamedTuple):
    """A packet in a chain.

    Attributes:
        packet: The kernel's number of the packet.
        source, destination: None where the kernel has not repeated them.
        is_reply: Whether the packet goes back to the sender; None as above.
        is_routed: Whether the kernel already knew by which link the packet leaves.
        handle: The rule's handle; 0 for the policy of the chain.
        is_dropped: Whether the rule or policy drops it. Rules that reject do, too.
    """

    packet: int
    family: str
    table: str
    chain: str
    source: IpAddress | None
    destination: IpAddress | None
    is_reply: bool | None
    is_routed: bool
    handle: int
    is_dropped: bool


class PacketTrace:
    """Traces a flow in the network namespace of the thread that makes it.

    The rules that mark the packets are in a table that belongs to a process of ``nft``, so the kernel removes them when that
    ends, also when this process is killed.

    Attributes:
        is_incomplete: Whether the kernel has dropped a part of the trace.
    """

    def __init__(self, flow: TracedFlow) -> None:
        """
        Raises:
            CniError: ``NOT_AVAILABLE``: ``nft`` is not installed, or it or the kernel is too old; ``IO_FAILURE``.
        """
        self._flow = flow
        path = program.find("nft")
        if path is None:
            raise CniError(Code.NOT_AVAILABLE, "nft is not installed", "install the package nftables")
        self._name = f"cni_node_trace_{os.getpid()}_{flow.number}"
        self.is_incomplete = False
        with io_errors("listen to", "the kernel's trace of packets"):
            self._socket = netlink.subscribe(netlink.NETFILTER, (_GROUP,))
        try:
            self._process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                [path, "-i"],
                # It would keep a history of the commands there.
                env={**os.environ, "HOME": os.devnull},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as exc:
            self._socket.close()
            raise io_error("run", path, exc) from exc
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the rules that mark the packets."""
        with self._process:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._process.communicate(timeout=_START_TIME)
            self._process.kill()
        self._socket.close()

    def read(self) -> list[Passage]:
        """Return the packets that have passed chains since the last call."""
        passages: list[Passage] = []
        for dummy in range(_MOST_READ):
            try:
                answer, sender = self._socket.recvfrom(_SIZE)
            except BlockingIOError:
                return passages
            except OSError:  # ENOBUFS: the kernel has dropped some
                self.is_incomplete = True
                continue
            if sender[0] == 0:
                passages += [
                    passage
                    for (kind, dummy), dummy, dummy, place in netlink.messages(answer)
                    for passage in [decode(self._flow, *place) if kind == _MESSAGE else None]
                    if passage is not None
                ]
        self.is_incomplete = True
        return passages

    def _start(self) -> None:
        commands, complaints = (t.cast("t.IO[bytes]", each) for each in (self._process.stdin, self._process.stderr))
        with contextlib.suppress(OSError):
            commands.write(self._rules().encode())
            commands.flush()
        deadline = time.monotonic() + _START_TIME
        while not any(chain.table == self._name and chain.family == "inet" for chain in nf_tables.list_chains()):
            has_failed = select.select([complaints], [], [], _PAUSE)[0]
            if has_failed or time.monotonic() > deadline:
                printed = os.read(complaints.fileno(), _SIZE).decode("utf-8", "replace") if has_failed else ""
                why = printed.strip().partition("\n")[0]
                raise CniError(
                    Code.NOT_AVAILABLE,
                    "nft or the kernel cannot trace packets in a table with an owner",
                    f"expected: nft 1.0 and Linux 5.12, or later{f'; {why}' if why else ''}",
                )

    def _rules(self) -> str:
        protocol, number = self._flow.protocol, self._flow.number
        if protocol == "icmp":
            of_flow = [f"{'icmp' if self._flow.version == 4 else 'icmpv6'} id {number}"]
        else:
            of_flow = [f"meta l4proto {protocol} th {end} {number}" for end in ("sport", "dport")]
        kind = "ip" if self._flow.version == 4 else "ip6"

        def chain(hook: str, condition: str = "") -> str:
            marks = "; ".join(f"{condition}{rule} meta nftrace set 1" for rule in of_flow)
            return f"chain {hook} {{ type filter hook {hook} priority {_PRIORITY}; {marks}; }}"

        return (
            f"add table bridge {self._name} {{ flags owner; {chain('prerouting', f'ether type {kind} ')}; }}\n"
            f"add table inet {self._name} {{ flags owner; {chain('prerouting')}; {chain('output')}; }}\n"
        )


def decode(flow: TracedFlow, answer: bytes, start: int, end: int) -> Passage | None:
    """Return what a message of the trace reports; None for a family without rules of a packet.

    Raises:
        OSError: The message is malformed.
    """
    family = nf_tables.FAMILIES.get(answer[start], "")
    places = netlink.attributes(answer, start + netlink.NETFILTER_HEADER.size, end)
    if not family or not {_TABLE, _CHAIN, _TYPE, _ID} <= places.keys():
        return None

    def integer(kind: int) -> int:
        return int.from_bytes(answer[slice(*places[kind])], "big") if kind in places else 0

    source, destination = _addresses(answer[slice(*places[_NETWORK])]) if _NETWORK in places else (None, None)
    kind, verdict = integer(_TYPE), -1
    if _VERDICT in places:
        code = netlink.attributes(answer, *places[_VERDICT]).get(_VERDICT_CODE)
        verdict = int.from_bytes(answer[slice(*code)], "big", signed=True) if code else -1
    is_dropped = (kind == _OF_RULE and verdict == _DROP) or (
        kind == _OF_POLICY and _POLICY in places and integer(_POLICY) == _DROP
    )
    return Passage(
        packet=integer(_ID),
        family=family,
        table=netlink.text(answer, places[_TABLE]),
        chain=netlink.text(answer, places[_CHAIN]),
        source=source,
        destination=destination,
        is_reply=_is_reply(flow, answer[slice(*places[_TRANSPORT])]) if _TRANSPORT in places else None,
        is_routed=_OUTGOING in places,
        handle=integer(_HANDLE) if kind == _OF_RULE else 0,
        is_dropped=is_dropped,
    )


def _is_reply(flow: TracedFlow, header: bytes) -> bool | None:
    if len(header) < _PORTS.size:
        return None
    if flow.protocol == "icmp":
        return header[0] not in (8, 128)
    return bool(_PORTS.unpack_from(header)[1] == flow.number)


def is_readable(*names: str) -> bool:
    """Return whether nft reads each name as one word. A container can give its own tables and chains names with commands in them."""
    return all(map(_NAME.fullmatch, names))


def describe_rule(family: str, table: str, chain: str, handle: int) -> str:
    """Return a rule as nft prints it, or the policy of a chain for handle 0.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    if not handle:
        return "the policy of the chain"
    if not is_readable(table, chain):
        return f"the rule with handle {handle}"
    listing = program.output([program.find("nft") or "nft", "-a", "list", "chain", family, table, chain])
    ending = f" # handle {handle}"
    rule = next((line for line in listing.splitlines() if line.endswith(ending)), "")
    return printable.line(rule[: -len(ending)].strip()) or f"the rule with handle {handle}"


def _addresses(header: bytes) -> tuple[IpAddress | None, IpAddress | None]:
    if header[:1] and header[0] >> 4 == 4 and len(header) >= 20:
        return ipaddress.ip_address(header[12:16]), ipaddress.ip_address(header[16:20])
    if header[:1] and header[0] >> 4 == 6 and len(header) >= 40:
        return ipaddress.ip_address(header[8:24]), ipaddress.ip_address(header[24:40])
    return None, None
