# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Divide an address range among hosts."""

from __future__ import annotations

import collections.abc
import dataclasses
import hashlib
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpNetwork

# First and last slot.
_Span = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Partition:
    """A range that is cut into equal parts, one for each host. A slot is the number of a part.

    Attributes:
        full_range: The range.
        prefix: Prefix length of each part.
        shared: Whether the range is one subnet for all hosts, and each host gives out the addresses of its part. The
            addresses that host-local never gives out, the first and the last of IPv4, then belong to no part.
        blocked: Slots that no host gets.
    """

    full_range: IpNetwork
    prefix: int
    shared: bool = False
    blocked: tuple[_Span, ...] = ()

    @property
    def step(self) -> int:
        return 1 << (self.full_range.max_prefixlen - self.prefix)

    @property
    def slots(self) -> int:
        return 1 << (self.prefix - self.full_range.prefixlen)

    @property
    def first(self) -> int:
        """Return the first address that a host may give out."""
        return int(self.full_range[0]) + self.shared

    @property
    def last(self) -> int:
        """Return the last address that a host may give out."""
        return int(self.full_range[-1]) - (self.shared and self.full_range.version == 4)

    def part(self, slot: int) -> str:
        return f"{self.full_range.network_address + slot * self.step}/{self.prefix}"

    def make_range(self, part: str) -> dict[str, str]:
        """Return a part of a shared subnet as a range of host-local."""
        own = ipaddress.ip_network(part)
        ends = max(int(own[0]), self.first), min(int(own[-1]), self.last)
        start, end = (str(type(self.full_range.network_address)(end)) for end in ends)
        return {"subnet": str(self.full_range), "rangeStart": start, "rangeEnd": end}

    def slot(self, host: str, assigned: t.Any) -> int:
        """Return the slot of a part assigned earlier, in the form that `part` or `make_range` returned.

        Raises:
            CniError: ``INVALID_CONFIG``: it is not a part of this range.
        """
        part = self._part_of_range(assigned) if isinstance(assigned, collections.abc.Mapping) else assigned
        network = _network(part, f"assigned to {host}")
        offset = int(network.network_address) - int(self.full_range.network_address)
        is_inside = network.version == self.full_range.version and 0 <= offset < self.full_range.num_addresses
        if not is_inside or network.prefixlen != self.prefix:
            raise _invalid(f"assigned to {host}: {part}", f"expected: a /{self.prefix} of {self.full_range}")
        return offset // self.step

    def is_blocked(self, slot: int) -> bool:
        return any(first <= slot <= last for first, last in self.blocked)

    def find_free_slot(self, host: str, taken: t.Collection[int]) -> int:
        """Return the slot for a new host: the digest of its name selects one, and the next free slot is used.

        Raises:
            CniError: ``INVALID_CONFIG``: no slot is free.
        """
        slot = int.from_bytes(hashlib.sha256(host.encode("utf-8", "surrogatepass")).digest(), "big") % self.slots
        for dummy in range(2 * (len(taken) + len(self.blocked)) + 1):
            beyond = [last for first, last in self.blocked if first <= slot <= last]
            if not beyond and slot not in taken:
                return slot
            slot = (max(beyond, default=slot) + 1) % self.slots
        raise _invalid(
            f"no subnet for {host}: all {self.slots} subnets of {self.full_range} are taken{' or reserved' if self.blocked else ''}",
            "use a wider range, or a longer prefix for the subnets",
        )

    def _part_of_range(self, assigned: t.Mapping[t.Any, t.Any]) -> str:
        start, end = (_address(str(assigned.get(key, "")), key) for key in ("rangeStart", "rangeEnd"))
        length = self.prefix if start.version == self.full_range.version else start.max_prefixlen
        part = ipaddress.ip_interface(f"{start}/{length}").network
        return str(part) if end in part else f"{start} to {end}"


