# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attribute
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables
from ansible_collections.cni.node.plugins.module_utils._linux.rules.packet_trace import (
    PacketTrace,
    Passage,
    TracedFlow,
    decode,
    describe_rule,
)

TCP = TracedFlow("tcp", 4, 40000)
HEADER = bytes.fromhex("4500003c000040004006000000000000")[:12] + bytes((10, 1, 0, 3)) + bytes((10, 1, 0, 2))


@pytest.mark.parametrize(
    ("script", "ending"),
    [("exec sleep 60", "or later"), ("echo no such flag >&2; exec sleep 60", "or later; no such flag")],
)
def test_nft_that_hangs_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, script: str, ending: str
) -> None:
    nft, started = tmp_path / "nft", tmp_path / "started"
    nft.write_text(f"#!/bin/sh\necho $$ >{started}; {script}\n", encoding="ascii")
    nft.chmod(0o755)
    monkeypatch.setattr(program, "find", lambda name: str(nft))
    monkeypatch.setattr(netlink, "subscribe", lambda *arguments: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    monkeypatch.setattr(nf_tables, "list_chains", list)
    with pytest.raises(CniError) as caught:
        PacketTrace(TCP)
    assert caught.value.code == Code.NOT_AVAILABLE
    assert caught.value.details.endswith(ending)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text(encoding="ascii")), 0)


@pytest.mark.parametrize("chain", ["x; flush ruleset", "x\nflush ruleset", "-f /etc/passwd", "", "a b"])
def test_a_name_with_commands_is_not_given_to_nft(monkeypatch: pytest.MonkeyPatch, chain: str) -> None:
    monkeypatch.setattr(program, "output", lambda argv: pytest.fail(f"it runs {argv}"))
    assert (
        describe_rule("inet", "filter", chain, 7)
        == describe_rule("inet", chain, "input", 7)
        == "the rule with handle 7"
    )


def message(*further: bytes, kind: int = 3, ports: tuple[int, int] = (40000, 80)) -> bytes:
    return b"".join(
        [
            bytes((2, 0, 0, 0)),
            attribute(1, b"filter\0"),
            attribute(2, b"FORWARD\0"),
            attribute(3, struct.pack("!Q", 7)),
            attribute(4, struct.pack("!I", kind)),
            attribute(6, struct.pack("!I", 99)),
            attribute(8, HEADER),
            attribute(9, struct.pack("!HH", *ports) + bytes(16)),
            *further,
        ]
    )


def decode_message(content: bytes) -> Passage:
    passage = decode(TCP, content, 0, len(content))
    assert passage is not None
    return passage


def verdict(code: int) -> bytes:
    return attribute(5, attribute(1, struct.pack("!i", code)))


def test_a_rule_that_drops_is_told_from_one_that_accepts_or_jumps() -> None:
    assert [decode_message(message(verdict(code))).is_dropped for code in (0, 1, -1, -3)] == [True, False, False, False]
    assert not decode_message(message(verdict(0), kind=2)).is_dropped


@pytest.mark.parametrize(("policy", "is_dropped"), [(0, True), (1, False)])
def test_a_policy_that_drops_has_no_handle(policy: int, is_dropped: bool) -> None:
    passage = decode_message(message(attribute(16, struct.pack("!I", policy)), kind=1))
    assert (passage.is_dropped, passage.handle) == (is_dropped, 0)


def test_direction_and_routing_are_read_from_ports_and_outgoing_link() -> None:
    passage = decode_message(message())
    assert (passage.is_reply, passage.is_routed, str(passage.source), passage.handle) == (False, False, "10.1.0.3", 7)
    assert decode_message(message(ports=(80, 40000))).is_reply
    assert decode_message(message(attribute(12, bytes(4)))).is_routed


@given(content=st.binary(max_size=80))
def test_any_message_is_decoded_or_refused(content: bytes) -> None:
    with contextlib.suppress(OSError):
        decode(TCP, bytes((2, 0, 0, 0)) + content, 0, 4 + len(content))
