# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Notifications of the kernel are read strictly, and only what concerns attachments is relevant."""

from __future__ import annotations

import os
import struct
import typing as t

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import attribute
from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest
from ansible_collections.cni.node.plugins.module_utils._node.watch.notifications import (
    Heard,
    RuleReader,
    name_process,
    read_route,
)

INTEREST = Interest(True, frozenset((b"cni0",)), frozenset((7,)), frozenset((3,)))
NEWLINK, DELLINK, NEWADDR, DELADDR, NEWROUTE, DELROUTE, DELRULE, DELQDISC = 16, 17, 20, 21, 24, 25, 33, 37
NEWNETCONF = 80
NEWTABLE, DELTABLE, NEWRULE, DELRULE_NFT, NEWGEN = (10 << 8 | kind for kind in (0, 2, 6, 8, 15))


def message(kind: int, body: bytes, port: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, port) + body + bytes(-len(body) % 4)


def link(kind: int, index: int, name: bytes) -> bytes:
    return message(kind, struct.pack("=BxHiII", 0, 1, index, 0, 0) + attribute(3, name + b"\0"))


def address(kind: int, index: int) -> bytes:
    return message(kind, struct.pack("=BBBBi", 2, 24, 0, 0, index))


def route(kind: int, *index: int) -> bytes:
    oif = b"".join(attribute(4, struct.pack("=i", each)) for each in index)
    return message(kind, bytes(12) + attribute(1, b"\x0a\0\0\0") + oif)


def settings(index: int) -> bytes:
    return message(NEWNETCONF, bytes(4) + attribute(1, struct.pack("=i", index)))


def rule(kind: int, chain: bytes) -> bytes:
    return message(kind, bytes(4) + attribute(1, b"nat\0") + attribute(2, chain + b"\0"))


def generation(pid: int, name: bytes) -> bytes:
    body = attribute(1, bytes(4)) + attribute(2, pid.to_bytes(4, "big")) + attribute(3, name + b"\0")
    return message(NEWGEN, bytes(4) + body)


@pytest.mark.parametrize(
    ("datagram", "is_relevant"),
    [
        (link(DELLINK, 7, b"renamed"), True),
        (link(NEWLINK, 7, b"cni0"), True),
        (link(NEWLINK, 99, b"cni0"), True),
        (link(DELLINK, 99, b"cni0"), True),
        (link(NEWLINK, 99, b"eth1"), False),
        (link(DELLINK, 99, b"cni01"), False),
        (address(DELADDR, 7), True),
        (address(DELADDR, 8), False),
        (address(NEWADDR, 7), False),
        (route(DELROUTE, 7), True),
        (route(DELROUTE, 8), False),
        (route(DELROUTE), True),  # over several links
        (route(NEWROUTE, 7), False),
        (message(DELRULE, bytes(12)), True),
        (message(DELQDISC, struct.pack("=B3xi", 0, 7) + bytes(12)), True),
        (message(DELQDISC, struct.pack("=B3xi", 0, 8) + bytes(12)), False),
        (settings(-1), True),
        (settings(7), True),
        (settings(8), False),
    ],
)
def test_only_links_of_attachments_are_relevant(datagram: bytes, is_relevant: bool) -> None:
    assert read_route(datagram, None, INTEREST).is_relevant is is_relevant
    is_addition = datagram in (address(NEWADDR, 7), route(NEWROUTE, 7))
    assert read_route(datagram, None, Interest()).is_relevant is not is_addition
    assert read_route(link(NEWLINK, 1, b"lo") + datagram, None, INTEREST).is_relevant is is_relevant


@pytest.mark.parametrize(("netns_id", "is_relevant"), [(3, True), (4, False)])
def test_only_containers_whose_interfaces_are_repaired_are_relevant(netns_id: int, is_relevant: bool) -> None:
    assert read_route(route(DELROUTE, 2), netns_id, INTEREST).is_relevant is is_relevant
    assert not read_route(route(NEWROUTE, 2), netns_id, INTEREST).is_relevant


def test_a_change_of_a_link_names_its_process() -> None:
    datagram = message(DELADDR, struct.pack("=BBBBi", 2, 24, 0, 0, 7), port=os.getpid())
    (culprit,) = read_route(datagram, None, INTEREST).culprits
    assert culprit.endswith(f"(process {os.getpid()})")


