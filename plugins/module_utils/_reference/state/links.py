# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare a link with what an attachment expects of it."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import PASSTHRU, VRF, Link
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference


def place(name: str, inside: bool) -> str:
    """Return the phrase for a link in messages."""
    return f"interface {name}" if inside else f"interface {name} of the node"


def compare(expected: resources.ExpectedLink, link: Link) -> t.Iterator[Difference]:
    """Yield a difference for each property of a link that is not as expected."""
    bare = resources.ExpectedLink(expected.name, expected.inside)
    for resource, message in _differences(expected, bare, link):
        yield Difference(resource, message, _can_be_changed(resource, link), link)


def _differences(
    expected: resources.ExpectedLink, bare: resources.ExpectedLink, link: Link
) -> t.Iterator[tuple[resources.ExpectedLink, str]]:
    which, short = place(link.name, expected.inside), place(link.name, expected.inside).partition(" ")[2]
    if expected.is_up and not link.is_up:
        yield bare._replace(is_up=True), f"{which} is down"
    if expected.mac and link.mac != expected.mac:
        yield bare._replace(mac=expected.mac), f"the MAC of {short} is {link.mac}, not {expected.mac}"
    if expected.mtu and link.mtu != expected.mtu:
        yield bare._replace(mtu=expected.mtu), f"the MTU of {short} is {link.mtu}, not {expected.mtu}"
    if expected.minimum_mtu and link.mtu < expected.minimum_mtu:
        message = f"the MTU of {short} is {link.mtu}, less than {expected.minimum_mtu}"
        yield bare._replace(mtu=expected.minimum_mtu), message
    if expected.is_promiscuous and not link.is_promiscuous:
        yield bare._replace(is_promiscuous=True), f"{which} is not promiscuous"
    if expected.all_multicast is not None and link.is_all_multicast != expected.all_multicast:
        verb = "does not receive" if expected.all_multicast else "receives"
        yield bare._replace(all_multicast=expected.all_multicast), f"{which} {verb} all multicast packets"
    if expected.queue_length is not None and link.queue_length != expected.queue_length:
        message = f"the queue of {short} has {link.queue_length} places, not {expected.queue_length}"
        yield bare._replace(queue_length=expected.queue_length), message
    if expected.mode and link.mode and link.mode != expected.mode:
        yield bare._replace(mode=expected.mode), f"{which} has {link.kind} mode {link.mode}, not {expected.mode}"


def free_vrf_table(present: t.Iterable[Link]) -> int:
    """Return the first table that no VRF of a network namespace has, which vrf takes if the configuration has none."""
    taken = {link.table for link in present if link.kind == VRF}
    return next(table for table in range(1, 2**31) if table not in taken)


def _can_be_changed(expected: resources.ExpectedLink, link: Link) -> bool:
    """Return whether the kernel changes the property in place. A macvlan cannot enter or leave the mode passthru."""
    return not expected.mode or PASSTHRU not in (expected.mode, link.mode)
