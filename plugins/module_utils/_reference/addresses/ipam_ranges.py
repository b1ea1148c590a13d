# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The address ranges in the configuration of host-local and static."""

from __future__ import annotations

import ipaddress
import itertools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    IpNetwork,
    parse_address,
    parse_interface,
    parse_subnet,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

_IPV4 = 4


class Range(t.NamedTuple):
    """Addresses that an IPAM plugin assigns, from the first to the last.

    Attributes:
        gateway: The gateway, which is never assigned from this range.
        path: JSON pointer of the object that defines it.
        group: Number of its set; host-local assigns an address of each set.
        is_valid: Whether host-local accepts its ends and its gateway. A default replaces each rejected address, so that
            the other addresses can still be checked.
        pool: Ranges of one pool assign each address once, even if they overlap; empty for a range by itself.
    """

    subnet: IpNetwork
    first: IpAddress
    last: IpAddress
    gateway: IpAddress
    path: str
    group: int = 0
    is_valid: bool = True
    pool: str = ""

    def holds(self, address: IpAddress) -> bool:
        return address.version == self.subnet.version and int(self.first) <= int(address) <= int(self.last)

    def overlaps(self, other: Range) -> bool:
        begin, end = max(int(self.first), int(other.first)), min(int(self.last), int(other.last))
        return self.subnet.version == other.subnet.version and begin <= end

    @property
    def has_room(self) -> bool:
        size = int(self.last) - int(self.first) + 1
        return size > (1 if self.holds(self.gateway) else 0)


def list_objects(value: object, path: str) -> t.Iterator[tuple[JsonObject, str]]:
    """Return the objects of a JSON array with their JSON pointers."""
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield item, f"{path}/{index}"


def range_objects(ipam: JsonObject, path: str = "") -> t.Iterator[tuple[int, JsonObject, str]]:
    """Return the objects that define host-local's ranges: number of the set, keys, JSON pointer.

    Args:
        path: JSON pointer of the IPAM configuration.
    """
    group = 0
    if "subnet" in ipam:
        yield group, ipam, path
        group += 1
    sets = ipam.get("ranges")
    for index, members in enumerate(sets if isinstance(sets, list) else ()):
        for keys, place in list_objects(members, f"{path}/ranges/{index}"):
            yield group + index, keys, place


def host_local_ranges(ipam: JsonObject, path: str = "") -> list[Range]:
    """Return host-local's ranges, without those whose subnet is invalid or too small."""
    ranges = (_read_range(group, keys, place) for group, keys, place in range_objects(ipam, path))
    return [member for member in ranges if member]


def host_local_range_sets(ipam: JsonObject) -> list[list[Range]]:
    """Return host-local's valid ranges by their sets."""
    ranges = (member for member in host_local_ranges(ipam) if member.is_valid)
    groups = itertools.groupby(ranges, key=lambda member: member.group)
    return [list(members) for dummy, members in groups]


def static_ranges(ipam: JsonObject) -> list[Range]:
    """Return static's addresses, each as a range of one address."""
    ranges = (_read_address(keys, place) for keys, place in list_objects(ipam.get("addresses"), "/addresses"))
    return [member for member in ranges if member]


def range_sets(ipam: object) -> list[list[Range]]:
    """Return the sets of valid ranges of an IPAM configuration; each address of static is a set of its own."""
    if not isinstance(ipam, dict):
        return []
    known = catalogue.find_plugin_type(ipam.get("type"))
    if known.has_addresses:
        return [[member] for member in static_ranges(ipam)]
    return host_local_range_sets(ipam) if known.has_ranges else []


def bridge_address(member: Range) -> IpInterface:
    """Return the address that the plugin bridge gives to its bridge for a range."""
    is_subnet_address = member.gateway == member.subnet.network_address and member.subnet.num_addresses > 1
    address = member.subnet[1] if is_subnet_address else member.gateway
    return ipaddress.ip_interface((address, member.subnet.prefixlen))


def bridge_addresses(ipam: object) -> list[IpInterface]:
    """Return all addresses that the plugin bridge may give to its bridge with an IPAM configuration."""
    return [bridge_address(member) for members in range_sets(ipam) for member in members]


def replaces(present: IpInterface, wanted: IpInterface) -> bool:
    """Return whether the plugin bridge refuses an address beside another one, or replaces the other one.

    A link has one gateway of IPv4, and one of each IPv6 network besides the link-local addresses of the kernel.
    """
    if present == wanted or present.version != wanted.version:
        return False
    is_shared = not present.ip.is_link_local and present.network.overlaps(wanted.network)
    return wanted.version == _IPV4 or is_shared


def unusable_reason(interface: IpInterface) -> str:
    """Return why no host can have an address, as a phrase about it; an empty string if one can."""
    ip, network = interface.ip, interface.network
    if ip.is_unspecified:
        return "means no address"
    if ip.is_multicast:
        return "is a multicast address"
    return f"is the broadcast address of {network}" if _has_ends(network) and ip == network.broadcast_address else ""


def is_network_address(interface: IpInterface) -> bool:
    """Return whether an address is its network's own, which kernels before 5.14 and other devices take for a broadcast."""
    return _has_ends(interface.network) and interface.ip == interface.network.network_address


def _has_ends(network: IpNetwork) -> bool:
    """Return whether the first and the last address of a network are reserved."""
    return network.version == _IPV4 and network.num_addresses > 2


def _read_range(group: int, keys: JsonObject, path: str) -> Range | None:
    """Return the range that an object defines, None if its subnet is invalid or too small."""
    written_subnet = parse_subnet(keys.get("subnet"))
    if written_subnet is None or written_subnet.network.prefixlen > written_subnet.max_prefixlen - 2:
        return None
    subnet = written_subnet.network
    written = [keys.get(key) for key in ("rangeStart", "rangeEnd", "gateway")]
    parsed = [parse_address(value) for value in written]
    first, last, gateway = (address if address and address.version == subnet.version else None for address in parsed)
    is_valid = not any(value and not address for value, address in zip(written, (first, last, parsed[2])))
    # As host-local: the broadcast address of IPv4 is not assigned.
    default_last = subnet[-2] if subnet.version == _IPV4 else subnet[-1]
    return Range(subnet, first or subnet[1], last or default_last, gateway or subnet[1], path, group, is_valid)


def _read_address(keys: JsonObject, path: str) -> Range | None:
    own = parse_interface(keys.get("address"))
    if own is None:
        return None
    gateway = parse_address(keys.get("gateway"))
    return Range(own.network, own.ip, own.ip, gateway or own.network[0], path)
