# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""DEL removes the link that ADD created, whatever its current name, and frees no address before that."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import prepare
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, addresses, links, namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

SMALL: JsonObject = {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/30", "gateway": "10.1.0.1"}]]}
PLUGINS: dict[str, JsonObject] = {
    "bridge": reference_networks.bridge(ipam=SMALL, ipMasq=True),
    "ptp": {"type": "ptp", "ipam": SMALL, "ipMasq": True},
    "macvlan": {**reference_networks.MACVLAN, "ipam": SMALL},
    "ipvlan": {**reference_networks.IPVLAN, "ipam": SMALL},
    "vlan": {**reference_networks.VLAN, "ipam": SMALL},
    "dummy": {**reference_networks.DUMMY, "ipam": SMALL},
    "host-device": {**reference_networks.HOST_DEVICE, "ipam": SMALL},
}
# A change inside the container, which has the last free address of the network.
DEEDS = {
    "renamed": ["ip link set eth0 down", "ip link set eth0 name foo", "ip link set foo up"],
    "renamed and put in the place of": [
        "ip link set eth0 down",
        "ip link set eth0 name foo",
        "ip link set foo up",
        "ip link add eth0 type bridge",
    ],
    "renamed, and the old name kept beside it": [
        "ip link set eth0 down",
        "ip link set eth0 name foo",
        "ip link property add dev foo altname eth0",
    ],
    "renamed with another MAC": [
        "ip link set eth0 down",
        "ip link set eth0 name foo address 02:00:00:00:00:77",
        "ip link set foo up",
    ],
    "given another MAC that a stranger has left": [
        "ip link add stranger type bridge",
        "ip link set stranger address {mac}",
        "ip link set eth0 address 02:00:00:00:00:77",
    ],
    "renamed to bytes": ["ip link set eth0 down", "ip link set eth0 name \x1b[31m\"'"],
}
UNWILLING = ScriptedAnswer(error={"code": 102, "msg": "not today"})
PAIRS = ("bridge", "ptp")
NO_INTERFACES_IN_RESULT = "0.2.0"


def _do(inside: Namespace, deeds: t.Iterable[str], **known: str) -> None:
    for deed in deeds:
        inside.run(*(word.format(**known) for word in deed.split(" ")))


def _write(node: EngineNode, kind: str, version: str = "1.0.0") -> JsonObject:
    reference_networks.make_uplink()
    if reference_networks.missing_kind([PLUGINS[kind]]):
        pytest.skip(f"this kernel has no {kind}")
    return reference_networks.network(PLUGINS[kind], version=version)


def _attach(node: EngineNode, inside: Namespace, kind: str = "bridge", version: str = "1.0.0") -> JsonObject:
    node.write(_write(node, kind, version))
    item = attachment("net", inside)
    node.attach(item)
    assert node.leases("net") == ["10.1.0.2"]
    return item


def _mac(inside: Namespace) -> str:
    return str(links(inside.name)["eth0"]["address"])


def _pairs() -> list[str]:
    """Return the ends of veth pairs on the node without the uplink."""
    return sorted({name for name in links() if name.startswith("veth")})


def _holders(*namespaces: Namespace) -> list[str]:
    """Return the links that have the address."""
    return [
        link for inside in namespaces for link in links(inside.name) if "10.1.0.2/30" in addresses(link, inside.name)
    ]


def _next_gets_it_alone(node: EngineNode, blue: Namespace) -> None:
    with namespace("green") as green:
        node.attach(attachment("net", green))
        assert node.leases("net") == ["10.1.0.2"]
        assert _holders(blue, green) == ["eth0"]
        node.detach(attachment("net", green))


@pytest.mark.parametrize("version", ["1.0.0", NO_INTERFACES_IN_RESULT])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("kind", PAIRS)
def test_the_link_is_removed_before_its_address_is_freed(
    node: EngineNode, blue: Namespace, kind: str, deed: str, version: str
) -> None:
    item = _attach(node, blue, kind, version)
    _do(blue, DEEDS[deed], mac=_mac(blue))
    assert node.detach(item)[0]["action"] == "removed"
    assert (_pairs(), _holders(blue), node.leases("net")) == ([], [], [])
    assert set(links(blue.name)) <= {"lo", "eth0", "stranger"}
    _next_gets_it_alone(node, blue)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=reference_networks.other_kernel_marks([PLUGINS[kind]]))
        for kind in ("macvlan", "ipvlan", "vlan", "dummy", "host-device")
    ],
)
def test_a_link_other_than_a_veth_is_renamed_back_for_del(node: EngineNode, blue: Namespace, kind: str) -> None:
    item = _attach(node, blue, kind)
    _do(blue, DEEDS["renamed"])
    assert node.detach(item)[0]["action"] == "removed"
    assert (set(links(blue.name)), node.leases("net")) == ({"lo"}, [])
    assert reference_networks.UPLINK in links()


