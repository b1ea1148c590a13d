# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the ranges of host-local, and search them for the next address."""

from __future__ import annotations

import ipaddress
import itertools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, parse_subnet
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range


class RangeSet(t.NamedTuple):
    """Ranges of one family; a container gets an address of one of them."""

    ranges: tuple[Range, ...]

    @property
    def family(self) -> int:
        return self.ranges[0].subnet.version

    def find(self, address: IpAddress) -> Range | None:
        """Return the range that has an address, or None."""
        return next((member for member in self.ranges if member.holds(address)), None)

    def candidates(self, last: IpAddress | None) -> t.Iterator[tuple[IpInterface, Range]]:
        """Yield all addresses that may be assigned, each once, beginning after the one that was reserved last."""
        start = self.find(last) if last else None
        index = self.ranges.index(start) if start else 0
        first = int(last) + 1 if last and start else int(self.ranges[0].first)
        for step in range(len(self.ranges) + 1):
            member = self.ranges[(index + step) % len(self.ranges)]
            begin = first if step == 0 else int(member.first)
            end = first - 1 if step == len(self.ranges) else int(member.last)
            kind = type(member.first)
            for number in range(begin, end + 1):
                address = kind(number)
                if address != member.gateway:
                    yield ipaddress.ip_interface((address, member.subnet.prefixlen)), member

    def __str__(self) -> str:
        return ", ".join(f"{member.first}-{member.last}" for member in self.ranges)


def read_range_sets(request: PluginRequest) -> list[RangeSet]:
    """Return the range sets of a request, from the capability ``ipRanges``, from ``subnet`` and from ``ranges``.

    Raises:
        CniError: A range is not valid, or ranges overlap.
    """
    ipam = request.config.section("ipam")
    lists = [*_lists(request.runtime_config, "ipRanges")]
    lists += [[ipam]] if "subnet" in ipam else []
    lists += _lists(ipam, "ranges")
    if not lists:
        raise refuse(f"{ipam.path} has no ranges", "expected: the key ranges, or subnet")
    sets = [_read_range_set(members, number) for number, members in enumerate(lists)]
    for (number, first), (other, second) in itertools.combinations(enumerate(sets), 2):
        if _overlap(first.ranges, second.ranges):
            raise refuse(f"range sets {number} and {other} overlap: {first} and {second}")
    return sets


def _lists(keys: Keys, key: str) -> list[list[Keys]]:
    members = keys.values.get(key)
    if members is None:
        return []
    if not isinstance(members, list):
        raise refuse(f"{keys.pointer(key)}: expected a list of range sets")
    # An object of the list's indexes, so that each of its members is read as a list.
    numbered = Keys({str(number): member for number, member in enumerate(members)}, keys.pointer(key))
    return [numbered.sections(number) for number in numbered.values]


def _read_range_set(members: t.Sequence[Keys], number: int) -> RangeSet:
    if not members:
        raise refuse(f"range set {number} is empty", "expected: at least one range with a subnet")
    ranges = tuple(_read_range(keys, number) for keys in members)
    if len({member.subnet.version for member in ranges}) > 1:
        raise refuse(f"range set {number} has addresses of both families", "expected: a range set for each family")
    for first, second in itertools.combinations(ranges, 2):
        if first.overlaps(second):
            raise refuse(f"range set {number} has ranges that overlap: {RangeSet((first, second))}")
    return RangeSet(ranges)


def _overlap(first: t.Iterable[Range], second: t.Iterable[Range]) -> bool:
    return any(one.overlaps(other) for one, other in itertools.product(first, second))


def _read_range(keys: Keys, number: int) -> Range:
    given = keys.interface("subnet")
    if given is None:
        raise refuse(f"{keys.pointer('subnet')} is missing", "expected: a network such as 10.0.0.0/24")
    written = parse_subnet(keys.text("subnet"))
    if written is None:
        raise refuse(f"{keys.pointer('subnet')}: {keys.text('subnet')} is a network of IPv4", f"expected: {given}")
    subnet = written.network
    if written.ip != subnet.network_address:
        raise refuse(f"{keys.pointer('subnet')}: {written} has host bits set", f"expected: {subnet}")
    if subnet.prefixlen > subnet.max_prefixlen - 2:
        raise refuse(f"{keys.pointer('subnet')}: {subnet} is too small", "expected: room for a gateway and a container")

    def end(key: str, default: IpAddress) -> IpAddress:
        address = keys.address(key)
        if address is not None and address not in subnet:
            raise refuse(f"{keys.pointer(key)}: {address} is not in the subnet {subnet}")
        return address or default

    last = subnet[-2] if subnet.version == 4 else subnet[-1]
    gateway = keys.address("gateway") or subnet[1]
    first, last = end("rangeStart", subnet[1]), end("rangeEnd", last)
    if int(first) > int(last):
        raise refuse(f"{keys.pointer('rangeStart')}: {first} comes after the last address of the range, {last}")
    return Range(subnet, first, last, gateway, keys.path, number)
