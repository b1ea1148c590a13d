# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The addresses that whereabouts would assign."""

from __future__ import annotations

import itertools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, parse_address
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses, cluster_ranges
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.cluster_ranges import (
    WrittenRange,
    parse_exclusion,
    parse_range,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.pools import (
    check_host,
    family_mismatch,
)


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check each range of whereabouts, then its ranges together, its gateway and the gateways of routes."""
    written = list(cluster_ranges.range_objects(plugin))
    if not written:
        return
    parts = cluster_ranges.ranges(plugin)
    for number, keys, path in written:
        subnet = parse_range(keys.get("range"))
        if subnet is not None:
            yield from _check_range(document, keys, path, subnet)
            yield from _check_exclusions(document, keys, path, subnet, [part for part in parts if part.group == number])
    yield from _compare_ranges(document, plugin, parts)
    yield from _check_gateway(document, plugin, parts)
    yield from _check_routes(document, plugin, parts)


def _check_range(document: Document, keys: JsonObject, path: str, written: WrittenRange) -> t.Iterator[Finding]:
    subnet, place = written.subnet, join(path, "range")
    if subnet.prefixlen > subnet.max_prefixlen - 2:
        message = f"{subnet} is too small to assign addresses"
        hint = f"expected: /{subnet.max_prefixlen - 2} or wider"
        yield document.finding("subnet-too-small", place, message, hint, keys["range"])
    ends: list[tuple[str, IpAddress | None, object]] = [
        ("range", written.first, keys["range"]),
        ("range_start", parse_address(keys.get("range_start")), keys.get("range_start")),
        ("range_end", parse_address(keys.get("range_end")), keys.get("range_end")),
    ]
    inside: dict[str, IpAddress] = {}
    for key, end, value in ends:
        if end is None:
            continue
        if end.version != subnet.version:
            yield family_mismatch(document, join(path, key), str(end), subnet)
        elif end not in subnet:
            message = f"{end} is not in the subnet {subnet}"
            yield document.finding(
                "range-outside-subnet", join(path, key), message, addresses.expected_address(subnet), value
            )
        else:
            inside[key] = end
    first, last = inside.get("range", inside.get("range_start")), written.last or inside.get("range_end")
    if first is not None and last is not None and int(first) > int(last):
        message = f"the range begins at {first} but ends at {last}"
        key = "range" if written.first else "range_start"
        yield document.finding("range-backwards", join(path, key), message, "swap the two addresses", str(first))


def _check_exclusions(
    document: Document, keys: JsonObject, path: str, written: WrittenRange, parts: list[Range]
) -> t.Iterator[Finding]:
    listed = keys.get("exclude")
    for index, text in enumerate(listed if isinstance(listed, list) else ()):
        excluded, place = parse_exclusion(text), join(path, "exclude", index)
        if excluded is None:
            continue
        if excluded.version != written.subnet.version:
            finding = family_mismatch(document, place, text, written.subnet)
        elif not excluded.overlaps(written.subnet):
            message = f"{excluded} is not in the subnet {written.subnet}"
            hint = addresses.expected_address(written.subnet)
            finding = document.finding("range-outside-subnet", place, message, hint, text)
        else:
            continue
        yield finding._replace(message=f"{finding.message}, so excluding it has no effect", is_conditional=True)
    if listed and not parts and written.subnet.num_addresses > 2:
        message = f"all addresses of {keys['range']} are excluded"
        yield document.finding("subnet-too-small", join(path, "exclude"), message, "exclude fewer", listed)


def _compare_ranges(document: Document, plugin: DocumentPlugin, parts: list[Range]) -> t.Iterator[Finding]:
    """Find ranges from which a container may get one address twice."""
    is_shared = plugin.ipam.get("enable_overlapping_ranges") is not False
    reported: set[str] = set()
    for part, other in itertools.combinations(parts, 2):
        is_same = part.subnet == other.subnet
        if (
            part.group != other.group
            and part.overlaps(other)
            and (is_same or not is_shared)
            and other.path not in reported
        ):
            reported.add(other.path)
            message = f"the range {other.first} to {other.last} overlaps with {part.first} to {part.last}"
            yield document.finding("ranges-overlap", other.path, message, f"the other range is at {part.path}")


def _check_gateway(document: Document, plugin: DocumentPlugin, parts: list[Range]) -> t.Iterator[Finding]:
    gateway, place = parse_address(plugin.ipam.get("gateway")), join(plugin.ipam_path, "gateway")
    subnets = cluster_ranges.subnets(plugin)
    if gateway is None or not subnets:
        return
    of_family = [subnet for subnet in subnets if subnet.version == gateway.version]
    own = next((subnet for subnet in of_family if gateway in subnet), None)
    if not of_family:
        yield family_mismatch(document, place, str(gateway), subnets[0])
    elif own is not None:
        yield from check_host(document, gateway, own, place)
        for part in parts:
            if part.holds(gateway):
                message = (
                    f"{gateway} is in the range {part.first} to {part.last}, in which whereabouts reserves no gateway"
                )
                hint = f'exclude it: "exclude": ["{gateway}/{gateway.max_prefixlen}"]'
                yield document.finding("gateway-handed-out", place, message, hint, str(gateway))._replace(
                    is_conditional=True
                )
                break
    elif not gateway.is_link_local and plugin.traits.gateway_on_link:
        yield addresses.gateway_outside_subnet(document, plugin, gateway, of_family[0], place)


def _check_routes(document: Document, plugin: DocumentPlugin, parts: list[Range]) -> t.Iterator[Finding]:
    """Find routes through an address that a container may get."""
    for keys, path in list_objects(plugin.ipam.get("routes"), join(plugin.ipam_path, "routes")):
        gateway = parse_address(keys.get("gw"))
        part = next((part for part in parts if gateway is not None and part.holds(gateway)), None)
        if gateway is not None and part is not None:
            yield addresses.assigned_gateway(document, gateway, part, join(path, "gw"), keys["gw"])