def test_another_link_that_took_the_name_stays(node: EngineNode, blue: Namespace) -> None:
    """Protect the other link: DEL finds links by name and would remove it."""
    item = _attach(node, blue)
    _do(blue, DEEDS["renamed and put in the place of"])
    node.detach(item)
    assert (set(links(blue.name)), _pairs(), node.leases("net")) == ({"lo", "eth0"}, [], [])


def test_another_link_with_the_name_stays_after_a_failed_del(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(PLUGINS["bridge"], {"type": "odd"}))
    node.plugins.write("odd", DEL=UNWILLING)
    item = attachment("net", blue)
    node.attach(item)
    _do(blue, DEEDS["renamed and put in the place of"])
    for dummy in range(2):
        node.run("attachments", attachments=[{**item, "state": "absent"}]).require_failure("not today")
    node.plugins.write("odd")
    node.detach(item)
    assert (set(links(blue.name)), _pairs(), node.leases("net")) == ({"lo", "eth0"}, [], [])


def test_two_attachments_with_swapped_names_lose_their_own_links(node: EngineNode, blue: Namespace) -> None:
    for name, subnet in (("net", "10.1.0.0/16"), ("other", "10.2.0.0/16")):
        ipam = reference_networks.host_local(subnet)
        node.write(reference_networks.network(reference_networks.bridge(bridge=f"br-{name}", ipam=ipam), name=name))
    first, second = attachment("net", blue), attachment("other", blue, ifname="eth1")
    node.attach(first, second)
    swap = [f"ip link set eth{number} down" for number in (0, 1)]
    swap += ["ip link set eth0 name x", "ip link set eth1 name eth0", "ip link set x name eth1"]
    _do(blue, swap)
    node.detach(first)
    assert (addresses("eth0", blue.name), node.leases("net"), node.leases("other")) == (
        {"10.2.0.2/16"},
        [],
        ["10.2.0.2"],
    )
    assert set(links(blue.name)) == {"lo", "eth0"}
    node.detach(second)
    assert (set(links(blue.name)), _pairs(), node.leases("other")) == ({"lo"}, [], [])


def test_a_link_moved_to_another_namespace_is_removed_with_its_host_end(node: EngineNode, blue: Namespace) -> None:
    with namespace("green") as green:
        item = _attach(node, blue)
        _do(blue, ["ip link set eth0 netns green"])
        _do(green, ["ip address add 10.1.0.2/30 dev eth0"])
        node.detach(item)
        assert (_pairs(), _holders(blue, green), node.leases("net")) == ([], [], [])


def test_a_link_in_a_namespace_without_a_path_is_removed_with_its_host_end(node: EngineNode, blue: Namespace) -> None:
    """Keep the namespace alive by a process only."""
    item = _attach(node, blue)
    kept = subprocess.Popen(blue.argv("sleep", "600"))
    try:
        # Wait until it has entered the namespace.
        until(lambda: os.readlink(f"/proc/{kept.pid}/exe").endswith(("sleep", "busybox", "coreutils")) or None, 60)
        subprocess.run(["ip", "netns", "delete", blue.name], check=True)
        node.detach(item)
        assert (_pairs(), node.leases("net")) == ([], [])
    finally:
        kept.kill()
        kept.wait()


