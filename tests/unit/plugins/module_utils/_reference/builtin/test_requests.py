# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins refuse a bad request with the place of the value, before they look at the container."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.bridge_config import read_config
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.single_link import Ipvlan, Macvlan, Vlan
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.key_case import in_other_case
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request

PREV: JsonObject = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "veth7"}, {"name": "eth0", "sandbox": "/run/netns/blue"}],
    "ips": [{"address": "10.1.0.2/16", "interface": 1}],
}
PREV_IPV6: JsonObject = {**PREV, "ips": [*PREV["ips"], {"address": "fd00::2/64", "interface": 1}]}
PORT: JsonObject = {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}


def ports(**keys: t.Any) -> JsonObject:
    return {"runtimeConfig": {"portMappings": [PORT, {**PORT, **keys}]}}


REFUSED: list[tuple[str, JsonObject, str]] = [
    ("bridge", {"mtu": 1 << 31}, "/mtu: 2147483648 is out of range"),
    ("bridge", {"mtu": "1500"}, "/mtu: expected a number, found a string"),
    ("bridge", {"bridge": "b" * 16}, "/bridge: 'bbbbbbbbbbbbbbbb' is not the name of a link"),
    ("bridge", {"bridge": "ü" * 8}, "/bridge: 'üüüüüüüü' is not the name of a link"),
    ("bridge", {"bridge": "br%d"}, "/bridge: 'br%d' is not the name of a link"),
    ("bridge", {"bridge": "all"}, "/bridge: 'all' is not the name of a link"),
    (
        "bridge",
        {"bridge": "longest-name-15", "vlan": 7, "isGateway": True},
        "/bridge: 'longest-name-15' is too long for a link longest-name-15.7",
    ),
    ("host-device", {"device": "eth%d"}, "/device: 'eth%d' is not the name of a link"),
    ("vrf", {"vrfname": "blue%d"}, "/vrfname: 'blue%d' is not the name of a link"),
    ("bridge", {"vlan": 4095}, "/vlan: 4095 is not a VLAN"),
    ("bridge", {"vlan": -1}, "/vlan: -1 is not a VLAN"),
    ("bridge", {"vlanTrunk": [{"id": 5}, {"id": 0}]}, "/vlanTrunk/1/id: 0 is not a VLAN"),
    ("bridge", {"vlanTrunk": [{"minID": 5}]}, "/vlanTrunk/0: only minID is set"),
    ("bridge", {"vlanTrunk": [{"minID": 9, "maxID": 5}]}, "/vlanTrunk/0: minID 9 is greater than maxID 5"),
    ("bridge", {"hairpinMode": True, "promiscMode": True}, "/hairpinMode and /promiscMode are mutually exclusive"),
    (
        "bridge",
        {"disableContainerInterface": True, "ipam": {"type": "x"}},
        "/disableContainerInterface and /ipam are mutually exclusive",
    ),
    ("bridge", {"ipMasq": "true"}, "/ipMasq: expected a boolean, found a string"),
    ("bridge", {"ipMasqBackend": "firewalld"}, "/ipMasqBackend: 'firewalld' is unknown"),
    ("ptp", {"ipMasqBackend": "nft"}, "/ipMasqBackend: 'nft' is unknown"),
    ("bridge", {"runtimeConfig": {"mac": "x"}}, "/runtimeConfig/mac: 'x' is not a MAC"),
    ("bridge", {"args": {"cni": {"mac": "02:00:00:00:00"}}}, "/args/cni/mac: '02:00:00:00:00' is not a MAC"),
    ("bandwidth", {"ingressRate": 8}, "/ingressRate needs /ingressBurst"),
    ("bandwidth", {"egressBurst": 8}, "/egressBurst needs /egressRate"),
    ("bandwidth", {"egressRate": 64, "egressBurst": 1 << 36}, "/egressBurst: 68719476736 is out of range"),
    ("bandwidth", {"egressRate": -8, "egressBurst": 8}, "/egressRate: -8 is out of range"),
    (
        "bandwidth",
        {"runtimeConfig": {"bandwidth": {"ingressRate": 8}}},
        "/runtimeConfig/bandwidth/ingressRate needs /runtimeConfig/bandwidth/ingressBurst",
    ),
    ("firewall", {"ingressPolicy": "closed"}, "/ingressPolicy: 'closed' is unknown"),
    ("firewall", {"backend": "nftables"}, "/backend: 'nftables' is unknown"),
    ("portmap", ports(hostPort=0), "/runtimeConfig/portMappings/1/hostPort: 0 is not a port"),
    ("portmap", ports(containerPort=65536), "/runtimeConfig/portMappings/1/containerPort: 65536 is not a port"),
    ("portmap", ports(hostIP="x"), "/runtimeConfig/portMappings/1/hostIP: 'x' is not an address"),
    ("portmap", ports(hostIP="fe80::1%lo"), "/runtimeConfig/portMappings/1/hostIP: 'fe80::1%lo' is not an address"),
    ("portmap", ports(protocol="tcp -j ACCEPT"), "/runtimeConfig/portMappings/1/protocol: 'tcp -j ACCEPT' is not a"),
    (
        "portmap",
        {"runtimeConfig": {"portMappings": True}},
        "/runtimeConfig/portMappings: expected a list, found a boolean",
    ),
    ("portmap", {"runtimeConfig": {"portMappings": 5}}, "/runtimeConfig/portMappings: expected a list, found a number"),
    (
        "portmap",
        {"runtimeConfig": {"portMappings": {}}},
        "/runtimeConfig/portMappings: expected a list, found an object",
    ),
    ("portmap", {"runtimeConfig": {"portMappings": [8080]}}, "/runtimeConfig/portMappings/0: expected an object"),
    ("portmap", {"runtimeConfig": []}, "/runtimeConfig: expected an object, found a list"),
    ("portmap", ports(hostPort=True), "/runtimeConfig/portMappings/1/hostPort: expected a number, found a boolean"),
    ("portmap", ports(hostPort=80.5), "/runtimeConfig/portMappings/1/hostPort: 80.5 is not a 64-bit integer"),
    ("portmap", ports(hostPort="80"), "/runtimeConfig/portMappings/1/hostPort: expected a number, found a string"),
    ("portmap", {"snat": "false"}, "/snat: expected a boolean, found a string"),
    ("portmap", {"masqAll": "true"}, "/masqAll: expected a boolean, found a string"),
    ("bandwidth", {"runtimeConfig": {"bandwidth": 5}}, "/runtimeConfig/bandwidth: expected an object, found a number"),
    ("host-local", {"runtimeConfig": {"ipRanges": {}}}, "/runtimeConfig/ipRanges: expected a list of range sets"),
    ("host-local", {"ipam": {"ranges": False}}, "/ipam/ranges: expected a list of range sets"),
    ("static", {"ipam": {}, "runtimeConfig": {"ips": "10.1.0.2/24"}}, "/runtimeConfig/ips: expected a list, found a"),
    ("bridge", {"runtimeConfig": {"mac": 5}}, "/runtimeConfig/mac: expected a string, found a number"),
    ("host-device", {"runtimeConfig": {"deviceID": True}}, "/runtimeConfig/deviceID: expected a string, found a"),
    ("portmap", {"markMasqBit": 32}, "/markMasqBit: 32 is not a bit of a mark"),
    (
        "portmap",
        {"markMasqBit": 1, "externalSetMarkChain": "X"},
        "/markMasqBit and /externalSetMarkChain are mutually exclusive",
    ),
    ("portmap", {"backend": "ipvs"}, "/backend: 'ipvs' is unknown"),
    (
        "portmap",
        {"backend": "nftables", "externalSetMarkChain": "X"},
        "/externalSetMarkChain cannot be used with the backend nftables",
    ),
    ("tuning", {"sysctl": {"kernel.hostname": "x"}}, "/sysctl/kernel.hostname is not a network setting"),
    (
        "tuning",
        {"args": {"cni": {"sysctl": {"vm.swappiness": "1"}}}},
        "/args/cni/sysctl/vm.swappiness is not a network",
    ),
    ("tuning", {"sysctl": {"net.core.somaxconn": 500}}, "/sysctl/net.core.somaxconn: expected a string, found a"),
    (
        "tuning",
        {"sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1", "net/ipv4/conf/eth0/arp_filter": "0"}},
        "/sysctl/net/ipv4/conf/eth0/arp_filter is the setting net.ipv4.conf.IFNAME.arp_filter, with another value",
    ),
    ("tuning", {"txQLen": -1}, "/txQLen: -1 is out of range"),
    ("tuning", {"prevResult": PREV_IPV6, "mtu": 1279}, "an MTU of 1279 bytes removes the IPv6 addresses of eth0"),
    (
        "tuning",
        {"prevResult": PREV_IPV6, "args": {"cni": {"mtu": 1200}}},
        "an MTU of 1200 bytes removes the IPv6 addresses of eth0",
    ),
    (
        "tuning",
        {"prevResult": PREV_IPV6, "sysctl": {"net.ipv6.conf.all.disable_ipv6": "1"}},
        "the setting net/ipv6/conf/all/disable_ipv6 removes the IPv6 addresses of eth0",
    ),
    (
        "tuning",
        {"prevResult": PREV_IPV6, "args": {"cni": {"sysctl": {"net.ipv6.conf.IFNAME.disable_ipv6": "1"}}}},
        "the setting net/ipv6/conf/eth0/disable_ipv6 removes the IPv6 addresses of eth0",
    ),
    ("tuning", {"mac": "02-00-00-00-00-0g"}, "/mac: '02-00-00-00-00-0g' is not a MAC"),
    ("static", {}, "the request has no key ipam"),
    ("static", {"ipam": {"addresses": [{"address": "10.1.0.2"}]}}, "/ipam/addresses/0/address: '10.1.0.2' is not an"),
    (
        "static",
        {"ipam": {"addresses": [{"address": "fe80::2%lo/64"}]}},
        "/ipam/addresses/0/address: 'fe80::2%lo/64' is not an",
    ),
    ("static", {"ipam": {"routes": [{"gw": "10.1.0.1"}]}}, "/ipam/routes/0/dst is missing"),
    ("static", {"ipam": {"addresses": [{"address": "0.0.0.0/0"}]}}, "0.0.0.0/0 means no address"),
    ("static", {"ipam": {"addresses": [{"address": "224.0.0.5/24"}]}}, "224.0.0.5/24 is a multicast address"),
    ("static", {"ipam": {"addresses": [{"address": "ff02::5/64"}]}}, "ff02::5/64 is a multicast address"),
    (
        "static",
        {"ipam": {"addresses": [{"address": "10.1.0.255/24"}]}},
        "10.1.0.255/24 is the broadcast address of 10.1.0.0/24",
    ),
    ("static", {"ipam": {}, "runtimeConfig": {"ips": ["10.1.0.255/24"]}}, "10.1.0.255/24 is the broadcast address"),
    (
        "static",
        {"ipam": {"addresses": [{"address": "10.1.0.5/24"}, {"address": "::ffff:10.1.0.5/120"}]}},
        "10.1.0.5/24 is given twice",
    ),
    ("static", {"ipam": {"routes": [{"dst": "10.0.0.0/8", "mtu": 1.5}]}}, "/ipam/routes/0/mtu: 1.5 is not a"),
]


