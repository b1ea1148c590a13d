# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which attachments can be compared with their records, and which interfaces are still theirs."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.repair.eligibility import (
    find_rivals,
    reason_by_interface,
    reason_to_skip,
)

MAC, OTHER_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
RESULT: JsonObject = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "cni0"}, {"name": "veth7"}, {"name": "eth0", "mac": MAC.upper(), "sandbox": "/x"}],
    "ips": [{"address": "10.1.0.2/16", "interface": 2}],
}
# The number by which the node knows the network namespace.
BLUE = 3
BRIDGE, TUNING, ODD = {"type": "bridge"}, {"type": "tuning"}, {"type": "odd"}


def make_record(
    *plugins: JsonObject, path: str = "/run/netns/blue", result: JsonObject | None = None, **keys: t.Any
) -> Record:
    config = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins or [BRIDGE]}
    given = Result("1.0.0", RESULT if result is None else result)
    attachment = Attachment("net", "blue", keys.pop("ifname", "eth0"), path)
    return Record(attachment, **{"config": json.dumps(config).encode(), "result": given, "version": "1.0.0", **keys})


@pytest.fixture
def path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a file that stands for a network namespace."""
    file = tmp_path / "blue"
    file.touch()
    monkeypatch.setattr(netns, "is_namespace", lambda path: path == str(file))
    return str(file)


@pytest.mark.parametrize("plugins", [[BRIDGE], [ODD, TUNING], [{"type": "loopback"}]], ids=str)
@pytest.mark.parametrize("is_own", [True, False])
def test_an_attachment_with_a_known_plugin_and_its_namespace_is_compared(
    path: str, plugins: list[JsonObject], is_own: bool
) -> None:
    record = make_record(*plugins, path=path, netns_identity=netns_identity(path))
    # Other runtimes do not record the version and the identity of the namespace.
    assert reason_to_skip(record if is_own else record._replace(version="", netns_identity="")) == ""


def test_a_replaced_namespace_belongs_to_another_container(path: str) -> None:
    record = make_record(path=path, netns_identity=netns_identity(path) + "0")
    assert reason_to_skip(record) == "its network namespace has been replaced"


def test_a_file_that_a_removed_namespace_has_left_is_not_entered(path: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "red").touch()
    assert reason_to_skip(make_record(path=f"{tmp_path}/red")) == f"{tmp_path}/red is not a network namespace"


UNUSABLE: dict[str, JsonObject] = {
    "truncated configuration": {"config": b"{"},
    "configuration without plugins": {"config": b'{"cniVersion": "1.0.0", "name": "net", "plugins": []}'},
}


@pytest.mark.parametrize("keys", UNUSABLE.values(), ids=UNUSABLE)
def test_a_record_that_cannot_be_read_strictly_is_skipped_with_the_reason(path: str, keys: JsonObject) -> None:
    assert reason_to_skip(make_record(path=path, **keys)).startswith("its record cannot be used: ")


ETH0 = Link(ifindex=2, name="eth0", mac=MAC, mtu=1500, is_up=True, master=0, peer=7, kind="veth")
VETH7 = ETH0._replace(ifindex=7, name="veth7", mac=OTHER_MAC, master=3, peer=2, peer_netns=BLUE)
FOO = ETH0._replace(ifindex=9, name="foo")
ANOTHER_LINK = "interface eth0 is another link than the recorded one"


class FakeLinks:
    """The links of the node and of a container."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inside: tuple[Link, ...] = (ETH0,)
        self.node: tuple[Link, ...] = (VETH7,)
        monkeypatch.setattr(rtnetlink, "snapshot", lambda dummy, *, routes: View(self.inside, (), ()))
        monkeypatch.setattr(rtnetlink, "netns_id", {"/run/netns/blue": BLUE}.__getitem__)
        monkeypatch.setattr(
            rtnetlink, "link", lambda name: next((link for link in self.node if link.name == name), None)
        )


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> FakeLinks:
    return FakeLinks(monkeypatch)


INSIDE: dict[str, tuple[tuple[Link, ...], str]] = {
    "the recorded link": ((ETH0,), ""),
    "gone": ((), "interface eth0 is gone"),
    "renamed, its name free": ((FOO,), "interface eth0 is gone"),
    "renamed, its name taken": (
        (ETH0._replace(mac=OTHER_MAC), FOO),
        "interface eth0 is called foo now, and another link has its name",
    ),
    "another kind": ((ETH0._replace(kind="dummy"),), ANOTHER_LINK),
    "hardware": ((ETH0._replace(kind=""),), ANOTHER_LINK),
    "another pair": ((ETH0._replace(peer=8),), ANOTHER_LINK),
    "another index": ((ETH0._replace(ifindex=3),), ANOTHER_LINK),
}