@pytest.mark.parametrize("check", ["always", "drift"])
def test_a_renamed_link_is_recreated_under_its_own_name(node: EngineNode, blue: Namespace, check: str) -> None:
    item = _attach(node, blue)
    _do(blue, DEEDS["renamed"])
    (entry,) = node.attach(item, check=check)
    assert (entry["action"], entry["reason"]) == (
        "recreated",
        f"interface eth0 is called foo now; looked for in {blue.path}",
    )
    assert (set(links(blue.name)), len(_pairs()), _holders(blue)) == ({"lo", "eth0"}, 1, ["eth0"])


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_link_whose_name_is_taken_is_not_recreated(node: EngineNode, blue: Namespace, check_mode: bool) -> None:
    item = _attach(node, blue)
    _do(blue, DEEDS["renamed and put in the place of"])
    node.refusal(
        item,
        "its interface is now named foo, and another interface in /run/netns/blue is named eth0",
        "rename or remove the other interface, then run again",
        _ansible_check_mode=check_mode,
    )
    assert node.leases("net") == ["10.1.0.2"]


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_node_device_whose_name_is_taken_is_not_lost(node: EngineNode, blue: Namespace, check_mode: bool) -> None:
    item = _attach(node, blue, "host-device")
    _do(blue, DEEDS["renamed and put in the place of"])
    node.refusal({**item, "state": "absent"}, "its interface is now named foo", _ansible_check_mode=check_mode)
    _do(blue, ["ip link delete eth0"])
    node.detach(item)
    assert (set(links(blue.name)), node.leases("net"), reference_networks.UPLINK in links()) == ({"lo"}, [], True)