@pytest.mark.parametrize(("plugin", "keys", "message"), REFUSED)
def test_a_value_that_is_not_valid_is_refused_with_its_place(plugin: str, keys: JsonObject, message: str) -> None:
    error = error_of(registry.load(plugin).add, read_request(**{"prevResult": PREV, **keys}))
    assert error.msg.startswith(message)
    assert error.code == 999  # the code of the reference plugins for all of these
    if "prevResult" not in keys:
        before = error_of(registry.load(plugin).require_accepted, read_request(**keys))
        assert (before.msg, before.details) == (error.msg, error.details)


@pytest.mark.parametrize("plugin", ["firewall", "portmap", "sbr", "tuning"])
def test_a_chained_plugin_needs_a_previous_result(plugin: str) -> None:
    assert "the request has no prevResult" in error_of(registry.load(plugin).add, read_request()).msg


@pytest.mark.parametrize(
    ("plugin", "keys", "message"),
    [
        (Macvlan(), {"mode": "source"}, "/mode: 'source' is unknown"),
        (Ipvlan(), {"mode": "bridge"}, "/mode: 'bridge' is unknown"),
        (Vlan(), {"vlanId": 4095}, "/vlanId: 4095 is not a VLAN"),
    ],
)
def test_a_link_has_a_mode_or_a_vlan_of_its_kind(plugin: t.Any, keys: JsonObject, message: str) -> None:
    assert error_of(plugin.read, read_request(**keys)).msg == message


