# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A device of the node is found among the links of a container by what the container cannot change."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_device import DeviceClaim, identify_device

MAC, OTHER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
NODE = 0


def _link(name: str, kind: str = "", **keys: t.Any) -> Link:
    given = {"mac": MAC, "mtu": 1500, "is_up": True, "master": 0, "peer": 0, "kind": kind, **keys}
    return Link(**{"ifindex": sum(name.encode()), "name": name, **given})


CARD = _link("card", permanent_mac=MAC)
HIDDEN_CARD = CARD._replace(mac=OTHER_MAC)
SECOND_CARD = _link("second", permanent_mac=OTHER_MAC)
FUNCTION = _link("function", mac=OTHER_MAC)
DUMMY = _link("dummy", "dummy")
VETH = _link("veth", "veth", peer=5, peer_netns=1)
ON_NODE = VETH._replace(name="on-node", ifindex=99, peer=7, peer_netns=NODE)
# The container's ends of pairs whose other ends are on the node, and these ends.
ENDS = {7: "hd1", 8: "veth0123abcd"}

IDENTIFIED: dict[str, tuple[list[Link], list[Link], Link | None]] = {
    # The links of the container, those whose alias is the device's name, and the device.
    "hardware with its permanent MAC": ([CARD], [], CARD),
    "hardware with a forged MAC": ([HIDDEN_CARD], [], HIDDEN_CARD),
    "two cards with swapped MACs": ([HIDDEN_CARD, SECOND_CARD._replace(mac=MAC)], [SECOND_CARD], HIDDEN_CARD),
    "a decoy with MAC and alias": ([HIDDEN_CARD, DUMMY], [DUMMY], HIDDEN_CARD),
    "a decoy beside a virtual function in disguise": ([FUNCTION, DUMMY], [DUMMY], None),
    "a decoy beside a veth with an end on the node": ([ON_NODE._replace(mac=OTHER_MAC), DUMMY], [DUMMY], None),
    "a link on the hidden card, which has its permanent MAC": (
        [HIDDEN_CARD, _link("vlan", "vlan", peer=HIDDEN_CARD.ifindex, permanent_mac=MAC)],
        [],
        HIDDEN_CARD,
    ),
    "a link on another one of the container": ([_link("vlan", "vlan", peer=7, permanent_mac=MAC)], [], None),
    "a pair of the container": ([VETH._replace(peer_netns=None)], [], None),
    "the link of another attachment": ([ON_NODE._replace(peer=8)], [], None),
    "the link of another attachment with the alias": ([ON_NODE._replace(peer=8)], [ON_NODE._replace(peer=8)], None),
    "a virtual link with the MAC": ([DUMMY], [], DUMMY),
    "the alias only": ([DUMMY._replace(mac=OTHER_MAC)], [DUMMY._replace(mac=OTHER_MAC)], None),
    "the alias of hardware": ([FUNCTION], [FUNCTION], FUNCTION),
    "the alias of a veth with an end on the node": (
        [ON_NODE._replace(mac=OTHER_MAC)],
        [ON_NODE._replace(mac=OTHER_MAC)],
        ON_NODE._replace(mac=OTHER_MAC),
    ),
}


def _find_host_end(veth: Link) -> Link | None:
    is_there = veth.peer_netns == NODE and veth.peer in ENDS
    return _link(ENDS[veth.peer], "veth", ifindex=veth.peer) if is_there else None


@pytest.mark.parametrize(("links", "named", "device"), IDENTIFIED.values(), ids=IDENTIFIED)
def test_a_device_is_identified_by_what_its_container_cannot_forge(
    links: list[Link], named: list[Link], device: Link | None
) -> None:
    assert identify_device(links, named, {MAC}, _find_host_end) == device


def test_neither_of_two_links_is_the_device_if_each_has_one_of_its_marks() -> None:
    dummy, veth = DUMMY, VETH._replace(mac=OTHER_MAC)
    assert identify_device([dummy, veth], [veth], {MAC}, _find_host_end) is None


def test_links_of_the_node_are_not_read_without_a_veth() -> None:
    def fail(dummy: Link) -> t.NoReturn:
        raise AssertionError("asked for")

    assert identify_device([CARD, DUMMY], [], {MAC}, fail) == CARD


@pytest.mark.parametrize("is_nested", [True, False])
def test_a_virtual_link_is_not_the_device_while_its_hardware_is_in_another_namespace(
    monkeypatch: pytest.MonkeyPatch, is_nested: bool
) -> None:
    monkeypatch.setattr(netns, "run_inside", lambda dummy, operation: operation())
    monkeypatch.setattr(netns, "inode", hash)
    monkeypatch.setattr(rtnetlink, "links", lambda: (DUMMY._replace(name="eth0"),))
    monkeypatch.setattr(rtnetlink, "alias", lambda dummy: "hd0")
    monkeypatch.setattr(rtnetlink, "link", lambda name: None)
    nested = (HIDDEN_CARD,) if is_nested else ()
    monkeypatch.setattr(live_namespaces, "run_in_each", lambda dummy: iter([("/run/netns/nested", nested)]))
    claim = DeviceClaim(Attachment("net", "c1", "eth0"), "hd0", frozenset({MAC}))
    if is_nested:
        with pytest.raises(Exception, match="is not known to be the device of the node"):
            claim.find("/run/netns/red")
    else:
        found = claim.find("/run/netns/red")
        assert found is not None
        assert (found.link.name, found.name) == ("eth0", "hd0")
