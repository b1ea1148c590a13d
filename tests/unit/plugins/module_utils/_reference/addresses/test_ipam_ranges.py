# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_ranges
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range


def local(**keys: t.Any) -> JsonObject:
    return {"type": "host-local", **keys}


def describe(member: Range) -> tuple[str, str, str]:
    return str(member.first), str(member.last), str(member.gateway)


DEFAULTS = {
    "IPv4 without the broadcast address": ("10.1.0.0/24", ("10.1.0.1", "10.1.0.254", "10.1.0.1")),
    "IPv6 to the end": ("fd00::/120", ("fd00::1", "fd00::ff", "fd00::1")),
    "host bits": ("10.1.0.7/24", ("10.1.0.1", "10.1.0.254", "10.1.0.1")),
}


@pytest.mark.parametrize(("subnet", "expected"), DEFAULTS.values(), ids=list(DEFAULTS))
def test_a_subnet_has_the_range_that_host_local_takes(subnet: str, expected: tuple[str, str, str]) -> None:
    assert [describe(member) for member in ipam_ranges.host_local_ranges(local(subnet=subnet))] == [expected]


@pytest.mark.parametrize("end", ["fd00::1", "tomorrow", 7])
@pytest.mark.parametrize("key", ["rangeStart", "rangeEnd"])
def test_an_end_of_a_range_that_host_local_rejects_gets_the_default(key: str, end: object) -> None:
    ipam = local(subnet="10.1.0.0/24", **{key: end})
    (member,) = ipam_ranges.host_local_ranges(ipam)
    assert describe(member) == ("10.1.0.1", "10.1.0.254", "10.1.0.1")
    assert not member.is_valid
    assert ipam_ranges.range_sets(ipam) == []


@pytest.mark.parametrize("absent", ["", None])
def test_an_empty_end_is_absent(absent: object) -> None:
    (member,) = ipam_ranges.host_local_ranges(local(subnet="10.1.0.0/24", rangeEnd=absent, gateway=absent))
    assert describe(member) == ("10.1.0.1", "10.1.0.254", "10.1.0.1")
    assert member.is_valid


GATEWAYS = {"fd00::1": True, "tomorrow": False}


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_gateway_of_another_family_gets_the_default(gateway: str) -> None:
    (member,) = ipam_ranges.host_local_ranges(local(subnet="10.1.0.0/24", gateway=gateway))
    assert (str(member.gateway), member.is_valid) == ("10.1.0.1", GATEWAYS[gateway])


@pytest.mark.parametrize("subnet", ["10.1.0.0/31", "fd00::/127", "10.1.0.0", "", None, 7])
def test_a_subnet_without_addresses_has_no_range(subnet: object) -> None:
    assert ipam_ranges.host_local_ranges(local(subnet=subnet)) == []


def test_ranges_have_the_place_where_they_are_written() -> None:
    ipam = local(
        subnet="10.1.0.0/24",
        ranges=["x", [{"subnet": "10.2.0.0/24"}, 7, {"subnet": "10.3.0.0/24"}], [{"subnet": "fd00::/64"}]],
    )
    sets = ipam_ranges.range_sets(ipam)
    assert [[member.path for member in members] for members in sets] == [
        [""],
        ["/ranges/1/0", "/ranges/1/2"],
        ["/ranges/2/0"],
    ]
    assert [member.group for members in sets for member in members] == [0, 2, 2, 3]
    assert ipam_ranges.host_local_ranges(ipam, "/ipam")[1].path == "/ipam/ranges/1/0"


def test_each_address_of_static_is_a_set_of_its_own() -> None:
    ipam = {"type": "static", "addresses": [{"address": "10.1.0.5/24"}, {"address": "10.1.0.6"}, "x"]}
    assert [[describe(member) for member in members] for members in ipam_ranges.range_sets(ipam)] == [
        [("10.1.0.5", "10.1.0.5", "10.1.0.0")]
    ]


@pytest.mark.parametrize("ipam", [None, [], {}, {"type": "dhcp", "subnet": "10.1.0.0/24"}])
def test_other_ipam_plugins_have_no_ranges(ipam: object) -> None:
    assert ipam_ranges.range_sets(ipam) == []


def test_a_range_has_room_for_more_than_its_gateway() -> None:
    ipam = local(subnet="10.1.0.0/24", rangeEnd="10.1.0.1")
    only_gateway, other = (
        ipam_ranges.host_local_ranges({**ipam, "gateway": gateway})[0] for gateway in ("10.1.0.1", "10.1.0.9")
    )
    assert not only_gateway.has_room
    assert other.has_room


BRIDGES = {"the gateway": ("10.1.0.9", "10.1.0.9/24"), "the first address": ("10.1.0.0", "10.1.0.1/24")}


@pytest.mark.parametrize(("gateway", "address"), BRIDGES.values(), ids=list(BRIDGES))
def test_a_bridge_gets_the_gateway_or_the_first_address(gateway: str, address: str) -> None:
    ipam = local(subnet="10.1.0.0/24", gateway=gateway)
    assert list(map(str, ipam_ranges.bridge_addresses(ipam))) == [address]
