# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Plugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.formats import is_address, is_cidr

Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


@dataclasses.dataclass(frozen=True)
class Range:
    """A range that host-local gives addresses from, with what it takes where a key is not given.

    Attributes:
        group: Number of its set; an address is given out from each set.
        path: JSON pointer of the object that defines it.
    """

    group: int
    path: str
    subnet: Network
    first: Address
    last: Address
    gateway: Address

    def holds(self, address: Address) -> bool:
        return address.version == self.subnet.version and int(self.first) <= int(address) <= int(self.last)

    def overlaps(self, other: Range) -> bool:
        begin, end = max(int(self.first), int(other.first)), min(int(self.last), int(other.last))
        return self.subnet.version == other.subnet.version and begin <= end

    @property
    def has_room(self) -> bool:
        size = int(self.last) - int(self.first) + 1
        return size > (1 if self.holds(self.gateway) else 0)


def address(value: t.Any) -> Address | None:
    """Read an IP address, None where it is none."""
    return _address(value) if isinstance(value, str) else None


def interface(value: t.Any) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """Read an address with its prefix length, None where it is none."""
    return _interface(value) if isinstance(value, str) else None


def network(value: t.Any) -> Network | None:
    """Read a network, host bits or not, None where it is none."""
    found = interface(value)
    return found.network if found else None


def objects(value: t.Any, path: str) -> t.Iterator[tuple[dict[str, t.Any], str]]:
    """Return the objects of a list with their JSON pointers."""
    for index, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, dict):
            yield one, join(path, index)


def written_ranges(plugin: Plugin) -> t.Iterator[tuple[int, dict[str, t.Any], str]]:
    """Return host-local's ranges as they are written: number of the set, keys, JSON pointer."""
    if not catalogue.row(plugin.ipam.get("type")).has_ranges:
        return
    group = 0
    if "subnet" in plugin.ipam:
        yield group, plugin.ipam, plugin.ipam_path
        group += 1
    sets = plugin.ipam.get("ranges")
    for index, one in enumerate(sets if isinstance(sets, list) else ()):
        for keys, path in objects(one, join(plugin.ipam_path, "ranges", index)):
            yield group + index, keys, path


def ranges(plugin: Plugin) -> list[Range]:
    """Return host-local's ranges that can be told; a subnet that is too small has none."""
    found = (_range(group, keys, path) for group, keys, path in written_ranges(plugin))
    return [one for one in found if one]


def subnets(plugin: Plugin) -> list[Network]:
    """Return the networks that the container gets addresses of, as far as the configuration says."""
    if catalogue.row(plugin.ipam.get("type")).has_addresses:
        found = [network(keys.get("address")) for keys, dummy in objects(plugin.ipam.get("addresses"), "")]
    else:
        found = [network(keys.get("subnet")) for dummy, keys, dummy_path in written_ranges(plugin)]
    return [one for one in found if one]


def _range(group: int, keys: dict[str, t.Any], path: str) -> Range | None:
    subnet = network(keys.get("subnet"))
    if subnet is None or subnet.prefixlen > subnet.max_prefixlen - 2:
        return None
    ends = [address(keys.get(key)) for key in ("rangeStart", "rangeEnd", "gateway")]
    start, end, gateway = (one if one and one.version == subnet.version else None for one in ends)
    # As host-local: of IPv4, the broadcast address is kept back.
    usual_end = subnet[-2] if subnet.version == 4 else subnet[-1]
    return Range(group, path, subnet, start or subnet[1], end or usual_end, gateway or subnet[1])


@functools.lru_cache(maxsize=4096)
def _address(text: str) -> Address | None:
    return ipaddress.ip_address(text) if is_address(text) else None


@functools.lru_cache(maxsize=4096)
def _interface(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    return ipaddress.ip_interface(text) if is_cidr(text) else None


__all__ = (
    "Address",
    "Network",
    "Range",
    "address",
    "interface",
    "network",
    "objects",
    "ranges",
    "subnets",
    "written_ranges",
)