def node_subnets(
    partition: Partition, hosts: t.Sequence[str], assigned: t.Mapping[str, t.Any] | None = None
) -> dict[str, str]:
    """Assign each host a part of a range.

    A host that has a part keeps it. Parts of hosts that are not listed stay reserved for them.

    Args:
        assigned: Parts that were assigned earlier, by host.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument is invalid, or there are fewer parts than hosts.
    """
    current_hosts = set(hosts)
    taken: dict[int, str] = {}
    for host, part in (assigned or {}).items():
        slot = partition.slot(host, part)
        if slot in taken:
            raise _invalid(
                f"assigned: {partition.part(slot)} is assigned to two hosts", "expected: one host for each subnet"
            )
        if host in current_hosts and partition.is_blocked(slot):
            raise _invalid(
                f"assigned to {host}: {partition.part(slot)} contains a reserved address",
                "remove its addresses from 'reserved', or assign another subnet",
            )
        taken[slot] = host
    slots = {host: slot for slot, host in taken.items()}
    for host in sorted(current_hosts - slots.keys()):
        slots[host] = partition.find_free_slot(host, taken)
        taken[slots[host]] = host
    return {host: partition.part(slots[host]) for host in hosts}


def make_partition(cluster: str, prefix: int, *, shared: bool = False, reserved: t.Iterable[str] = ()) -> Partition:
    """Return the parts of a range, described by the arguments of the filter.

    Args:
        cluster: The range, as a network.
        prefix: Prefix length of a host's part.
        reserved: Addresses, networks and ranges such as ``10.1.0.1-10.1.0.9``. No host gets a part that contains one.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    full_range = _network(cluster, "the range")
    if not full_range.prefixlen <= prefix <= full_range.max_prefixlen:
        raise _invalid(
            f"prefix: {prefix}",
            f"expected: {full_range.prefixlen} to {full_range.max_prefixlen}, to divide {full_range}",
        )
    if shared and full_range.prefixlen > full_range.max_prefixlen - 2:
        raise _invalid(f"{full_range} is too small to be shared", f"expected: /{full_range.max_prefixlen - 2} or wider")
    partition = Partition(full_range, prefix, shared)
    spans = [_span(str(text), partition) for text in reserved]
    return dataclasses.replace(partition, blocked=(*_ends(partition), *(span for span in spans if span)))


def _ends(partition: Partition) -> list[_Span]:
    """Return the slots of parts with no address that host-local gives out."""
    if not partition.shared or partition.step > 1:
        return []
    last = partition.slots - 1
    return [(0, 0), (last, last)] if partition.full_range.version == 4 else [(0, 0)]


def _span(text: str, partition: Partition) -> _Span | None:
    """Return the slots that contain reserved addresses, or None if these are outside the range."""
    begin, dash, end = text.partition("-")
    if dash:
        ends = _address(begin.strip(), "reserved"), _address(end.strip(), "reserved")
    else:
        network = _network(text, "reserved")
        ends = network[0], network[-1]
    if any(end.version != partition.full_range.version for end in ends) or int(ends[0]) > int(ends[1]):
        raise _invalid(f"reserved: {text}", f"expected: addresses of {partition.full_range}, the lower one first")
    base = int(partition.full_range[0])
    first, last = max(int(ends[0]), base), min(int(ends[1]), int(partition.full_range[-1]))
    return ((first - base) // partition.step, (last - base) // partition.step) if first <= last else None


def _network(text: t.Any, what: str) -> IpNetwork:
    try:
        return ipaddress.ip_network(str(text))
    except ValueError as exc:
        raise _invalid(f"{what}: {text!r}: {exc}", "expected: a network such as 10.244.0.0/16") from exc


def _address(text: str, what: str) -> IpAddress:
    try:
        return ipaddress.ip_address(text)
    except ValueError as exc:
        raise _invalid(f"{what}: {exc}", "expected: an address such as 10.244.0.1") from exc


def _invalid(problem: str, expected: str) -> CniError:
    return CniError(Code.INVALID_CONFIG, problem, expected)
