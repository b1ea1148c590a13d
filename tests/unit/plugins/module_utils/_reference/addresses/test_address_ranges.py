# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.address_ranges import (
    RangeSet,
    read_range_sets,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request


def read(*sets: list[JsonObject], **keys: t.Any) -> list[RangeSet]:
    return read_range_sets(read_request(ipam={"type": "host-local", "ranges": sets, **keys}))


def members(last_byte: int, first: int, last: int, gateway: int = 1) -> JsonObject:
    """Return a range of the subnet 10.0.0.x/28 with these numbers of addresses."""
    start = ipaddress.ip_address(f"10.0.0.{last_byte}")
    ends = {"rangeStart": start + first, "rangeEnd": start + last, "gateway": start + gateway}
    return {"subnet": f"{start}/28", **{key: str(address) for key, address in ends.items()}}


def numbers(ranges: RangeSet, last: str = "") -> list[int]:
    """Return the last byte of each candidate."""
    candidates = ranges.candidates(ipaddress.ip_address(last) if last else None)
    return [interface.ip.packed[-1] for interface, dummy in candidates]


def test_the_search_begins_with_the_first_address_and_skips_the_gateway() -> None:
    (ranges,) = read([members(0, 1, 5, gateway=3)])
    assert numbers(ranges) == [1, 2, 4, 5]


def test_the_search_begins_after_the_last_reserved_address_which_comes_last() -> None:
    (ranges,) = read([members(0, 2, 5)])
    assert numbers(ranges, "10.0.0.3") == [4, 5, 2, 3]
    assert numbers(ranges, "10.0.0.5") == [2, 3, 4, 5]


def test_the_search_wraps_around_over_all_ranges() -> None:
    (ranges,) = read([members(0, 2, 3), members(16, 2, 4), members(32, 2, 3)])
    assert numbers(ranges) == [2, 3, 18, 19, 20, 34, 35]
    assert numbers(ranges, "10.0.0.19") == [20, 34, 35, 2, 3, 18, 19]
    assert numbers(ranges, "10.0.0.35") == [2, 3, 18, 19, 20, 34, 35]


@pytest.mark.parametrize("last", ["10.0.0.9", "192.0.2.1", "fd00::2"])
def test_the_search_begins_anew_if_the_last_address_is_in_no_range(last: str) -> None:
    (ranges,) = read([members(0, 2, 4)])
    assert numbers(ranges, last) == [2, 3, 4]


def test_a_last_reserved_address_can_be_the_gateway() -> None:
    (ranges,) = read([members(0, 1, 4, gateway=2)])
    assert numbers(ranges, "10.0.0.2") == [3, 4, 1]


def test_candidates_have_the_prefix_length_and_the_range_of_their_subnet() -> None:
    (ranges,) = read([{"subnet": "10.0.0.0/30"}, {"subnet": "10.1.0.0/29", "rangeEnd": "10.1.0.2"}])
    first, second = ranges.ranges
    assert [(str(interface), member) for interface, member in ranges.candidates(None)] == [
        ("10.0.0.2/30", first),
        ("10.1.0.2/29", second),
    ]


def test_a_large_range_is_searched_without_a_list_of_its_addresses() -> None:
    (ranges,) = read([{"subnet": "fd00::/64"}])
    interface, dummy = next(ranges.candidates(ipaddress.ip_address("fd00::ffff")))
    assert str(interface) == "fd00::1:0/64"


def addresses_of(member: Range) -> list[IpAddress]:
    return [member.first + offset for offset in range(int(member.last) - int(member.first) + 1)]


@st.composite
def range_sets(draw: st.DrawFn) -> RangeSet:
    """Return a strategy for range sets with one to four small ranges, in any order."""
    described = []
    for last_byte in draw(st.lists(st.sampled_from(range(0, 128, 16)), min_size=1, max_size=4, unique=True)):
        first, last = sorted(draw(st.tuples(st.integers(0, 15), st.integers(0, 15))))
        described.append(members(last_byte, first, last, draw(st.integers(0, 15))))
    return read(described)[0]


@given(range_sets(), st.none() | st.integers(0, 127))
def test_each_address_comes_once_in_the_order_of_the_ranges(ranges: RangeSet, number: int | None) -> None:
    last = None if number is None else ipaddress.ip_address(f"10.0.0.{number}")
    in_order = [(address, member) for member in ranges.ranges for address in addresses_of(member)]
    position = next((index for index, (address, dummy) in enumerate(in_order, 1) if address == last), 0)
    assert [(interface.ip, member) for interface, member in ranges.candidates(last)] == [
        (address, member) for address, member in in_order[position:] + in_order[:position] if address != member.gateway
    ]


def describe(sets: list[RangeSet]) -> list[str]:
    return [str(ranges) for ranges in sets]


