# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of records that no recorded case has."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, expected_state
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.tests.support.error_of import error_of

RESULT: JsonObject = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "cni0", "mac": "02:00:00:00:00:09"}, {"name": "veth7"}, {"name": "eth0", "sandbox": "/x"}],
    "ips": [{"address": "10.1.0.2/16", "gateway": "10.1.0.1", "interface": 2}],
}


def state(*plugins: JsonObject, result: JsonObject | None = None, **keys: t.Any) -> resources.State:
    document = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins}
    network = config.parse(json.dumps(document).encode(), "net")
    given = {"ifname": "eth0", "netns": "/x", "args": {}, "capability_args": {}, **keys}
    attachment = Attachment("net", "blue", **given)
    record = Record(attachment, network.content, Result("1.0.0", result or RESULT))
    found = expected_state(RecordedRequests(record), "/leases")
    assert found is not None
    return found


def test_the_gateway_of_a_vlan_is_on_a_link_of_its_own() -> None:
    result = {**RESULT, "interfaces": [*RESULT["interfaces"], {"name": "cni0.100"}]}
    found = state({"type": "bridge", "vlan": 100, "isGateway": True}, result=result)
    assert [(each.link, str(each.interface)) for each in found if isinstance(each, resources.ExpectedAddress)] == [
        ("eth0", "10.1.0.2/16"),
        ("cni0.100", "10.1.0.1/16"),
    ]
    assert [each for each in found if isinstance(each, resources.Port)] == [
        resources.Port("veth7", "cni0", vlan=100, leaves_default_vlan=True),
        resources.Port("cni0.100", "cni0", by_peer=True, vlan=100, leaves_default_vlan=True),
    ]
    assert [each.filters_vlans for each in found if isinstance(each, resources.Bridge)] == [True]


PORTS: dict[str, tuple[JsonObject, resources.Port]] = {
    "access": (
        {"vlan": 7},
        resources.Port("veth7", "cni0", vlan=7, leaves_default_vlan=True),
    ),
    "access beside the default": (
        {"vlan": 7, "preserveDefaultVlan": True},
        resources.Port("veth7", "cni0", vlan=7),
    ),
    "trunk": (
        {"vlanTrunk": [{"id": 9}, {"minID": 3, "maxID": 5}, {"minID": 4, "maxID": 5, "id": 2}]},
        resources.Port("veth7", "cni0", vlan=1, trunk=(2, 3, 4, 5, 9), leaves_default_vlan=True),
    ),
    "access VLAN in the trunk": (
        {"vlan": 7, "vlanTrunk": [{"id": 7}, {"id": 8}], "preserveDefaultVlan": True},
        resources.Port("veth7", "cni0", vlan=7, trunk=(8,)),
    ),
    "none": ({"vlan": 0}, resources.Port("veth7", "cni0")),
}


@pytest.mark.parametrize(("keys", "port"), PORTS.values(), ids=PORTS)
def test_a_port_has_the_configured_vlans(keys: JsonObject, port: resources.Port) -> None:
    found = state({"type": "bridge", **keys})
    assert [each for each in found if isinstance(each, resources.Port)] == [port]
    bridges = [each for each in found if isinstance(each, resources.Bridge)]
    assert [bridge.filters_vlans for bridge in bridges] == [port.has_vlans]


def test_a_delegated_bridge_is_a_gateway_by_default() -> None:
    found = state({"type": "flannel", "delegate": {"hairpinMode": True}})
    assert resources.Bridge("cni0", mac="02:00:00:00:00:09") in found
    assert resources.Port("veth7", "cni0", is_hairpin=True) in found
    assert resources.Sysctl("net/ipv4/ip_forward", "1", inside=False) in found


MODES = (
    ({"type": "macvlan"}, "bridge"),
    ({"type": "macvlan", "mode": "private"}, "private"),
    ({"type": "ipvlan", "mode": ""}, "l2"),
    ({"type": "ipvlan", "mode": "l3s"}, "l3s"),
    ({"type": "bridge", "mode": "private"}, ""),
)