HIDDEN = [
    "ip link set eth0 down",
    "ip link set eth0 name foo",
    "ip link set foo alias foo address 02:00:00:00:00:77",
]
DISGUISES = {
    "renamed": ["ip link set eth0 down", "ip link set eth0 name foo", "ip link set foo alias pwn0"],
    "given another alias": ["ip link set eth0 alias pwn0"],
    "given another MAC": ["ip link set eth0 address 02:00:00:00:00:77"],
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("builtin", ["always", "missing"])
def test_a_device_returns_under_its_own_name_whatever_its_container_did(
    node: EngineNode, blue: Namespace, builtin: str, disguise: str
) -> None:
    node.builtin = builtin
    item = _attach(node, blue, "host-device")
    device = links(blue.name)["eth0"]["ifindex"]
    _do(blue, DISGUISES[disguise])
    assert node.detach(item)[0]["action"] == "removed"
    assert (set(links(blue.name)), node.leases("net")) == ({"lo"}, [])
    assert (links()[reference_networks.UPLINK]["ifindex"], "pwn0" in links()) == (device, False)


DECOYS = {
    "a pair of the container": ["ip link add eth0 type veth peer name tap"],
    "a bridge with the MAC": ["ip link add eth0 type bridge", "ip link set eth0 address {mac}"],
}


@pytest.mark.parametrize("alias", ["pwn0", reference_networks.UPLINK])
@pytest.mark.parametrize("decoy", DECOYS)
@pytest.mark.parametrize("builtin", ["always", "missing"])
def test_a_link_in_the_place_of_a_device_is_not_given_to_the_node(
    node: EngineNode, blue: Namespace, builtin: str, decoy: str, alias: str
) -> None:
    node.builtin = builtin
    item = _attach(node, blue, "host-device")
    _do(blue, [*HIDDEN, *DECOYS[decoy], f"ip link set eth0 alias {alias}"], mac=_mac(blue))
    before = links()
    what = "interface eth0 is not known to be the device of the node"
    node.refusal({**item, "state": "absent"}, what)
    assert (links().keys(), node.leases("net")) == (before.keys(), ["10.1.0.2"])


def test_gc_finds_a_renamed_link(node: EngineNode, blue: Namespace) -> None:
    item = _attach(node, blue)
    _do(blue, DEEDS["renamed"])
    os.utime(node.record_of(item), (0, 0))
    findings = node.run("gc", valid_attachments=[]).succeeded().result["findings"]
    assert [(finding["kind"], finding["action"]) for finding in findings] == [("record", "deleted")]
    assert (set(links(blue.name)), _pairs(), node.leases("net")) == ({"lo"}, [], [])


@pytest.mark.parametrize("is_gone", [True, False])
def test_the_pair_that_another_record_names_is_not_removed(node: EngineNode, blue: Namespace, is_gone: bool) -> None:
    with namespace("green") as green:
        node.write(reference_networks.network(reference_networks.bridge(ipMasq=True)))
        first, second = attachment("net", blue), attachment("net", green)
        node.attach(first, second)
        forged, victim = (node.record_of(item) for item in (first, second))
        ends = [json.loads(path.read_text(encoding="utf-8"))["result"]["interfaces"][1] for path in (forged, victim)]
        text = forged.read_text(encoding="utf-8").replace(ends[0]["name"], ends[1]["name"])
        # Even with the MAC of the other container.
        forged.write_text(text.replace(_mac(blue), _mac(green)), encoding="utf-8")
        if is_gone:
            subprocess.run(["ip", "netns", "delete", blue.name], check=True)
            # The kernel removes what the network namespace had a moment later.
            until(lambda: ends[0]["name"] not in links() or None)
        node.detach(first)
        assert (_pairs(), set(links(green.name))) == ([ends[1]["name"]], {"lo", "eth0"})
        node.detach(second)
        assert (_pairs(), node.leases("net")) == ([], [])


def test_a_name_taken_during_del_stays_and_no_address_is_freed(
    node: EngineNode, engine: Engine, blue: Namespace
) -> None:
    item = _attach(node, blue)
    _do(blue, DEEDS["renamed"])
    records = AllRecords(engine.runtime.records, engine.runtime.paths.state_dir)
    preparation = prepare(engine.record(item), records, is_name_needed=False)
    _do(blue, ["ip link add eth0 type bridge"])
    with pytest.raises(CniError, match="cannot rename the link foo in /run/netns/blue: File exists"):
        preparation.carry_out()
    assert (_holders(blue), links(blue.name)["foo"]["flags"].count("UP")) == (["foo"], 1)


@pytest.mark.parametrize("ifname", ["eth0", "eth1"])
@pytest.mark.parametrize("builtin", ["never", "always"])
def test_del_leaves_the_interface_of_a_network_namespace_that_another_record_describes(
    node: EngineNode, blue: Namespace, builtin: str, ifname: str
) -> None:
    item = _attach(node, blue)
    victim = node.record_of(item)
    forged = json.loads(victim.read_text(encoding="utf-8"))
    result = (
        {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/30"}]} if ifname == "eth1" else {"cniVersion": "1.0.0"}
    )
    forged.update(containerId="forged", ifName=ifname, result=result)
    other = {**item, "container_id": "forged", "ifname": ifname}
    node.record_of(other).write_text(json.dumps(forged), encoding="utf-8")
    before = links(blue.name)
    assert require_success(Engine(node, builtin).ensure(other, present=False))[0] == "removed"
    assert (links(blue.name), node.leases("net"), node.record_of(other).exists()) == (before, ["10.1.0.2"], False)
    node.detach(item)
    assert (set(links(blue.name)), _pairs(), node.leases("net")) == ({"lo"}, [], [])


def test_a_repair_leaves_the_interface_of_a_network_namespace_that_another_record_describes(
    node: EngineNode, blue: Namespace
) -> None:
    item = _attach(node, blue)
    forged = json.loads(node.record_of(item).read_text(encoding="utf-8"))
    forged["containerId"] = "forged"
    forged["result"]["interfaces"] = []
    forged["result"]["routes"] = [{"dst": "10.9.0.0/16", "gw": "10.1.0.1"}]
    node.record_of({**item, "container_id": "forged"}).write_text(json.dumps(forged), encoding="utf-8")
    before = blue.routes()
    entries = node.run("repair").succeeded().entries
    assert [entry["reason"] for entry in entries if entry["container_id"] == "forged"] == [
        "the record of container blue describes interface eth0"
    ]
    assert blue.routes() == before
