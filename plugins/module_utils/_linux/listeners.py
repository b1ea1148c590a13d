# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The sockets of this thread's network namespace that listen on a port."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import io_errors
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress

_DIRECTORY = "/proc/thread-self/net"
# States of net/tcp_states.h in the form of the files. An unconnected UDP socket is "closed".
_LISTEN, _CLOSE = "0A", "07"
_SCTP_LISTEN = "10"
_WORD = struct.Struct("=I")


class Listener(t.NamedTuple):
    """A socket that listens on a port.

    Attributes:
        address: Unspecified for all addresses of its family. The unspecified IPv6 address covers IPv4 too unless the
            socket is IPv6-only, which these files do not show.
        inode: The inode number of the socket, by which its process is found.
    """

    protocol: str
    address: IpAddress
    port: int
    inode: str


def listeners(directory: str = _DIRECTORY) -> list[Listener]:
    """Return the listening sockets of TCP and SCTP, and those of UDP that are not connected.

    Args:
        directory: The directory in which the kernel lists the sockets of a network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    sockets: list[Listener] = []
    for family in ("", "6"):
        sockets += _tcp(f"{directory}/tcp{family}")
        sockets += _udp(f"{directory}/udp{family}")
    return [*sockets, *_sctp(f"{directory}/sctp/eps")]


def find_process(listener: Listener) -> str:
    """Return the name and id of a process that has the socket open, or an empty string if none is visible."""
    target = f"socket:[{listener.inode}]"
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        if target in _open_files(pid):
            return f"{_name(pid)} (process {pid})"
    return ""


def _tcp(path: str) -> t.Iterator[Listener]:
    """Yield the listening sockets. Stop at the first connection: connections are listed last and may be many."""
    for words in _rows(path):
        if words[3] != _LISTEN:
            return
        yield _listener("tcp", words)


def _udp(path: str) -> t.Iterator[Listener]:
    for words in _rows(path):
        if words[3] == _CLOSE:
            yield _listener("udp", words)


def _sctp(path: str) -> t.Iterator[Listener]:
    for words in _rows(path):
        if words[3] == _SCTP_LISTEN:
            for address in words[8:]:
                yield Listener("sctp", _unmap(ipaddress.ip_address(address.lstrip("*"))), int(words[5]), words[7])


def _listener(protocol: str, words: t.Sequence[str]) -> Listener:
    address, dummy, port = words[1].partition(":")
    return Listener(protocol, _address(address), int(port, 16), words[9])


def _address(digits: str) -> IpAddress:
    """Return the address in a text of 32-bit words, each in the byte order of the machine."""
    words = (int(digits[start : start + 8], 16) for start in range(0, len(digits), 8))
    return _unmap(ipaddress.ip_address(b"".join(map(_WORD.pack, words))))


def _unmap(address: IpAddress) -> IpAddress:
    return (address.version == 6 and address.ipv4_mapped) or address


def _rows(path: str) -> t.Iterator[list[str]]:
    # A kernel that lacks the protocol has no such file.
    with io_errors("read", path), contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as stream:
        next(stream, None)
        for line in stream:
            yield line.split()


def _open_files(pid: int) -> set[str]:
    directory = f"/proc/{pid}/fd"
    targets = set()
    try:
        for name in os.listdir(directory):
            targets.add(os.readlink(f"{directory}/{name}"))
    except OSError:  # it has ended or closed a file, or belongs to another user
        pass
    return targets


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            return printable.line(stream.read().rstrip("\n"))
    except OSError:
        return "a process"
