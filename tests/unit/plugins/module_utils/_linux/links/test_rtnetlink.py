# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replies of the kernel, malformed and unrelated ones included. tests/integration reads real replies."""

from __future__ import annotations

import contextlib
import socket
import struct
import typing as t
import unittest.mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.tests.support.error_of import error_of

KERNEL, PORT = 0, 4711
NEWLINK, ERROR, DONE, OVERRUN = 16, 2, 3, 4


class Datagram(t.NamedTuple):
    content: bytes
    sender: int = KERNEL
    flags: int = 0


class Socket:
    """A socket that receives the given datagrams in order, and then no more."""

    def __init__(self, datagrams: t.Iterable[Datagram]) -> None:
        self._datagrams = iter(datagrams)

    def __call__(self, *dummy: object) -> Socket:
        return self

    def setsockopt(self, *dummy: object) -> None:
        pass

    connect = send = close = setsockopt

    def getsockname(self) -> tuple[int, int]:
        return PORT, 0

    def recvmsg(self, size: int) -> tuple[bytes, list[t.Any], int, tuple[int, int]]:
        for datagram in self._datagrams:
            return datagram.content[:size], [], datagram.flags, (datagram.sender, 0)
        raise BlockingIOError(11, "Resource temporarily unavailable")


def message(kind: int, body: bytes, sequence: int = 1, port: int = PORT) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, sequence, port) + body + bytes(-len(body) % 4)


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def link(name: bytes, **keys: int) -> bytes:
    return message(NEWLINK, bytes(16) + attribute(3, name + b"\0"), **keys)


def request_link(*datagrams: Datagram) -> Link | None:
    with unittest.mock.patch.object(socket, "socket", Socket(datagrams)):
        return rtnetlink.link("eth0")


RIGHT = Datagram(link(b"eth0"))


@pytest.mark.parametrize(
    "stray",
    [
        Datagram(link(b"evil"), sender=99),
        Datagram(b"", sender=99),
        Datagram(bytes(16), sender=99),
        Datagram(link(b"evil", sequence=7)),
        Datagram(link(b"evil", port=99)),
    ],
)
def test_messages_from_other_senders_are_ignored(stray: Datagram) -> None:
    answer = request_link(stray, RIGHT)
    assert answer is not None
    assert answer.name == "eth0"


# The mode of a macvlan has four bytes, that of an ipvlan two.
MODES = {
    "private": (b"macvlan", "=I", 1),
    "l3s": (b"ipvlan", "=H", 2),
    "32": (b"macvlan", "=I", 32),
    "": (b"veth", "=I", 1),
}


@pytest.mark.parametrize(("mode", "sent"), MODES.items(), ids=MODES)
def test_the_mode_of_a_link_is_read(mode: str, sent: tuple[bytes, str, int]) -> None:
    kind, form, number = sent
    data = attribute(2, attribute(1, struct.pack(form, number)))
    info = attribute(18, attribute(1, kind + b"\0") + data)
    answer = request_link(Datagram(message(NEWLINK, bytes(16) + attribute(3, b"eth0\0") + info)))
    assert answer is not None
    assert answer.mode == mode


BROKEN = {
    "nothing": (Datagram(b""), "cannot be read"),
    "length of 0": (Datagram(bytes(16)), "cannot be read"),
    "length beyond the end": (Datagram(struct.pack("=IHHII", 99, NEWLINK, 0, 1, PORT)), "cannot be read"),
    "half a header": (Datagram(bytes(9)), "cannot be read"),
    "no name": (Datagram(message(NEWLINK, bytes(16))), "cannot be read"),
    "attribute of length 0": (Datagram(message(NEWLINK, bytes(20))), "cannot be read"),
    "attribute beyond the end": (Datagram(message(NEWLINK, bytes(16) + b"\xff\0\x03\0")), "cannot be read"),
    "cut off": (Datagram(link(b"eth0"), flags=socket.MSG_TRUNC), "too long"),
    "a part lost": (Datagram(message(OVERRUN, b"")), "lost"),
    "refusal": (Datagram(message(ERROR, struct.pack("=i", -1))), "Operation not permitted"),
    "end": (Datagram(message(DONE, bytes(4))), "cannot be read"),
}