def test_a_subnet_has_all_addresses_except_reserved_ones() -> None:
    sets = read([{"subnet": "10.0.0.0/24"}], [{"subnet": "fd00::/120"}])
    assert describe(sets) == ["10.0.0.1-10.0.0.254", "fd00::1-fd00::ff"]
    assert [str(ranges.ranges[0].gateway) for ranges in sets] == ["10.0.0.1", "fd00::1"]
    assert [ranges.family for ranges in sets] == [4, 6]


def test_ranges_of_the_capability_and_of_the_subnet_come_first() -> None:
    request = read_request(
        ipam={"subnet": "10.2.0.0/30", "ranges": [[{"subnet": "10.3.0.0/30"}]]},
        runtimeConfig={"ipRanges": [[{"subnet": "10.1.0.0/30"}]]},
    )
    sets = read_range_sets(request)
    assert describe(sets) == ["10.1.0.1-10.1.0.2", "10.2.0.1-10.2.0.2", "10.3.0.1-10.3.0.2"]
    assert [ranges.ranges[0].group for ranges in sets] == [0, 1, 2]
    assert [ranges.ranges[0].path for ranges in sets] == ["/runtimeConfig/ipRanges/0/0", "/ipam", "/ipam/ranges/0/0"]


def test_a_range_is_found_by_its_addresses() -> None:
    (ranges,) = read([members(0, 2, 4), members(16, 2, 4)])
    assert ranges.find(ipaddress.ip_address("10.0.0.18")) == ranges.ranges[1]
    assert ranges.find(ipaddress.ip_address("10.0.0.5")) is None
    assert ranges.find(ipaddress.ip_address("fd00::2")) is None


SUBNET, OTHER = {"subnet": "10.0.0.0/24"}, {"subnet": "10.0.0.0/25"}
REFUSED: dict[str, tuple[list[list[JsonObject]], str]] = {
    "overlap in a set": ([[SUBNET, OTHER]], "range set 0 has ranges that overlap: 10.0.0.1-10.0.0.254, 10.0.0.1-"),
    "overlap of sets": ([[SUBNET], [OTHER]], "range sets 0 and 1 overlap: 10.0.0.1-10.0.0.254 and 10.0.0.1-"),
    "one address": ([[members(0, 2, 4)], [members(0, 4, 6)]], "range sets 0 and 1 overlap"),
    "host bits": ([[{"subnet": "10.0.0.7/24"}]], "/ipam/ranges/0/0/subnet: 10.0.0.7/24 has host bits set"),
    "host bits of IPv6": ([[{"subnet": "fd00::7/64"}]], "/ipam/ranges/0/0/subnet: fd00::7/64 has host bits set"),
    "both families": ([[SUBNET, {"subnet": "fd00::/64"}]], "range set 0 has addresses of both families"),
    "empty set": ([[SUBNET], []], "range set 1 is empty"),
    "no set": ([], "/ipam has no ranges"),
    "reversed": ([[members(0, 9, 5)]], "/ipam/ranges/0/0/rangeStart: 10.0.0.9 comes after the last address"),
    "no subnet": ([[{}]], "/ipam/ranges/0/0/subnet is missing"),
    "too small": ([[{"subnet": "10.0.0.0/31"}]], "/ipam/ranges/0/0/subnet: 10.0.0.0/31 is too small"),
    "too small for IPv6": ([[{"subnet": "fd00::/127"}]], "/ipam/ranges/0/0/subnet: fd00::/127 is too small"),
    "first address": (
        [[{**SUBNET, "rangeStart": "10.0.1.1"}]],
        "/ipam/ranges/0/0/rangeStart: 10.0.1.1 is not in the subnet 10.0.0.0/24",
    ),
    "last address": ([[{**SUBNET, "rangeEnd": "fd00::1"}]], "/ipam/ranges/0/0/rangeEnd: fd00::1 is not in the subnet"),
    "no address": ([[{**SUBNET, "gateway": "x"}]], "/ipam/ranges/0/0/gateway: 'x' is not an address"),
}


@pytest.mark.parametrize(("sets", "message"), REFUSED.values(), ids=list(REFUSED))
def test_invalid_ranges_are_refused(sets: list[list[JsonObject]], message: str) -> None:
    error = error_of(read, *sets)
    assert error.code == 999
    assert error.msg.startswith(message)


@pytest.mark.parametrize("ranges", [{"subnet": "10.0.0.0/24"}, "10.0.0.0/24", [{"subnet": "10.0.0.0/24"}], [[7]]])
def test_ranges_that_are_not_lists_of_lists_are_refused(ranges: object) -> None:
    error = error_of(read_range_sets, read_request(ipam={"ranges": ranges}))
    assert error.msg.startswith("/ipam/ranges")


def test_ranges_that_touch_do_not_overlap() -> None:
    sets = read([members(0, 2, 4), members(0, 5, 6)], [members(0, 7, 9)])
    assert describe(sets) == ["10.0.0.2-10.0.0.4, 10.0.0.5-10.0.0.6", "10.0.0.7-10.0.0.9"]