def test_a_container_cannot_name_a_process_of_the_node() -> None:
    heard = read_route(message(DELADDR, struct.pack("=BBBBi", 2, 24, 0, 0, 2), port=os.getpid()), 3, INTEREST)
    assert (heard.is_relevant, heard.culprits) == (True, ())


def test_a_number_that_no_process_has_names_none() -> None:
    datagram = message(DELADDR, struct.pack("=BBBBi", 2, 24, 0, 0, 7), port=2_745_693_110)
    assert read_route(datagram, None, INTEREST).culprits == ()


def test_a_process_that_has_ended_has_its_number_only() -> None:
    assert name_process(4_194_305) == "process 4194305"


@pytest.mark.parametrize("chain", [b"CNI-HOSTPORT-DNAT", b"cni_masq", b"firewalld"])
def test_a_removed_rule_is_relevant_and_names_its_process(chain: bytes) -> None:
    datagram = rule(DELRULE_NFT, chain) + generation(4711, b"nft")
    assert RuleReader().read(datagram) == Heard(True, ("nft (process 4711)",))


@pytest.mark.parametrize("datagram", [rule(NEWRULE, b"CNI-HOSTPORT-DNAT"), rule(DELRULE_NFT, b"KUBE-SERVICES")])
def test_other_rules_are_not_relevant(datagram: bytes) -> None:
    assert RuleReader().read(datagram + generation(4711, b"nft")) == Heard()


def test_a_transaction_may_take_several_datagrams() -> None:
    reader = RuleReader()
    assert reader.read(rule(DELRULE_NFT, b"CNI-x")) == Heard(True)
    assert reader.read(rule(NEWRULE, b"other")) == Heard()
    assert reader.read(generation(4711, b"iptables")) == Heard(False, ("iptables (process 4711)",))
    assert reader.read(generation(4712, b"other")) == Heard()


MESSAGES = st.one_of(
    st.builds(link, st.sampled_from((NEWLINK, DELLINK)), st.integers(-9, 9), st.binary(max_size=20)),
    st.builds(address, st.sampled_from((NEWADDR, DELADDR)), st.integers(-9, 9)),
    st.builds(route, st.sampled_from((NEWROUTE, DELROUTE)), st.integers(-9, 9)),
    st.builds(settings, st.integers(-9, 9)),
    st.builds(rule, st.sampled_from((NEWRULE, DELRULE_NFT)), st.binary(max_size=20)),
    st.builds(generation, st.integers(0, 2**32 - 1), st.binary(max_size=16)),
    st.builds(message, st.integers(0, 2**16 - 1), st.binary(max_size=64)),
)


def read_everything(datagram: bytes) -> list[Heard]:
    readers: tuple[t.Callable[[bytes], Heard], ...] = (
        lambda content: read_route(content, None, INTEREST),
        lambda content: read_route(content, 3, INTEREST),
        RuleReader().read,
    )
    heard = []
    for read in readers:
        try:
            heard.append(read(datagram))
        except (OSError, struct.error):
            heard.append(Heard(is_relevant=True))
    return heard


@hypothesis.given(st.lists(MESSAGES, min_size=1, max_size=5), st.data())
def test_any_datagram_is_read_or_refused(datagrams: list[bytes], data: st.DataObject) -> None:
    datagram = b"".join(datagrams)
    read_everything(datagram)
    cut = data.draw(st.integers(0, len(datagram)))
    read_everything(datagram[:cut])
    place = data.draw(st.integers(0, len(datagram) - 1))
    read_everything(datagram[:place] + data.draw(st.binary(min_size=1, max_size=4)) + datagram[place + 1 :])


@hypothesis.given(st.lists(MESSAGES, max_size=5), st.lists(MESSAGES, max_size=5))
def test_no_other_message_hides_a_relevant_one(before: list[bytes], after: list[bytes]) -> None:
    gone = link(DELLINK, 7, b"cni0")
    assert read_everything(b"".join([*before, gone, *after]))[0].is_relevant


def test_the_kernel_sends_no_empty_datagram() -> None:
    with pytest.raises(OSError, match="cannot be read"):
        list(netlink.messages(b""))