@pytest.mark.parametrize(("datagram", "message"), BROKEN.values(), ids=BROKEN)
def test_an_incomplete_answer_is_an_error(datagram: Datagram, message: str) -> None:
    error = error_of(request_link, datagram, RIGHT)
    assert (error.code, error.msg.startswith("cannot get the link eth0: ")) == (Code.IO_FAILURE, True)
    assert message in error.msg


def test_a_kernel_that_does_not_answer_is_an_error() -> None:
    assert error_of(request_link).msg == "cannot get the link eth0: the kernel has not answered within 30 s"


def test_unrelated_messages_do_not_block_for_ever() -> None:
    assert "too many unrelated messages" in error_of(request_link, *[Datagram(b"x", sender=99)] * 2000).msg


def list_links(*datagrams: Datagram) -> rtnetlink.LinkTable:
    answer = b"".join(datagram.content for datagram in datagrams)
    done = Datagram(message(DONE, bytes(4)))
    with unittest.mock.patch.object(socket, "socket", Socket([Datagram(answer), done])):
        return rtnetlink.link_table()


def index(number: int) -> bytes:
    return struct.pack("=BxHiII", 0, 0, number, 0, 0)


TABLES = {
    "name first": attribute(3, b"eth0\0") + attribute(4, bytes([220, 5, 0, 0])),
    "name last": attribute(4, bytes([220, 5, 0, 0])) + attribute(3, b"eth0\0"),
}


@pytest.mark.parametrize("attributes", TABLES.values(), ids=TABLES)
def test_a_link_is_found_in_a_list_by_its_name_and_its_index(attributes: bytes) -> None:
    other = message(NEWLINK, index(8) + attribute(3, b"eth1\0"))
    links = list_links(Datagram(message(NEWLINK, index(7) + attributes)), Datagram(other))
    for link in (links.by_name("eth0"), links.by_index(7)):
        assert link is not None
        assert (link.ifindex, link.name, link.mtu) == (7, "eth0", 1500)
    assert (links.by_name("eth2"), links.by_index(9), links.by_index(0)) == (None, None, None)


def test_a_link_that_cannot_be_decoded_is_an_error_where_it_is_needed() -> None:
    broken = message(NEWLINK, index(7) + attribute(3, b"eth0\0") + b"\xff\0\x04\0")
    links = list_links(Datagram(broken), Datagram(message(NEWLINK, index(8) + attribute(3, b"eth1\0"))))
    assert links.by_name("eth1") is not None
    error = error_of(links.by_name, "eth0")
    assert error.msg == "cannot get the link number 7: the kernel's answer cannot be read"


VALUES = st.binary(max_size=24)
BODIES = VALUES | st.lists(st.builds(attribute, st.integers(0, 40), VALUES), max_size=5).map(
    lambda all_of_it: bytes(16) + b"".join(all_of_it)
)
MESSAGES = st.builds(message, st.integers(0, 30), BODIES, st.integers(0, 4), st.sampled_from([PORT, 0]))
DATAGRAMS = st.builds(
    Datagram,
    VALUES | st.lists(MESSAGES, max_size=4).map(b"".join),
    st.sampled_from([KERNEL, KERNEL, KERNEL, 99]),
    st.sampled_from([0, 0, 0, socket.MSG_TRUNC]),
)


@given(st.lists(DATAGRAMS, max_size=6))
def test_any_bytes_are_an_answer_or_an_error(datagrams: list[Datagram]) -> None:
    for question in (rtnetlink.snapshot, lambda: rtnetlink.link("eth0"), lambda: rtnetlink.link_table().by_index(0)):
        with unittest.mock.patch.object(socket, "socket", Socket(datagrams)), contextlib.suppress(CniError):
            question()


@pytest.mark.parametrize(("flags", "is_route"), [(0, True), (0x200, False)], ids=["configured", "learnt from ICMP"])
def test_a_route_learnt_from_an_icmp_message_is_left_out(flags: int, is_route: bool) -> None:
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, rtnetlink.MAIN_TABLE, 0, 0, 1, flags)
    answer = header + struct.pack("=HH4s", 8, 1, bytes([10, 1, 0, 2])) + struct.pack("=HHI", 8, 4, 7)
    route = rtnetlink.decode_route(answer, 0, len(answer))
    assert (route is not None) is is_route
    assert route is None or (str(route.destination), route.link) == ("10.1.0.2/32", 7)
