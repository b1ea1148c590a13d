# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins change no link of the node that is not the attachment's."""

from __future__ import annotations

import contextlib
import json
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace

pytestmark = [pytest.mark.requires_root]

DEVICE: JsonObject = {"type": "host-device", "device": "hd0"}


@pytest.fixture
def red() -> t.Iterator[Namespace]:
    with namespace("red") as made:
        yield made


@pytest.fixture
def device() -> t.Iterator[None]:
    """Make the node's device, a veth whose other end is in another namespace."""
    with _veth("hd0"):
        yield


@contextlib.contextmanager
def _veth(name: str) -> t.Iterator[None]:
    with namespace("wire"):
        run(f"ip link add {name} type veth peer name e1 netns wire")
        yield
        # The kernel removes a namespace and its links later, those of the container's before or after this.
        subprocess.run(["ip", "-n", "wire", "link", "del", "e1"], check=False, stderr=subprocess.DEVNULL)


def run(*commands: str, inside: Namespace | None = None) -> None:
    for command in commands:
        argv = command.split()
        subprocess.run(inside.argv(*argv) if inside else argv, check=True)


def call(
    command: str, keys: JsonObject, netns: str, result: JsonObject | None = None, ifname: str = "eth0"
) -> JsonObject:
    request = {"cniVersion": "1.0.0", "name": "net", **keys, **({"prevResult": result} if result else {})}
    parameters = Parameters(command, Attachment("net", "c1", ifname, netns))
    plugin = registry.load(keys["type"])
    output = protocol.call(plugin, json.dumps(request).encode(), parameters, ProcessExecutor([], 60))
    return dict(json.loads(output)) if output else {}


RENAMED = ("ip link set eth0 down", "ip link set eth0 name x0")
HIDDEN = (*RENAMED, "ip link set x0 address 02:00:00:00:00:99")


@pytest.mark.usefixtures("device")
def test_del_of_host_device_finds_a_renamed_device(red: Namespace) -> None:
    result = call("ADD", DEVICE, str(red.path))
    run(*RENAMED, inside=red)
    call("DEL", DEVICE, str(red.path), result)
    assert ("hd0" in links(), set(red.links())) == (True, {"lo"})


@pytest.mark.parametrize("keys", [DEVICE, {"type": "host-device", "hwaddr": "02:00:00:00:00:0d"}], ids=["name", "MAC"])
@pytest.mark.usefixtures("device")
def test_del_after_a_failed_add_leaves_the_device_to_the_attachment_that_has_it(
    red: Namespace, keys: JsonObject
) -> None:
    run("ip link set hd0 address 02:00:00:00:00:0d")
    result = call("ADD", keys, str(red.path))
    with pytest.raises(CniError):
        call("ADD", keys, str(red.path), ifname="eth1")
    call("DEL", keys, str(red.path), ifname="eth1")
    assert set(red.links()) == {"lo", "eth0"}
    call("DEL", keys, str(red.path), result)
    assert "hd0" in links()


@pytest.mark.usefixtures("device")
def test_del_of_host_device_ignores_the_name_in_an_alias(red: Namespace) -> None:
    result = call("ADD", DEVICE, str(red.path))
    run("ip link set eth0 alias pwn0", inside=red)
    call("DEL", DEVICE, str(red.path), result)
    assert ("hd0" in links(), "pwn0" in links()) == (True, False)


@pytest.mark.parametrize("are_aliases_swapped", [False, True])
@pytest.mark.usefixtures("device")
def test_del_of_host_device_never_confuses_two_devices_that_were_swapped(
    red: Namespace, are_aliases_swapped: bool
) -> None:
    run("ip link add hd2 type veth peer name e2 netns wire")
    try:
        _swap_devices(red, are_aliases_swapped)
    finally:
        # The kernel would remove it some time after its namespace.
        subprocess.run(["ip", "-n", "wire", "link", "del", "e2"], check=False)


def _swap_devices(red: Namespace, are_aliases_swapped: bool) -> None:
    devices = {"eth0": DEVICE, "eth1": {**DEVICE, "device": "hd2"}}
    before = {name: links()[keys["device"]]["address"] for name, keys in devices.items()}
    results = {name: call("ADD", keys, str(red.path), ifname=name) for name, keys in devices.items()}
    swap = ["eth0 down", "eth1 down", "eth0 name x0", "eth1 name eth0", "x0 name eth1"]
    swap += ["eth0 alias hd0", "eth1 alias hd2"] if are_aliases_swapped else []
    run(*(f"ip link set {words}" for words in swap), inside=red)
    for name, keys in devices.items():
        with contextlib.suppress(CniError) if are_aliases_swapped else contextlib.nullcontext():
            call("DEL", keys, str(red.path), results[name], name)
    found = {name: links().get(keys["device"], {}).get("address") for name, keys in devices.items()}
    assert found == (dict.fromkeys(devices) if are_aliases_swapped else before)