def test_a_vlan_needs_a_master() -> None:
    assert error_of(Vlan().master, read_request()).msg == "/master is missing"


def test_an_ipvlan_has_the_interface_of_the_previous_plugin_as_master_if_it_is_the_only_one() -> None:
    single = {**PREV, "interfaces": PREV["interfaces"][1:], "ips": []}
    assert Ipvlan().master(read_request(prevResult=single)) == "eth0"
    assert "does not have a single interface" in error_of(Ipvlan().master, read_request(prevResult=PREV)).msg


vlans = st.integers(1, 4094)
trunk_items = vlans.map(lambda vlan: {"id": vlan}) | st.tuples(vlans, st.integers(0, 5)).map(
    lambda ends: {"minID": ends[0], "maxID": min(4094, ends[0] + ends[1])}
)


@settings(max_examples=40)
@given(st.lists(trunk_items, max_size=5))
def test_a_trunk_has_every_vlan_of_its_items_once_and_in_order(items: list[JsonObject]) -> None:
    config = read_config(read_request(vlanTrunk=items))
    named = {vlan for item in items for vlan in range(item.get("minID", 0), item.get("maxID", -1) + 1)}
    assert config.vlans.trunk == tuple(sorted(named | {item["id"] for item in items if "id" in item}))
    assert (config.vlans.is_filtered, config.describe_port("veth7").has_vlans) == (True, bool(items))