@pytest.mark.parametrize(("plugin", "mode"), MODES)
def test_an_interface_has_the_configured_mode_or_the_default_of_its_plugin(plugin: JsonObject, mode: str) -> None:
    found = state({**plugin, "master": "up0"})
    assert [each.mode for each in found if isinstance(each, resources.ExpectedLink) and each.name == "eth0"] == [mode]


def test_the_routes_of_a_vrf_are_in_its_table() -> None:
    result = {**RESULT, "routes": [{"dst": "0.0.0.0/0"}]}
    found = state({"type": "bridge"}, {"type": "vrf", "vrfname": "red", "table": 10}, result=result)
    assert resources.Vrf("red", 10) in found
    assert resources.Port("eth0", "red", inside=True) in found
    assert [(str(each.destination), each.table) for each in found if isinstance(each, resources.ExpectedRoute)] == [
        ("0.0.0.0/0", 10),
        ("10.1.0.0/16", 10),
    ]


# Where the MAC comes from, the strongest first.
MACS: dict[str, tuple[JsonObject, JsonObject]] = {
    "02:00:00:00:00:01": ({"args": {"cni": {"mac": "02:00:00:00:00:01"}}, "mac": "02:00:00:00:00:04"}, {}),
    "02:00:00:00:00:02": ({"mac": "02:00:00:00:00:04"}, {"capability_args": {"mac": "02:00:00:00:00:02"}}),
    "02:00:00:00:00:03": ({"mac": "02:00:00:00:00:04"}, {"args": {"MAC": "02:00:00:00:00:03"}}),
    "02:00:00:00:00:04": ({"mac": "02:00:00:00:00:04"}, {}),
}


@pytest.mark.parametrize(("mac", "given"), MACS.items(), ids=MACS)
def test_tuning_takes_the_mac_from_several_places(mac: str, given: tuple[JsonObject, JsonObject]) -> None:
    keys, arguments = given
    found = state({"type": "bridge"}, {"type": "tuning", "capabilities": {"mac": True}, **keys}, **arguments)
    assert [each.mac for each in found if isinstance(each, resources.ExpectedLink) and each.name == "eth0"] == [mac]


# A plugin that makes an interface or changes it, with a value that its ADD refuses.
REFUSED: tuple[tuple[JsonObject, str], ...] = (
    ({"type": "bandwidth", "ingressRate": "fast"}, "/ingressRate"),
    ({"type": "sbr", "table": "main"}, "/table"),
    ({"type": "bridge", "hairpinMode": "yes"}, "/hairpinMode"),
    ({"type": "bridge", "mtu": "1400"}, "/mtu"),
    ({"type": "ptp", "mtu": -1}, "/mtu"),
    ({"type": "macvlan", "mode": "source"}, "/mode"),
    ({"type": "ipvlan", "mode": 2}, "/mode"),
    ({"type": "vlan", "vlanId": 4095}, "/vlanId"),
    ({"type": "tap", "mac": "02:00"}, "/mac"),
    ({"type": "host-device", "device": "a/b"}, "/device"),
    ({"type": "flannel", "delegate": {"mtu": "1400"}}, "/mtu"),
)


@pytest.mark.parametrize(("plugin", "pointer"), REFUSED)
def test_a_record_with_values_that_add_refuses_is_an_error(plugin: JsonObject, pointer: str) -> None:
    plugins = [{"type": "bridge"}, plugin] if plugin["type"] in ("bandwidth", "sbr") else [plugin]
    error = error_of(lambda: state(*plugins))
    assert (error.code, "its record has values that no plugin accepts" in error.msg) == (Code.DECODE_FAILURE, True)
    assert f"{pointer}: " in error.details


def test_a_veth_with_a_derived_name_is_the_host_end_and_other_links_are_not_changed() -> None:
    interfaces = [RESULT["interfaces"][0], {"name": "nic0"}, {"name": "veth0123abcd"}, RESULT["interfaces"][2]]
    ips = [{**RESULT["ips"][0], "interface": 3}]
    found = state({"type": "bridge"}, result={**RESULT, "interfaces": interfaces, "ips": ips})
    assert [each.name for each in found if isinstance(each, resources.Port)] == ["veth0123abcd"]
    (nic,) = [each for each in found if isinstance(each, resources.ExpectedLink) and each.name == "nic0"]
    assert nic == resources.ExpectedLink("nic0", inside=False)