@pytest.mark.parametrize("version", ["1.0.0", ""])
@pytest.mark.parametrize(("inside", "reason"), INSIDE.values(), ids=INSIDE)
def test_an_interface_is_identified_by_kind_pair_and_mac(
    links: FakeLinks, inside: tuple[Link, ...], reason: str, version: str
) -> None:
    links.inside = inside
    assert reason_by_interface(make_record(version=version)) == reason


def test_a_pair_with_the_recorded_indexes_in_another_namespace_is_another_one(links: FakeLinks) -> None:
    """Containers choose the indexes of pairs that they make."""
    links.node = (VETH7._replace(peer_netns=BLUE + 1),)
    assert reason_by_interface(make_record()) == ANOTHER_LINK


HOST_ENDS: dict[str, tuple[Link, ...]] = {
    "gone": (),
    "another kind": (VETH7._replace(kind="dummy", peer=99),),
    "both ends on the node": (VETH7._replace(peer_netns=None, peer=99),),
}


@pytest.mark.parametrize("node", HOST_ENDS.values(), ids=HOST_ENDS)
def test_a_host_end_that_proves_nothing_does_not_contradict_the_record(
    links: FakeLinks, node: tuple[Link, ...]
) -> None:
    links.node = node
    assert reason_by_interface(make_record()) == ""


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize("plugins", [[BRIDGE], [BRIDGE, TUNING]], ids=len)
def test_another_mac_means_another_container_only_if_nothing_else_identifies_it(
    links: FakeLinks, plugins: list[JsonObject], is_own: bool
) -> None:
    """The namespace identifies a container of this collection, and tuning may change the MAC."""
    links.inside = (ETH0._replace(mac=OTHER_MAC),)
    record = make_record(*plugins, version="1.0.0" if is_own else "")
    foreign = f"interface eth0 has the MAC {OTHER_MAC}, so it belongs to another container"
    assert reason_by_interface(record) == ("" if is_own or len(plugins) == 2 else foreign)


def test_a_record_without_macs_is_identified_without_them(links: FakeLinks) -> None:
    links.inside = (ETH0._replace(mac=OTHER_MAC),)
    assert reason_by_interface(make_record(result={"cniVersion": "1.0.0"}, version="")) == ""


def test_the_loopback_interface_needs_no_identification(links: FakeLinks) -> None:
    """The plugin loopback lists lo and not the interface of the attachment."""
    links.inside = ()
    result = {"cniVersion": "1.0.0", "interfaces": [{"name": "lo", "sandbox": "/x"}]}
    assert reason_by_interface(make_record({"type": "loopback"}, result=result)) == ""


def test_a_result_that_lists_other_interfaces_identifies_none(links: FakeLinks) -> None:
    """It may name the node's end of another container."""
    listed = [{"name": "veth7"}, {"name": "lo", "mac": MAC, "sandbox": "/run/netns/blue"}]
    links.inside = ()
    record = make_record(result={**RESULT, "interfaces": listed})
    assert reason_by_interface(record) == "interface eth0 is gone"


def test_a_namespace_that_cannot_be_read_is_a_reason(links: FakeLinks, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(dummy: str, *, routes: bool) -> t.NoReturn:
        raise CniError(Code.IO_FAILURE, "cannot enter /run/netns/blue", "it is gone")

    monkeypatch.setattr(rtnetlink, "snapshot", fail)
    assert reason_by_interface(make_record()) == "cannot enter /run/netns/blue"


@pytest.mark.parametrize("plugin", ["loopback", "tuning", "sbr"])
@pytest.mark.parametrize(("container_id", "is_rival"), [("blue", False), ("green", True)])
def test_a_record_without_a_link_does_not_claim_the_namespace_of_another_container(
    path: str, monkeypatch: pytest.MonkeyPatch, plugin: str, container_id: str, is_rival: bool
) -> None:
    monkeypatch.setattr(rtnetlink, "link", lambda name, path: ETH0 if name == "eth0" else None)
    own, claim = (
        make_record(path=path),
        make_record({"type": plugin}, path=path, ifname="lo", result={"cniVersion": "1.0.0"}),
    )
    claim = claim._replace(attachment=claim.attachment._replace(container_id=container_id))
    reason = f"the network namespace belongs to container {own.attachment.container_id}"
    assert find_rivals([claim, own]) == ({claim.attachment.key: reason} if is_rival else {})
