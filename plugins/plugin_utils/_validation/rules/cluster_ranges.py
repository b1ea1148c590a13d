# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The ranges of whereabouts, from which it assigns addresses that are unique in a cluster."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpNetwork,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join


class WrittenRange(t.NamedTuple):
    """The value of ``range``: ``SUBNET``, or ``FIRST-LAST/PREFIX``.

    Attributes:
        first, last: The ends that the value itself has, or None.
    """

    subnet: IpNetwork
    first: IpAddress | None = None
    last: IpAddress | None = None


def parse_range(text: object) -> WrittenRange | None:
    """Return a range as whereabouts reads it, with or without host bits, or None if it is invalid."""
    if not isinstance(text, str):
        return None
    first, dash, rest = text.partition("-")
    if not dash:
        written = parse_interface(text)
        return WrittenRange(written.network) if written else None
    start, end = parse_address(first.strip()), parse_interface(rest.strip())
    return WrittenRange(end.network, start, end.ip) if start and end else None


def parse_exclusion(text: object) -> IpNetwork | None:
    """Return the addresses that an entry of ``exclude`` names, or None if it is invalid."""
    written = parse_interface(text)
    if written is not None:
        return written.network
    address = parse_address(text)
    return ipaddress.ip_network(address) if address else None


def range_objects(plugin: DocumentPlugin) -> t.Iterator[tuple[int, JsonObject, str]]:
    """Return the objects that define a plugin's ranges: their number, keys and JSON pointer."""
    if plugin.ipam_traits.has_cluster_ranges:
        if "range" in plugin.ipam:
            yield 0, plugin.ipam, plugin.ipam_path
        listed = list_objects(plugin.ipam.get("ipRanges"), join(plugin.ipam_path, "ipRanges"))
        yield from ((number, keys, path) for number, (keys, path) in enumerate(listed, start=1))


def subnets(plugin: DocumentPlugin) -> list[IpNetwork]:
    """Return the subnets of a plugin's ranges."""
    written = (parse_range(keys.get("range")) for dummy, keys, dummy_path in range_objects(plugin))
    return [each.subnet for each in written if each]


def ranges(plugin: DocumentPlugin) -> list[Range]:
    """Return the addresses that a plugin may assign, without excluded ones; a range may be in several parts."""
    return [
        part
        for number, keys, path in range_objects(plugin)
        for part in _divide(_read(plugin, number, keys, path), keys)
    ]


def _read(plugin: DocumentPlugin, number: int, keys: JsonObject, path: str) -> Range | None:
    written = parse_range(keys.get("range"))
    if written is None or written.subnet.num_addresses <= 2:
        return None
    subnet = written.subnet
    starts = (written.first, parse_address(keys.get("range_start")), subnet[1])
    ends = (written.last, parse_address(keys.get("range_end")), subnet[-2])
    # whereabouts ignores an end that is not in the subnet.
    first, last = (next(end for end in listed if end is not None and end in subnet) for listed in (starts, ends))
    return Range(subnet, first, last, subnet[0], path, number, pool=_pool(plugin, subnet))


def _pool(plugin: DocumentPlugin, subnet: IpNetwork) -> str:
    """Return the name of the pool, in which whereabouts assigns each address once."""
    network = plugin.ipam.get("network_name") or ""
    is_shared = plugin.ipam.get("enable_overlapping_ranges") is not False
    return f"{plugin.ipam['type']} {network} {'' if is_shared else subnet}"


def _divide(whole: Range | None, keys: JsonObject) -> t.Iterator[Range]:
    """Yield the parts of a range between its exclusions."""
    if whole is None:
        return
    listed = keys.get("exclude")
    parsed = map(parse_exclusion, listed if isinstance(listed, list) else ())
    excluded = [network for network in parsed if network and network.version == whole.subnet.version]
    begin, end = int(whole.first), int(whole.last)
    make = type(whole.first)
    for network in sorted(excluded, key=lambda each: int(each.network_address)):
        low, high = int(network.network_address), int(network.broadcast_address)
        if begin < low <= end:
            yield whole._replace(first=make(begin), last=make(low - 1))
        if low <= end and high >= begin:
            begin = max(begin, high + 1)
    if begin <= end:
        yield whole._replace(first=make(begin), last=make(end))
