# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Interface = t.Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Range(t.NamedTuple):
    """Addresses that are given out, from the first to the last.

    Attributes:
        gateway: It is never given out.
        path: JSON pointer of what defines it, from the configuration of the IPAM plugin on.
    """

    subnet: Network
    first: Address
    last: Address
    gateway: Address
    path: str

    def overlaps(self, other: Range) -> bool:
        begin, end = max(int(self.first), int(other.first)), min(int(self.last), int(other.last))
        return self.subnet.version == other.subnet.version and begin <= end


def range_sets(ipam: t.Mapping[str, t.Any]) -> list[list[Range]]:
    """Return host-local's sets of ranges that can be told."""
    written = ipam.get("ranges")
    sets = [_range(ipam, "")]
    for place, members in enumerate(written if isinstance(written, list) else ()):
        listed = enumerate(members if isinstance(members, list) else ())
        sets.append([one for index, keys in listed for one in _range(keys, f"/ranges/{place}/{index}")])
    return sets


def static_addresses(ipam: t.Mapping[str, t.Any]) -> list[Range]:
    """Return static's addresses that can be told, each as a range of one."""
    written = ipam.get("addresses")
    listed = enumerate(written if isinstance(written, list) else ())
    return [one for index, keys in listed for one in _static(keys, f"/addresses/{index}")]


def ipam_range_sets(ipam: object) -> list[list[Range]]:
    """Return the sets of ranges of an IPAM configuration that can be told; each address of static is one."""
    if not isinstance(ipam, dict):
        return []
    known = catalogue.row(ipam.get("type"))
    if known.has_addresses:
        return [[one] for one in static_addresses(ipam)]
    return range_sets(ipam) if known.has_ranges else []


def bridge_address(one: Range) -> Interface:
    """Return what the plugin bridge gives to its bridge: without a gateway, the first address of the subnet."""
    is_left_out = one.gateway == one.subnet.network_address and one.subnet.num_addresses > 1
    return ipaddress.ip_interface((one.subnet[1] if is_left_out else one.gateway, one.subnet.prefixlen))


def bridge_addresses(ipam: object) -> list[Interface]:
    """Return all that the plugin bridge may give to its bridge by an IPAM configuration."""
    return [bridge_address(one) for ranges in ipam_range_sets(ipam) for one in ranges]


def _range(keys: object, path: str) -> list[Range]:
    if not isinstance(keys, dict) or not keys.get("subnet"):
        return []
    try:
        subnet = ipaddress.ip_network(keys["subnet"], strict=False)
        # As host-local: the broadcast address of IPv4 is kept back.
        usual = {"rangeStart": subnet[1], "rangeEnd": subnet[-2 if subnet.version == 4 else -1], "gateway": subnet[1]}
        first, last, gateway = (ipaddress.ip_address(keys[key]) if keys.get(key) else usual[key] for key in usual)
    except (ValueError, IndexError):
        return []
    if {first.version, last.version} != {subnet.version}:
        return []
    return [Range(subnet, first, last, gateway, path)]


def _static(keys: object, path: str) -> list[Range]:
    if not isinstance(keys, dict) or not isinstance(keys.get("address"), str):
        return []
    try:
        own = ipaddress.ip_interface(keys["address"])
        gateway = ipaddress.ip_address(keys["gateway"]) if keys.get("gateway") else own.network[0]
    except ValueError:
        return []
    return [Range(own.network, own.ip, own.ip, gateway, path)]


__all__ = (
    "Address",
    "Interface",
    "Network",
    "Range",
    "bridge_address",
    "bridge_addresses",
    "ipam_range_sets",
    "range_sets",
    "static_addresses",
)