@pytest.mark.parametrize("alias", ["eth9", "hd0"])
@pytest.mark.usefixtures("device")
def test_del_of_host_device_refuses_a_link_that_the_container_made(red: Namespace, alias: str) -> None:
    result = call("ADD", DEVICE, str(red.path))
    made = ("ip link add eth0 type veth peer name tap", f"ip link set eth0 alias {alias}")
    run(*HIDDEN, *made, inside=red)
    before = set(links())
    with pytest.raises(CniError, match="is not known to be the device of the node"):
        call("DEL", DEVICE, str(red.path), result)
    assert set(links()) == before


BRIDGE: JsonObject = {"type": "bridge", "bridge": "own0"}
SWAPPED = (*RENAMED, "ip link set hd0 down", "ip link set hd0 name eth0")


@pytest.mark.parametrize("is_mac_forged", [True, False])
@pytest.mark.usefixtures("device")
def test_del_of_bridge_removes_its_own_pair_and_not_a_device_that_has_its_name(
    red: Namespace, is_mac_forged: bool
) -> None:
    result = call("ADD", BRIDGE, str(red.path))
    host_end = result["interfaces"][1]["name"]
    mac = result["interfaces"][2]["mac"]
    run("ip link set hd0 netns red")
    run(*SWAPPED, inside=red)
    if is_mac_forged:
        run("ip link set x0 address 02:00:00:00:00:98", f"ip link set eth0 address {mac}", inside=red)
    call("DEL", BRIDGE, str(red.path), result)
    assert (set(red.links()), host_end in links()) == ({"lo", "eth0"}, False)


@pytest.mark.parametrize("plugin_type", ["bridge", "ptp", "macvlan", "tap"])
@pytest.mark.usefixtures("device")
def test_del_without_a_result_leaves_a_device_of_the_node(red: Namespace, plugin_type: str) -> None:
    run("ip link set hd0 netns red")
    run("ip link set hd0 name eth0", inside=red)
    call("DEL", {"type": plugin_type}, str(red.path))
    assert set(red.links()) == {"lo", "eth0"}


def test_del_without_a_result_removes_the_pair_of_the_plugin(red: Namespace) -> None:
    call("ADD", BRIDGE, str(red.path))
    call("DEL", BRIDGE, str(red.path))
    assert set(red.links()) == {"lo"}


def test_del_without_a_result_removes_a_pair_that_a_killed_plugin_left_in_the_container(red: Namespace) -> None:
    run("ip link add eth0 type veth peer name veth0123abcd", inside=red)
    call("DEL", BRIDGE, str(red.path))
    assert set(red.links()) == {"lo"}


def test_del_of_bridge_leaves_a_link_of_another_kind(red: Namespace) -> None:
    result = call("ADD", BRIDGE, str(red.path))
    run("ip link delete eth0", "ip link add eth0 type bridge", inside=red)
    call("DEL", BRIDGE, str(red.path), result)
    assert set(red.links()) == {"lo", "eth0"}


OWN_PATHS = ("/proc/self/ns/net", "/proc/1/ns/net", "/proc/thread-self/ns/net")
TYPES: dict[str, JsonObject] = {
    name: {"type": name} for name in ("bridge", "ptp", "macvlan", "ipvlan", "vlan", "dummy", "tap", "loopback", "sbr")
}
TYPES["vrf"] = {"type": "vrf", "vrfname": "blue"}
TYPES["tuning"] = {"type": "tuning"}
TYPES["host-device"] = {"type": "host-device", "device": "eth0"}


def test_every_built_in_plugin_that_enters_a_container_is_tried_in_the_nodes_own_namespace() -> None:
    assert registry.TYPES - TYPES.keys() == {"bandwidth", "firewall", "host-local", "portmap", "static"}


@pytest.mark.parametrize("path", OWN_PATHS)
@pytest.mark.parametrize("plugin_type", TYPES)
def test_del_leaves_the_links_of_the_nodes_own_namespace(plugin_type: str, path: str) -> None:
    with _veth("eth0"):
        run("ip link set lo up", "ip link set eth0 up")
        before = {name: "UP" in link["flags"] for name, link in links().items()}
        call("DEL", TYPES[plugin_type], path)
        assert {name: "UP" in link["flags"] for name, link in links().items()} == before


def test_cni_netns_override_does_not_concern_plugins_in_the_process_of_a_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CNI_NETNS_OVERRIDE", "true")
    with pytest.raises(CniError, match="is the node's own network namespace"):
        call("ADD", {"type": "loopback"}, OWN_PATHS[0])