@pytest.mark.parametrize(
    "item", [{"minID": -(10**12), "maxID": 2}, {"minID": 4093, "maxID": 10**12}, {"id": -7}, {"id": 5000}]
)
def test_a_record_with_a_trunk_that_add_refuses_is_an_error(item: JsonObject) -> None:
    error = error_of(lambda: state({"type": "bridge", "vlanTrunk": [{"id": 5}, item]}))
    assert (error.code, "/vlanTrunk/1/" in error.details) == (Code.DECODE_FAILURE, True)


def test_an_empty_trunk_makes_a_bridge_that_filters_vlans() -> None:
    found = state({"type": "bridge", "vlanTrunk": []})
    assert [each.filters_vlans for each in found if isinstance(each, resources.Bridge)] == [True]


def test_loopback_has_only_loopback_addresses_whatever_its_record_says() -> None:
    ips = [{"address": address} for address in ("127.0.0.1/8", "10.1.0.1/16", "::1/128")]
    found = state({"type": "loopback"}, result={"cniVersion": "1.0.0", "ips": ips}, ifname="lo")
    assert [str(each.interface) for each in found if isinstance(each, resources.ExpectedAddress)] == [
        "127.0.0.1/8",
        "::1/128",
    ]


def test_loopback_has_no_lease_because_it_runs_no_ipam_plugin() -> None:
    ipam = {"type": "host-local", "subnet": "10.1.0.0/16"}
    found = state(
        {"type": "loopback", "ipam": ipam}, result={"cniVersion": "1.0.0", "ips": [{"address": "::1/128"}]}, ifname="lo"
    )
    assert [each for each in found if isinstance(each, resources.ExpectedLease)] == []


@pytest.mark.parametrize("plugin", ["bridge", "host-device", "macvlan"])
def test_no_other_plugin_has_the_loopback_interface_whatever_its_record_says(plugin: str) -> None:
    interfaces = [{"name": "lo", "sandbox": "/x", "mac": "02:00:00:00:00:01", "mtu": 1400}]
    ips = [{"address": "10.1.0.1/16", "interface": 0}, {"address": "127.0.0.1/8", "interface": 0}]
    whole = {"cniVersion": "1.0.0", "interfaces": interfaces, "ips": ips}
    for result in (whole, {**whole, "interfaces": []}):
        found = state({"type": plugin}, result=result, ifname="lo")
        assert [
            each
            for each in found
            if isinstance(each, (resources.ExpectedAddress, resources.ExpectedLink)) and each.inside
        ] == []


def test_loopback_has_no_other_interface_whatever_its_record_says() -> None:
    interfaces = [{"name": name, "sandbox": "/x", "mtu": 1400} for name in ("eth0", "lo")]
    ips = [{"address": "127.0.0.1/8", "interface": number} for number in (0, 1)]
    found = state({"type": "loopback"}, result={"cniVersion": "1.0.0", "interfaces": interfaces, "ips": ips})
    inside = [
        each for each in found if isinstance(each, (resources.ExpectedAddress, resources.ExpectedLink)) and each.inside
    ]
    assert [each.link if isinstance(each, resources.ExpectedAddress) else each.name for each in inside] == ["lo", "lo"]


@pytest.mark.parametrize(
    "keys", [{"bridge": -1}, {"bridge": "a/b"}, {"bridge": "br%d"}, {"bridge": ["br0"]}, {"vlan": 4095}, {"vlan": "97"}]
)
def test_a_bridge_that_no_plugin_accepts_is_not_made(keys: JsonObject) -> None:
    error = error_of(state, {"type": "bridge", "isGateway": True, **keys})
    assert "attachment of blue (eth0) to network net" in error.msg
