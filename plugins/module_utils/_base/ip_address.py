# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read addresses as plugins do, which are written in Go: an IPv4 address in IPv6 form is that IPv4 address."""

from __future__ import annotations

import functools
import ipaddress
import typing as t

IpAddress = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
IpInterface = t.Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
IpNetwork = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

# The smallest MTU in bytes with which the kernel keeps the addresses of a family on a link.
LEAST_MTU = {4: 68, 6: 1280}

_MAX_LENGTH_DIGITS = 3
# The bits before the IPv4 address in ::ffff:10.1.0.1.
_MAPPED_BITS = 96


def parse_address(value: object) -> IpAddress | None:
    """Return a configuration value as an address, or None if plugins would reject it."""
    return _address(value) if isinstance(value, str) else None


def parse_interface(value: object) -> IpInterface | None:
    """Return a configuration value as an address with a prefix length, or None if plugins would reject it."""
    return _interface(value) if isinstance(value, str) else None


def parse_network(value: object) -> IpNetwork | None:
    """Return the network of an address with a prefix length, or None if plugins would reject it; host bits are allowed."""
    interface = parse_interface(value)
    return interface.network if interface else None


def parse_subnet(value: object) -> IpInterface | None:
    """Return the subnet of a range with its host bits, or None if plugins would reject it, as they do the IPv6 form of IPv4."""
    interface = parse_interface(value)
    return interface if interface and (interface.version == 6) == (":" in str(value)) else None


@functools.lru_cache(maxsize=4096)
def _address(text: str) -> IpAddress | None:
    try:
        address = None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address


@functools.lru_cache(maxsize=4096)
def _interface(text: str) -> IpInterface | None:
    if "%" in text or not _is_length(text.partition("/")[2]):
        return None
    try:
        interface = ipaddress.ip_interface(text)
        mapped = interface.ip.ipv4_mapped if isinstance(interface, ipaddress.IPv6Interface) else None
        return ipaddress.IPv4Interface((mapped, interface.network.prefixlen - _MAPPED_BITS)) if mapped else interface
    except ValueError:
        return None


@functools.lru_cache(maxsize=4096)
def unpack_interface(packed: bytes, length: int) -> IpInterface:
    """Return an address of the kernel with its prefix length.

    Args:
        packed: Four or sixteen bytes.

    Raises:
        ValueError: They are no address.
    """
    return ipaddress.ip_interface((packed, length))


@functools.lru_cache(maxsize=4096)
def unpack_network(packed: bytes, length: int) -> IpNetwork:
    """Return a destination of the kernel; arguments and errors as `unpack_interface`."""
    return ipaddress.ip_network((packed, length))


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_LENGTH_DIGITS
