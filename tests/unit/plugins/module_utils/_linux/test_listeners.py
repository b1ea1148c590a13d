# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Listening sockets, parsed from the kernel's files."""

from __future__ import annotations

import ipaddress
import os
import pathlib
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import listeners


def open_socket(kind: int, address: str, *, dual: bool = False) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not dual)
    made.bind((address, 0))
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def find_socket(opened: socket.socket) -> list[tuple[str, str]]:
    """Return the protocol and the address under which the kernel lists a socket."""
    inode = str(os.fstat(opened.fileno()).st_ino)
    matches = [listener for listener in listeners.listeners() if listener.inode == inode]
    assert {listener.port for listener in matches} <= {opened.getsockname()[1]}
    return [(listener.protocol, str(listener.address)) for listener in matches]


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        (socket.SOCK_STREAM, "127.0.0.1", ("tcp", "127.0.0.1")),
        (socket.SOCK_STREAM, "0.0.0.0", ("tcp", "0.0.0.0")),
        (socket.SOCK_STREAM, "::1", ("tcp", "::1")),
        (socket.SOCK_STREAM, "::ffff:127.0.0.1", ("tcp", "127.0.0.1")),
        (socket.SOCK_DGRAM, "127.0.0.1", ("udp", "127.0.0.1")),
        (socket.SOCK_DGRAM, "::1", ("udp", "::1")),
    ],
)
def test_a_socket_is_found_with_its_address(kind: int, address: str, expected: tuple[str, str]) -> None:
    with open_socket(kind, address, dual="ffff" in address) as opened:
        assert find_socket(opened) == [expected]


def test_connected_sockets_are_not_listeners() -> None:
    with (
        open_socket(socket.SOCK_DGRAM, "127.0.0.1") as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        client.connect(server.getsockname())
        assert find_socket(client) == []
    with (
        open_socket(socket.SOCK_STREAM, "127.0.0.1") as server,
        socket.create_connection(server.getsockname()) as stream,
    ):
        assert find_socket(stream) == []


def test_the_process_that_has_a_socket_is_named() -> None:
    with open_socket(socket.SOCK_STREAM, "127.0.0.1") as opened:
        inode = str(os.fstat(opened.fileno()).st_ino)
        listener = listeners.Listener("tcp", ipaddress.ip_address("127.0.0.1"), opened.getsockname()[1], inode)
        name = pathlib.Path("/proc/self/comm").read_text(encoding="utf-8").strip()
        assert listeners.find_process(listener) == f"{name} (process {os.getpid()})"
    assert listeners.find_process(listener._replace(inode="0")) == ""


def test_sockets_of_sctp_are_read_as_the_kernel_shows_them(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sctp").mkdir()
    (tmp_path / "sctp" / "eps").write_text(
        " ENDPT     SOCK   STY SST HBKT LPORT   UID INODE LADDRS\n"
        "ecefb3b9 48e72246 0   10  0    48995     0 14593 0000:0000:0000:0000:0000:0000:0000:0000 \n"
        "5fb5fc4a 4d5d5ec2 2   10  27   58750     0 15524 10.0.0.1 127.0.0.1 \n"
        " 5b521e0 757f67f0 0   7   43   35150     0 14591 127.0.0.1 \n",
        encoding="ascii",
    )
    found = listeners.listeners(str(tmp_path))
    sockets = [(listener.protocol, str(listener.address), listener.port, listener.inode) for listener in found]
    assert sockets == [
        ("sctp", "::", 48995, "14593"),
        ("sctp", "10.0.0.1", 58750, "15524"),
        ("sctp", "127.0.0.1", 58750, "15524"),
    ]
