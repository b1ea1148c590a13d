# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Netlink requests to the kernel. Only complete replies that come from the kernel are accepted."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import typing as t

# linux/netlink.h
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_DUMP, _NLM_F_DUMP_INTR = 0x1, 0x4, 0x300, 0x10
_NLMSG_NOOP, _NLMSG_ERROR, _NLMSG_DONE, _NLMSG_OVERRUN = 1, 2, 3, 4
SOL_NETLINK = 270
_NETLINK_ADD_MEMBERSHIP, _NETLINK_GET_STRICT_CHK = 1, 12
# asm-generic/socket.h: like SO_RCVBUF, but beyond the limit for other users.
_SO_RCVBUFFORCE = 33
# Bytes of kernel memory, used only while some thousand notifications wait. If there are more, the kernel drops the rest and says so.
_NOTIFICATIONS_SIZE = 4 * 1024 * 1024
_ATTRIBUTE_TYPE = 0x3FFF
_HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
# struct nfgenmsg of linux/netfilter/nfnetlink.h, and its protocol.
NETFILTER = 12
NETFILTER_HEADER = struct.Struct("=BBH")
_NUMBER = struct.Struct("=I")
_SIGNED = struct.Struct("=i")
_TIME = struct.Struct("@ll")

# An operation with one of the enumeration's members takes as long as a system call.
_MSG_TRUNC = int(socket.MSG_TRUNC)
# The kernel fills no more than 32 KiB at a time.
_ANSWER_SIZE = 64 * 1024
# A dump is repeated if something changed meanwhile; on a busy node the last one is used.
_ATTEMPTS = 3
# Seconds in which the kernel replies even on the busiest machine.
_TIMEOUT = 30
# Number of unrelated datagrams after which a request fails.
_STRAYS = 1000

T = t.TypeVar("T")
# Bytes with the start and the end of a part.
Place = tuple[bytes, int, int]


class Connection:
    """A socket of this thread's network namespace, for one request at a time.

    Args:
        protocol: The part of the kernel that replies.
        strict: Whether the kernel filters what it lists by the fields of a request; kernels before 4.20 list everything.
    """

    def __init__(self, protocol: int = socket.NETLINK_ROUTE, *, strict: bool = False) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self._sequence = 0
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIME.pack(_TIMEOUT, 0))
            if strict:
                with contextlib.suppress(OSError):
                    self._socket.setsockopt(SOL_NETLINK, _NETLINK_GET_STRICT_CHK, 1)
            # Other processes cannot send to a socket that is connected to the kernel.
            self._socket.connect((0, 0))
            self._port = self._socket.getsockname()[0]
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *dummy: object) -> None:
        self._socket.close()

    def get(self, kind: int, body: bytes) -> Place:
        """Return the body of the single message of a reply.

        Raises:
            OSError: The kernel refuses, does not reply, or sends an invalid reply.
        """
        self._send(kind, 0, body)
        for dummy, place in self._answers():
            return place
        raise OSError(errno.EBADMSG, "the kernel's answer is empty")

    def change(self, kind: int, body: bytes, flags: int = 0) -> None:
        """Send a request that changes something and wait for its acknowledgement.

        Args:
            flags: Further flags of the request.

        Raises:
            OSError: As `get`.
        """
        self._send(kind, _NLM_F_ACK | flags, body)
        for dummy in self._answers():
            pass

    def change_all(self, requests: t.Sequence[tuple[int, bytes, int]]) -> list[OSError | None]:
        """Send several requests, each as for `change`, at once, and return the error of each.

        The kernel carries them out in their order, also after one that fails.

        Raises:
            OSError: The kernel does not reply, or sends an invalid reply.
        """
        first = self._sequence + 1
        content = b""
        for kind, body, flags in requests:
            self._sequence += 1
            length = _HEADER.size + len(body)
            content += _HEADER.pack(length, kind, _NLM_F_REQUEST | _NLM_F_ACK | flags, self._sequence, 0) + body
        self._socket.send(content)
        errors: dict[int, OSError | None] = {}
        for (reply, dummy), sequence, place in self._replies():
            if reply == _NLMSG_ERROR and first <= sequence <= self._sequence:
                errors[sequence] = _find_error(place)
            if len(errors) == len(requests):
                break
        return [errors[sequence] for sequence in range(first, self._sequence + 1)]

    def dump(self, kind: int, body: bytes) -> list[Place]:
        """Return the bodies of all messages of a reply.

        Raises:
            OSError: As `get`.
        """
        for _attempt in range(_ATTEMPTS):
            self._send(kind, _NLM_F_DUMP, body)
            answers = list(self._answers())
            if not any(flags & _NLM_F_DUMP_INTR for flags, dummy in answers):
                break
        return [place for dummy, place in answers if place[0]]

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        length = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(length, kind, _NLM_F_REQUEST | flags, self._sequence, 0) + body)

    def _answers(self) -> t.Iterator[tuple[int, Place]]:
        """Yield flags and body of each message; the last one has an empty body."""
        for kind, sequence, place in self._replies():
            if sequence != self._sequence:
                continue
            if kind[0] in (_NLMSG_ERROR, _NLMSG_DONE):
                error = _find_error(place)
                if error is not None:
                    raise error
                yield kind[1], (b"", 0, 0)
                return
            if kind[0] == _NLMSG_OVERRUN:
                raise OSError(errno.ENOBUFS, "a part of the kernel's answer is lost")
            if kind[0] != _NLMSG_NOOP:
                yield kind[1], place

    def _replies(self) -> t.Iterator[tuple[tuple[int, int], int, Place]]:
        """Yield type and flags, sequence number and body of each message to this socket, as long as the kernel sends some."""
        strays = 0
        while strays < _STRAYS:
            answer, dummy, flags, sender = self._receive()
            if sender[0] != 0:
                strays += 1
                continue
            if flags & _MSG_TRUNC:
                raise OSError(errno.EMSGSIZE, "the kernel's answer is too long")
            for kind, sequence, port, place in messages(answer):
                if port == self._port and 0 < sequence <= self._sequence:
                    strays += sequence != self._sequence
                    yield kind, sequence, place
                else:
                    strays += 1
        raise OSError(errno.EBADMSG, "too many unrelated messages instead of the kernel's answer")

    def _receive(self) -> tuple[bytes, t.Any, int, t.Any]:
        try:
            return self._socket.recvmsg(_ANSWER_SIZE)
        except BlockingIOError as exc:
            raise OSError(errno.ETIMEDOUT, f"the kernel has not answered within {_TIMEOUT} s") from exc