def test_a_bridge_without_keys_has_the_defaults_of_the_reference_plugin() -> None:
    config = read_config(read_request())
    assert (config.bridge, config.mtu, config.mac, config.vlans.access, config.vlans.is_filtered) == (
        "cni0",
        0,
        "",
        0,
        False,
    )
    assert read_config(read_request(isDefaultGateway=True)).is_gateway


MACS = [f"02:00:00:00:00:0{number}" for number in range(3)]


def test_the_mac_of_the_capability_comes_before_args_and_cni_args() -> None:
    capability: JsonObject = {"runtimeConfig": {"mac": MACS[0]}}
    config_args: JsonObject = {"args": {"cni": {"mac": MACS[1]}}}
    attachment = Attachment("dbnet", "blue", "eth0", "/run/netns/blue", {"MAC": MACS[2]})
    assert read_config(read_request(attachment=attachment, **capability, **config_args)).mac == MACS[0]
    assert read_config(read_request(attachment=attachment, **config_args)).mac == MACS[1]
    assert read_config(read_request(attachment=attachment)).mac == MACS[2]


@given(st.binary(min_size=6, max_size=6))
def test_a_mac_is_read_in_any_common_form(content: bytes) -> None:
    mac = content.hex(":")
    for text in (mac, mac.upper(), content.hex("-"), content.hex(".", 2)):
        assert veth_pair.require_mac("/mac", text) == mac
    for text in (content.hex(), f"{mac}:00", mac[:-1], f" {mac}", mac.replace(":", "-", 1), content.hex(".")):
        assert error_of(veth_pair.require_mac, "/mac", text).msg == f"/mac: {text!r} is not a MAC"


