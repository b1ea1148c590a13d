# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ICMP echo on a busy machine. tests/integration has echo requests to real addresses."""

from __future__ import annotations

import itertools
import socket
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import icmp

IP_HEADER = b"\x45" + bytes(19)


class Connection:
    """A connection to a peer that has answered when `send` returns."""

    def __init__(self) -> None:
        self._own, self._other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.fileno, self.recv = self._own.fileno, self._own.recv

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *dummy: object) -> None:
        self._own.close()
        self._other.close()

    def connect(self, dummy: t.Any) -> None:
        pass

    def send(self, packet: bytes) -> None:
        self._other.send(IP_HEADER + b"\0" + packet[1:])


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute pass between two readings of the clock."""
    clock = itertools.count(0, 60)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "sleep", lambda dummy: None)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """Hand out the connections in turn; after the last one there is no route."""
    made = [Connection()]

    def hand_out(*dummy: object) -> Connection:
        if not made:
            raise OSError
        return made.pop()

    monkeypatch.setattr(socket, "socket", hand_out)
    return made


@pytest.mark.parametrize("timeout", [5, 100], ids=["before it asks", "while it asks"])
def test_a_ping_returns_when_the_reply_arrives(connections: list[Connection], timeout: float) -> None:
    assert icmp.ping("10.1.0.1", icmp.Sender("eth0"), timeout)
    assert connections == []


def test_an_unreachable_address_is_asked_until_the_timeout_and_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def unreachable(*arguments: t.Any) -> t.NoReturn:
        asked.append(arguments)
        raise OSError

    monkeypatch.setattr(socket, "socket", unreachable)
    assert not icmp.ping("10.1.0.1", icmp.Sender("eth0"), 100)
    assert len(asked) == 2
