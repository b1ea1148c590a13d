# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ping an address, without the program ping."""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import struct
import time
import typing as t

# Family, protocol, type of a request, type of a reply.
_V4 = (socket.AF_INET, socket.IPPROTO_ICMP, 8, 0)
_V6 = (socket.AF_INET6, socket.IPPROTO_ICMPV6, 128, 129)
_PAUSE = 0.2


class Sender(t.NamedTuple):
    """The source of echo requests.

    Attributes:
        ifname: The interface through which link-local addresses are reached.
        address: The source address, which routing rules may match; empty to let the kernel choose.
        device: The device whose routes apply, such as a VRF; empty for those of the namespace.
    """

    ifname: str
    address: str = ""
    device: str = ""


def ping(address: str, sender: Sender, timeout: float) -> bool:
    """Return whether an address answers ICMP echo requests within a time limit.

    A new interface may be silent for a second or two while IPv6 detects duplicate addresses. One more request is sent
    after the time limit, which may have passed while this process was not scheduled.

    Args:
        timeout: Seconds.
    """
    deadline = time.monotonic() + timeout
    is_last = False
    while not is_last:
        is_last = time.monotonic() >= deadline
        try:
            if _exchange(address, sender, deadline):
                return True
        except OSError:  # no route or no source address yet
            time.sleep(_PAUSE)
    return False


def _exchange(address: str, sender: Sender, deadline: float) -> bool:
    version = ipaddress.ip_address(address).version
    family, protocol, dummy, dummy = _find_types(version)
    identifier = os.getpid() & 0xFFFF
    with socket.socket(family, socket.SOCK_RAW, protocol) as connection:
        if sender.device:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, os.fsencode(sender.device))
        if sender.address:
            connection.bind(_socket_address(sender.address, sender.ifname))
        connection.connect(_socket_address(address, sender.ifname))
        connection.send(echo_request(version, identifier))
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        until = min(time.monotonic() + _PAUSE, deadline)
        while poll.poll(1000 * max(until - time.monotonic(), 0)):
            if is_echo_reply(connection.recv(1024), version, identifier):
                return True
    return False


def _socket_address(address: str, ifname: str) -> tuple[str, int] | tuple[str, int, int, int]:
    return (address, 0) if ":" not in address else (address, 0, 0, socket.if_nametoindex(ifname))


def echo_request(version: int, identifier: int) -> bytes:
    """Return an echo request for IP version 4 or 6."""
    kind = _find_types(version)[2]
    body = struct.pack("!HH", identifier, 1)
    # The kernel computes the checksum for IPv6 itself.
    return struct.pack("!BBH", kind, 0, checksum(struct.pack("!BBH", kind, 0, 0) + body)) + body


def checksum(content: bytes) -> int:
    """Return the checksum of the internet protocols (RFC 1071) for an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(content) // 2}H", content))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def is_echo_reply(packet: bytes, version: int, identifier: int) -> bool:
    """Return whether a packet from a raw socket answers the echo request with an identifier."""
    start = 4 * (packet[0] & 15) if version == 4 else 0
    message = packet[start : start + 8]
    is_complete = len(message) == 8 and message[0] == _find_types(version)[3]
    return is_complete and struct.unpack("!H", message[4:6])[0] == identifier


def _find_types(version: int) -> tuple[int, int, int, int]:
    return _V4 if version == 4 else _V6