def subscribe(protocol: int, groups: t.Iterable[int]) -> socket.socket:
    """Return a socket that receives, without blocking, what the kernel tells groups of this thread's network namespace.

    Args:
        groups: Only the first one is required, because older kernels lack some.

    Raises:
        OSError: The kernel does not have the protocol or the first group.
    """
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _NOTIFICATIONS_SIZE)
        made.bind((0, 0))
        for position, group in enumerate(groups):
            with contextlib.suppress(OSError) if position else contextlib.nullcontext():
                made.setsockopt(SOL_NETLINK, _NETLINK_ADD_MEMBERSHIP, group)
    except OSError:
        made.close()
        raise
    return made


def messages(answer: bytes) -> t.Iterator[tuple[tuple[int, int], int, int, Place]]:
    """Yield type and flags, sequence number, port and body of each message.

    Raises:
        OSError: The messages are malformed.
    """
    start = 0
    while start < len(answer) or not answer:
        if len(answer) - start < _HEADER.size:
            raise _decode_error()
        length, kind, flags, sequence, port = _HEADER.unpack_from(answer, start)
        if not _HEADER.size <= length <= len(answer) - start:
            raise _decode_error()
        yield (kind, flags), sequence, port, (answer, start + _HEADER.size, start + length)
        start += (length + 3) & ~3


def attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute with a value, padded to a multiple of four bytes."""
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(answer: bytes, start: int, end: int) -> dict[int, tuple[int, int]]:
    """Return the start and the end of each attribute's value, by type; the last one counts where a type is repeated.

    Raises:
        OSError: The attributes are malformed.
    """
    return dict(_attributes(answer, start, end))


def find_all(answer: bytes, start: int, end: int, wanted: int) -> t.Iterator[tuple[int, int]]:
    """Return the start and the end of the value of each attribute of one type, which may be there more than once.

    Raises:
        OSError: The attributes are malformed.
    """
    return (place for kind, place in _attributes(answer, start, end) if kind == wanted)


def _attributes(answer: bytes, start: int, end: int) -> list[tuple[int, tuple[int, int]]]:
    # The kernel has about fifty attributes for a link, so names are local and nothing is called.
    unpack, size, found = ATTRIBUTE.unpack_from, ATTRIBUTE.size, []
    last = end - size
    while start <= last:
        length, kind = unpack(answer, start)
        value, start = start + size, start + length
        if length < size or start > end:
            raise _decode_error()
        found.append((kind & _ATTRIBUTE_TYPE, (value, start)))
        start += -length & 3
    if start < end:
        raise _decode_error()
    return found


def list_entries(
    connection: Connection, kind: int, body: bytes, decode: t.Callable[[bytes, int, int], T | None]
) -> tuple[T, ...]:
    """Return what the kernel lists, without the entries for which ``decode`` returns None.

    Raises:
        OSError: As `Connection.dump`.
    """
    decoded = (decode(*place) for place in connection.dump(kind, body))
    return tuple(entry for entry in decoded if entry is not None)


def number(answer: bytes, places: t.Mapping[int, tuple[int, int]], kind: int) -> int:
    """Return an attribute of four bytes, or 0 without it."""
    return int(_NUMBER.unpack(answer[slice(*places[kind])])[0]) if kind in places else 0


def text(answer: bytes, place: tuple[int, int]) -> str:
    return answer[slice(*place)].rstrip(b"\0").decode("utf-8", "surrogateescape")


def _find_error(place: Place) -> OSError | None:
    answer, start, end = place
    number = -_SIGNED.unpack_from(answer, start)[0] if end - start >= _SIGNED.size else 0
    return OSError(number, os.strerror(number) if 0 < number < 4096 else f"error {number}") if number else None


def _decode_error() -> OSError:
    return OSError(errno.EBADMSG, "the kernel's answer cannot be read")