CONFIGURED, GIVEN, EXTRA = "10.1.0.2/16", "10.1.0.3/16", "10.1.0.4/16"
ASSIGNED: dict[str, tuple[JsonObject, JsonObject, list[str]]] = {
    "the configuration": ({}, {}, [CONFIGURED]),
    "CNI_ARGS in addition": ({}, {"IP": f"{GIVEN}, {EXTRA}"}, [CONFIGURED, GIVEN, EXTRA]),
    "args.cni instead": ({"args": {"cni": {"ips": [GIVEN]}}}, {"IP": EXTRA}, [GIVEN]),
    "the capability instead": (
        {"args": {"cni": {"ips": [GIVEN]}}, "runtimeConfig": {"ips": [EXTRA]}},
        {"IP": GIVEN},
        [EXTRA],
    ),
}


@pytest.mark.parametrize(("keys", "cni_args", "addresses"), ASSIGNED.values(), ids=ASSIGNED)
def test_static_assigns_the_addresses_of_the_first_source(
    keys: JsonObject, cni_args: dict[str, str], addresses: list[str]
) -> None:
    attachment = Attachment("dbnet", "blue", "eth0", "/run/netns/blue", cni_args)
    ipam = {"type": "static", "addresses": [{"address": CONFIGURED}], "routes": [{"dst": "0.0.0.0/0", "priority": 0}]}
    result = registry.load("static").add(read_request(attachment=attachment, ipam=ipam, **keys))
    assert [ip["address"] for ip in result.keys["ips"]] == addresses
    assert result.keys["routes"] == [{"dst": "0.0.0.0/0"}]


def test_a_gateway_of_cni_args_belongs_to_the_addresses_of_its_network() -> None:
    args = {"IP": f"{GIVEN},10.2.0.2/16", "GATEWAY": "10.2.0.1"}
    attachment = Attachment("dbnet", "blue", "eth0", "/run/netns/blue", args)
    result = registry.load("static").add(read_request(attachment=attachment, ipam={"type": "static"}))
    assert result.keys["ips"] == [{"address": GIVEN}, {"address": "10.2.0.2/16", "gateway": "10.2.0.1"}]


@pytest.mark.parametrize("plugin", ["static", "host-local"])
def test_an_old_version_has_one_address_of_each_family(plugin: str) -> None:
    addresses = [{"address": address} for address in (CONFIGURED, GIVEN)]
    ranges = [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]
    ipam = {"type": plugin, "addresses": addresses, "ranges": ranges}
    error = error_of(registry.load(plugin).add, read_request(cniVersion="0.2.0", ipam=ipam))
    assert error.msg == "version 0.2.0 of the specification has one address of each family"


def test_a_bridge_reads_keys_in_another_case_as_release_1_9_1_does() -> None:
    keys: JsonObject = {
        "isGateway": True,
        "ipMasq": True,
        "vlanTrunk": [{"minID": 5, "maxID": 7}, {"id": 9}],
        "dns": {"nameservers": ["10.1.0.1"]},
        "runtimeConfig": {"mac": MACS[0]},
    }
    assert read_config(read_request(**in_other_case(keys))) == read_config(read_request(**keys))


@pytest.mark.parametrize("lists", [("nameservers",), ("search",), ("options",), ("search", "options")])
def test_an_empty_list_in_dns_counts_as_a_setting(lists: tuple[str, ...]) -> None:
    assert read_config(read_request(dns={key: [] for key in lists})).dns == {}
    assert read_config(read_request(dns=dict.fromkeys(lists))).dns is None
    assert read_config(read_request(dns={"domain": ""})).dns is None


@pytest.mark.parametrize("command", ["ADD", "CHECK", "STATUS", "GC"])
@pytest.mark.parametrize("plugin", ["bridge", "ptp", "macvlan", "ipvlan", "vlan", "dummy", "tap", "host-device"])
@pytest.mark.parametrize("ipam", ["bridge", "portmap"])
def test_a_plugin_that_assigns_no_addresses_is_refused_as_an_ipam_plugin(plugin: str, command: str, ipam: str) -> None:
    request = read_request(command, ipam={"type": ipam}, master="lo", device="eth0", prevResult=PREV)
    loaded = registry.load(plugin)
    operation = {"ADD": loaded.add, "CHECK": loaded.check, "STATUS": loaded.status, "GC": loaded.gc}[command]
    assert error_of(operation, request).msg == f"/ipam/type: plugin {ipam} assigns no addresses"
