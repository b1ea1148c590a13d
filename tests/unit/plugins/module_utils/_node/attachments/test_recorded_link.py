# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before DEL, the link of an attachment is identified by its record."""

from __future__ import annotations

import ipaddress
import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import from_keys
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Address, View
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import Preparation, prepare
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_device
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

MAC, OTHER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
HOST_END = "veth0123abcd"
NEW_RESULT: JsonObject = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": HOST_END}, {"name": "eth0", "mac": MAC.upper(), "sandbox": "/run/netns/blue"}],
    "ips": [{"address": "10.1.0.2/16", "interface": 1}],
}
OLD_RESULT: JsonObject = {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.2/16"}}
HAS_ADDRESS = 5
# The number by which the node knows the network namespace.
BLUE = 3


def _link(name: str, number: int, **keys: t.Any) -> Link:
    given: JsonObject = {"mac": MAC, "mtu": 1500, "is_up": True, "master": 0, "peer": 7, "kind": "veth", **keys}
    return Link(ifindex=number, name=name, **{"peer_netns": 0, **given})


class RenamedLinkKernel:
    """A kernel in which link 5 of the container has the recorded address, whatever its name."""

    def __init__(self, node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
        self._node = node
        self.inside: list[Link] = []
        self.node: list[Link] = [_link(HOST_END, 7, peer=HAS_ADDRESS, peer_netns=BLUE)]
        node.make_namespace()
        self.records = AllRecords(node.runtime().records, node.paths.state_dir)
        monkeypatch.setattr(rtnetlink, "snapshot", self._take_snapshot)
        monkeypatch.setattr(rtnetlink, "link", self._link)
        monkeypatch.setattr(rtnetlink, "links", lambda: tuple(self.node))
        monkeypatch.setattr(rtnetlink, "link_by_index", self._link_by_index)
        monkeypatch.setattr(rtnetlink, "netns_id", {str(node.netns / "blue"): BLUE}.__getitem__)
        monkeypatch.setattr(own_device, "list_with_aliases", lambda dummy: [(link, "hd0") for link in self.inside])
        monkeypatch.setattr(live_namespaces, "run_in_each", lambda dummy: iter(()))
        monkeypatch.setattr(veth, "find_veth_ends", lambda: veth.VethEnds({}, {}))

    def _take_snapshot(self, path: str, *, routes: bool) -> View:
        assert (path, routes) == (str(self._node.netns / "blue"), False)
        address = Address(HAS_ADDRESS, ipaddress.ip_interface("10.1.0.2/16"))
        return View(tuple(self.inside), (address,), ())

    def _link(self, name: str, path: str = "") -> Link | None:
        return next((link for link in (self.inside if path else self.node) if link.name == name), None)

    def _link_by_index(self, ifindex: int) -> Link | None:
        return next((link for link in self.node if link.ifindex == ifindex), None)

    def record(self, plugin: str = "bridge", result: JsonObject | None = None) -> Record:
        attachment = self._node.attachment()
        keys = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": plugin}]}
        return Record(
            attachment,
            json.dumps(keys).encode(),
            from_keys(NEW_RESULT if result is None else result, "", "x"),
            "1.0.0",
            netns_identity(attachment.netns),
        )

    def prepare(
        self, plugin: str = "bridge", result: JsonObject | None = None, *, is_name_needed: bool = False
    ) -> JsonObject:
        """Return the changes that were made."""
        record = self.record(plugin, result)
        link = prepare(record, self.records, is_name_needed=is_name_needed)
        links = (("renamed", link.renamed), ("removed", link.removed), ("host_end", link.removed_host_end))
        named = {key: link.name for key, link in links if link is not None}
        return {**named, **({} if link.record.attachment.netns else {"without": "netns"})}


@pytest.fixture
def kernel(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> RenamedLinkKernel:
    return RenamedLinkKernel(node, monkeypatch)


OURS = _link("foo", HAS_ADDRESS)
# Links of the container with the steps that follow: found by the pair, by the MAC alone, and by the address alone.
TAKEN = {"removed": "foo", "without": "netns"}
CASES: dict[str, tuple[list[Link], JsonObject, JsonObject, JsonObject]] = {
    "its own name": ([_link("eth0", HAS_ADDRESS)], {}, {}, {}),
    "its own name, another MAC": ([_link("eth0", HAS_ADDRESS, mac=OTHER_MAC)], {}, {}, {}),
    "another name": ([OURS], {"renamed": "foo"}, {"renamed": "foo"}, {"renamed": "foo"}),
    "another name and MAC": (
        [_link("foo", HAS_ADDRESS, mac=OTHER_MAC)],
        {"renamed": "foo"},
        {"renamed": "foo"},
        {"renamed": "foo"},
    ),
    "another name, no address": (
        [_link("foo", 6, peer=7)],
        {"host_end": HOST_END},
        {"renamed": "foo"},
        {},
    ),
    "name taken": ([OURS, _link("eth0", 9, peer=8, mac=OTHER_MAC)], TAKEN, TAKEN, TAKEN),
    "name taken with the MAC": ([OURS, _link("eth0", 9, peer=8)], TAKEN, TAKEN, TAKEN),
    "name taken by another kind": ([OURS, _link("eth0", 9, kind="dummy", mac=OTHER_MAC)], TAKEN, TAKEN, TAKEN),
    "a stranger has the MAC": (
        [_link("eth0", HAS_ADDRESS, mac=OTHER_MAC), _link("stranger", 9, peer=8)],
        {},
        {},
        {},
    ),
    "a stranger of another kind has the MAC": (
        [_link("stranger", 9, kind="dummy")],
        {"host_end": HOST_END},
        {},
        {},
    ),
    "gone": ([], {"host_end": HOST_END}, {}, {}),
    "gone, and its name taken by another kind": (
        [_link("eth0", 9, kind="dummy")],
        {"host_end": HOST_END, "without": "netns"},
        {"without": "netns"},
        {"without": "netns"},
    ),
    "gone, and its name taken": (
        [_link("eth0", 9, peer=8, mac=OTHER_MAC)],
        {"host_end": HOST_END, "without": "netns"},
        {"without": "netns"},
        {},
    ),
}


@pytest.mark.parametrize(("links", "by_pair", "by_mac", "by_address"), CASES.values(), ids=CASES)
def test_the_recorded_link_is_identified_among_others(
    kernel: RenamedLinkKernel, links: list[Link], by_pair: JsonObject, by_mac: JsonObject, by_address: JsonObject
) -> None:
    kernel.inside = links
    assert kernel.prepare() == by_pair
    assert kernel.prepare(result=OLD_RESULT) == by_address
    kernel.node = []
    assert kernel.prepare() == by_mac


def test_the_address_identifies_one_of_several_links_with_the_same_mac(kernel: RenamedLinkKernel) -> None:
    links = [_link(name, number, kind="ipvlan") for name, number in (("a", 4), ("b", HAS_ADDRESS), ("c", 6))]
    kernel.inside = links
    assert kernel.prepare("ipvlan") == {"renamed": "b"}
    kernel.inside = [links[0], links[2]]
    assert kernel.prepare("ipvlan") == {}


def test_the_host_end_is_removed_without_the_namespace(kernel: RenamedLinkKernel, node: FakeNode) -> None:
    record = kernel.record()
    node.make_namespace()  # which is another one
    assert prepare(record, kernel.records, is_name_needed=True) == Preparation(record, removed_host_end=kernel.node[0])


def test_a_pair_with_both_ends_on_the_node_stays(kernel: RenamedLinkKernel, node: FakeNode) -> None:
    record = kernel.record()
    node.make_namespace()  # which is another one
    kernel.node = [kernel.node[0]._replace(peer_netns=None)]
    assert prepare(record, kernel.records, is_name_needed=False).removed_host_end is None


def test_a_host_end_stays_while_a_namespace_that_may_have_its_peer_cannot_be_read(
    kernel: RenamedLinkKernel, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kernel.record()
    node.make_namespace()  # which is another one
    unreadable = {"/proc/1/ns/net": CniError(Code.IO_FAILURE, "cannot enter it")}
    monkeypatch.setattr(veth, "find_veth_ends", lambda: veth.VethEnds({}, unreadable))
    assert prepare(record, kernel.records, is_name_needed=False).removed_host_end is None


@pytest.mark.parametrize("name", ["cni0", "veth0", "veth0123abcde"])
def test_only_a_link_with_a_plugins_name_is_a_host_end(kernel: RenamedLinkKernel, name: str) -> None:
    kernel.node = [_link(name, 7, peer_netns=BLUE)]
    result = {**NEW_RESULT, "interfaces": [{"name": name}, *NEW_RESULT["interfaces"][1:]]}
    assert kernel.prepare(result=result) == {}


def test_a_host_end_is_a_veth(kernel: RenamedLinkKernel) -> None:
    kernel.node = [_link(HOST_END, 7, kind="bridge")]
    assert kernel.prepare() == {}


def test_the_link_of_an_unknown_plugin_is_only_renamed(kernel: RenamedLinkKernel) -> None:
    """It is unknown how DEL of this plugin finds its link."""
    kernel.inside = [_link("foo", HAS_ADDRESS, kind="odd")]
    assert kernel.prepare("odd") == {"renamed": "foo"}
    assert kernel.prepare("odd", OLD_RESULT) == {}
    kernel.inside.append(_link("eth0", 9))
    assert kernel.prepare("odd", is_name_needed=True) == {}
    kernel.inside = [_link("foo", 9)]
    assert kernel.prepare("odd") == {}


@pytest.mark.parametrize("plugin", ["bridge", "host-device"])
def test_another_link_keeps_its_name(kernel: RenamedLinkKernel, plugin: str) -> None:
    kernel.inside = [OURS, _link("eth0", 9, mac=OTHER_MAC)]
    kernel.node = [] if plugin == "host-device" else kernel.node
    with pytest.raises(
        CniError, match=r"its interface is now named foo, and another interface in .* is named eth0"
    ) as raised:
        kernel.prepare(plugin, is_name_needed=plugin == "bridge")
    assert raised.value.code == Code.INVALID_ENVIRONMENT


@pytest.mark.parametrize("mac", [MAC, OTHER_MAC])
def test_a_link_with_another_mac_is_not_the_device_of_host_device(kernel: RenamedLinkKernel, mac: str) -> None:
    kernel.inside = [_link("eth0", 9, peer=8, mac=mac)]
    if mac == MAC:
        assert kernel.prepare("host-device") == {}
    else:
        with pytest.raises(CniError, match="interface eth0 is not known to be the device of the node"):
            kernel.prepare("host-device")


@pytest.mark.parametrize("mac", [MAC, OTHER_MAC])
def test_the_host_end_of_another_container_stays(
    kernel: RenamedLinkKernel, node: FakeNode, monkeypatch: pytest.MonkeyPatch, mac: str
) -> None:
    record = kernel.record()
    node.make_namespace()  # which is another one
    kernel.node = [kernel.node[0]._replace(peer_netns=4)]
    other_end = _link("eth0", HAS_ADDRESS, mac=mac)
    ends = veth.VethEnds({(HAS_ADDRESS, 7): "/run/netns/red"}, {})
    monkeypatch.setattr(veth, "find_veth_ends", lambda: ends)
    monkeypatch.setattr(rtnetlink, "snapshot", lambda dummy, *, routes: View((other_end,), (), ()))
    removed = prepare(record, kernel.records, is_name_needed=False).removed_host_end
    assert removed == (kernel.node[0] if mac == MAC else None)


def _names_the_host_end(record: Record) -> Record:
    return record


def _names_another_link(record: Record) -> Record:
    keys = {**NEW_RESULT, "interfaces": [{"name": "veth00000007"}, *NEW_RESULT["interfaces"][1:]]}
    return record._replace(result=from_keys(keys, "", "x"))


@pytest.mark.parametrize("rename", [_names_the_host_end, _names_another_link])
@pytest.mark.parametrize("is_elsewhere", [True, False])
def test_the_host_end_that_belongs_to_another_record_stays(
    kernel: RenamedLinkKernel,
    node: FakeNode,
    monkeypatch: pytest.MonkeyPatch,
    rename: t.Callable[[Record], Record],
    is_elsewhere: bool,
) -> None:
    """Another record names it, or its other end is in the namespace of another record, whatever its MAC is."""
    node.make_namespace("red")
    record, path = kernel.record(), str(node.netns / "red")
    kernel.node = [kernel.node[0]._replace(peer_netns=4)]
    other = rename(record)._replace(attachment=node.attachment("red"))
    store = RecordStore(f"{node.paths.state_dir}/results") if is_elsewhere else node.runtime().records
    monkeypatch.setattr(veth, "find_veth_ends", lambda: veth.VethEnds({(HAS_ADDRESS, 7): path}, {}))
    monkeypatch.setattr(rtnetlink, "snapshot", lambda dummy, *, routes: View((_link("eth0", HAS_ADDRESS),), (), ()))
    node.make_namespace()  # which is another one
    assert prepare(record, kernel.records, is_name_needed=False).removed_host_end == kernel.node[0]
    store.write(other)
    records = AllRecords(node.runtime().records, node.paths.state_dir)
    assert prepare(record, records, is_name_needed=False).removed_host_end is None


def test_a_record_with_the_host_end_of_another_loses_its_own_link(kernel: RenamedLinkKernel, node: FakeNode) -> None:
    node.runtime().records.write(kernel.record()._replace(attachment=node.attachment("red")))
    kernel.inside = [_link("eth0", 6, peer=8)]
    kernel.node = [kernel.node[0]._replace(peer_netns=4)]
    assert kernel.prepare() == {}  # DEL removes it by its name


def _prepare_second_record(
    kernel: RenamedLinkKernel, node: FakeNode, container_id: str, types: list[str]
) -> Preparation:
    """Prepare DEL of a record that names the namespace and the address of an attachment that has its link."""
    node.runtime().records.write(kernel.record())
    kernel.inside = [_link("eth0", HAS_ADDRESS)]
    claimed = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}]}
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": name} for name in types]}
    attachment = node.attachment(container_id)._replace(netns=str(node.netns / "blue"), ifname="up0")
    record = kernel.record(result=claimed)._replace(attachment=attachment, config=json.dumps(network).encode())
    return prepare(record, kernel.records, is_name_needed=False)


@pytest.mark.parametrize(
    "types",
    [
        ["bridge"],
        ["loopback", "bridge"],
        ["host-device", "ptp"],
        ["tuning", "macvlan", "bridge"],
        ["loopback"],
        ["sbr"],
        ["tuning", "portmap"],
    ],
)
def test_del_leaves_the_namespace_of_another_container_alone(
    kernel: RenamedLinkKernel, node: FakeNode, types: list[str]
) -> None:
    """A plugin of the chain would find the link by its address, or change what it finds there."""
    prepared = _prepare_second_record(kernel, node, "green", types)
    assert (prepared.record.attachment.netns, prepared.renamed, prepared.removed) == ("", None, None)


@pytest.mark.parametrize("types", [["loopback"], ["sbr"], ["acme"]])
def test_del_without_a_link_of_its_own_enters_the_namespace_of_its_container(
    kernel: RenamedLinkKernel, node: FakeNode, types: list[str]
) -> None:
    prepared = _prepare_second_record(kernel, node, "blue", types)
    assert prepared.record.attachment.netns == str(node.netns / "blue")


def test_del_runs_without_the_namespace_if_it_is_the_nodes_own(kernel: RenamedLinkKernel) -> None:
    record = kernel.record()
    own = record._replace(attachment=record.attachment.with_netns("/proc/self/ns/net"), netns_identity="")
    kernel.node = []
    assert prepare(own, kernel.records, is_name_needed=False).carry_out().attachment.netns == ""


def test_a_device_without_a_link_is_left_to_its_plugin(kernel: RenamedLinkKernel) -> None:
    result = {**NEW_RESULT, "interfaces": [{"name": "eth0", "mac": MAC, "sandbox": "/x", "pciID": "0000:00:01.0"}]}
    kernel.inside = [OURS]
    assert kernel.prepare("host-device", result) == {}
