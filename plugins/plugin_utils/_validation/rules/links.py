# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check MTU, VLAN trunk and bandwidth limits."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import LEAST_MTU
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.fast_path import is_integer

# Bytes: the maximum of a link, the MTU of a veth pair without one in the configuration, and the Ethernet header.
_MOST = 65535
_DEFAULT_MTU = 1500
_HEADER = 14

# Bits per byte; microseconds per second; the shortest burst in microseconds that the kernel does not round to zero.
_BYTE = 8
_MICROSECONDS = 1_000_000
_LEAST_TIME = 2

_PAIRS = (("ingressRate", "ingressBurst"), ("egressRate", "egressBurst"))


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check MTU, VLAN trunk and bandwidth limits of known plugins."""
    if plugin.type not in schemas.plugin_types():
        return
    yield from _check_mtus(document, plugin)
    yield from _check_trunk(document, plugin)
    if plugin.traits.limits_bandwidth:
        for code, path, message, hint in limits(plugin.keys, plugin.path, packet_size(document)):
            yield document.finding(code, path, message, hint)


def packet_size(document: Document) -> int:
    """Return the bytes of the largest packet on the veth pair of a network; 0 if the MTU of its interface is unknown."""
    sizes = [0]
    for plugin in document.plugins:
        known, mtu = plugin.traits, plugin.keys.get("mtu") or 0
        if not is_integer(mtu):
            return 0
        if known.has_host_end and known.delegation is None:
            sizes.append((mtu or _DEFAULT_MTU) + _HEADER)
        elif known.tunes_interface and mtu and any(sizes):
            sizes.append(mtu + _HEADER)
    return sizes[-1]


def limits(keys: dict[str, t.Any], path: str, packet: int = 0) -> t.Iterator[tuple[str, str, str, str]]:
    """Yield code, path, message and hint for each fault of bandwidth limits; 0 means no limit.

    Args:
        keys: Rates in bits per second and bursts in bits.
        path: JSON pointer of ``keys``.
        packet: The bytes of the largest packet, 0 if it is unknown.
    """
    for rate_key, burst_key in _PAIRS:
        rate, burst = keys.get(rate_key), keys.get(burst_key)
        for present_key, missing_key in ((rate_key, burst_key), (burst_key, rate_key)):
            if keys.get(present_key) and not keys.get(missing_key):
                message = f"{present_key} is set without {missing_key}"
                yield "rate-without-burst", join(path, present_key), message, "set both, or neither"
        if not is_integer(rate) or not is_integer(burst) or rate <= 0 or burst <= 0:
            continue
        if rate < _BYTE:
            yield (
                "rate-out-of-bounds",
                join(path, rate_key),
                f"{rate} bits per second is less than one byte per second",
                "expected: 8 or more",
            )
        elif burst * _MICROSECONDS < _LEAST_TIME * rate:
            message = f"a burst of {burst} bits is too small for the kernel at {rate} bits per second"
            hint = "expected: the traffic of a few milliseconds, and at least one packet"
            yield "rate-out-of-bounds", join(path, burst_key), message, hint
        elif burst < packet * _BYTE:
            message = (
                f"a burst of {burst} bits is less than a packet of {packet} bytes, so that full packets are dropped"
            )
            hint = f"expected: at least {packet * _BYTE}, better the traffic of a few milliseconds"
            yield "burst-below-packet", join(path, burst_key), message, hint


def _check_mtus(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    yield from _check_mtu(document, plugin, plugin.keys.get("mtu"), "mtu")
    if plugin.traits.tunes_interface:
        yield from _check_mtu(document, plugin, plugin.cni_args.get("mtu"), "args", "cni", "mtu")


def _check_mtu(document: Document, plugin: DocumentPlugin, mtu: t.Any, *place: str) -> t.Iterator[Finding]:
    if not is_integer(mtu) or mtu <= 0:
        return
    is_chained = plugin.traits.tunes_interface
    subnets = addresses.subnets_before(document, plugin) if is_chained else addresses.subnets(plugin)
    families = {subnet.version for subnet in subnets}
    least = max(LEAST_MTU[family] for family in families or {4})
    if not least <= mtu <= _MOST:
        why = " with IPv6 addresses" if families == {6} or (6 in families and mtu >= LEAST_MTU[4]) else ""
        message = f"an MTU of {mtu} bytes is out of range{why}"
        hint = f"expected: {least} to {_MOST}"
        yield document.finding("mtu-out-of-bounds", join(plugin.path, *place), message, hint, mtu)


def _check_trunk(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    if not plugin.traits.is_bridge:
        return
    for keys, path in list_objects(plugin.keys.get("vlanTrunk"), join(plugin.path, "vlanTrunk")):
        first, last = keys.get("minID"), keys.get("maxID")
        if isinstance(first, int) and isinstance(last, int) and first > last:
            message = f"the VLAN range begins at {first} but ends at {last}"
            yield document.finding("range-backwards", join(path, "minID"), message, "swap the two values", first)
