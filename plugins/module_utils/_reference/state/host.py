# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the node's own network namespace with the state of an attachment."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import OTHER_LIMIT, bound_burst
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.state import links, own_links, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import describe, is_route
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import State

_NAMED = (resources.ExpectedLink, resources.Bridge, resources.Ifb)
# Bytes and the share by which the kernel rounds a burst: it counts the time of a burst in microseconds.
_ROUNDING = 0.01
IFB = "ifb"


def find(state: State, node: Node, inside: t.Iterable[Link] | None = None, netns: str = "") -> t.Iterator[Difference]:
    """Yield the differences of the node.

    A link of another kind than the container's end has, such as a network card, does not belong to the attachment, whatever
    its record says. Nor does a veth that is not the other end of the container's interface, or a link that has the name of
    the bridge. Then only leases are compared, so that a repair cannot cut the node off its network.

    Args:
        inside: The links of the container; None if they are not known.
        netns: Path of its network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    expected = [resource for resource in state if not resource.inside]
    ends = None if inside is None else {link.name: link for link in inside}
    strangers = [difference for resource in expected for difference in _find_stranger(resource, node, ends, netns)]
    yield from strangers
    for resource in expected:
        if not strangers or isinstance(resource, resources.ExpectedLease):
            yield from _COMPARISONS[type(resource)](resource, node)


def _find_stranger(
    expected: resources.Resource, node: Node, inside: t.Mapping[str, Link] | None, netns: str
) -> t.Iterator[Difference]:
    """Yield a difference if another link of the node has the name of one that the attachment has."""
    if not isinstance(expected, _NAMED):
        return
    kind = _expected_kind(expected)
    link = node.link(expected.name) if kind else None
    if link is None:
        return
    if link.kind != kind:
        yield Difference(
            expected, f"{links.place(link.name, False)} is not {'an' if kind == IFB else 'a'} {kind}", False, link
        )
        return
    other_end = (inside or {}).get(expected.peer) if isinstance(expected, resources.ExpectedLink) else None
    if other_end is not None and not own_links.is_pair(link, other_end, netns):
        what = f"{links.place(link.name, False)} is not the other end of {other_end.name}"
        yield Difference(expected, what, False, link)


def _expected_kind(expected: resources.ExpectedLink | resources.Bridge | resources.Ifb) -> str:
    """Return the kind that a link of the node must have; an empty string if it may have any."""
    if isinstance(expected, resources.ExpectedLink):
        return expected.kind
    return BRIDGE if isinstance(expected, resources.Bridge) else IFB


def _compare_bridge(expected: resources.Bridge, node: Node) -> t.Iterator[Difference]:
    link = node.link(expected.name)
    which = links.place(expected.name, False)
    if link is None:
        yield Difference(expected, f"{which} is gone")
    else:
        if expected.filters_vlans and not link.filters_vlans:
            yield Difference(expected, f"{which} does not filter VLANs", False, link)
        wanted = resources.ExpectedLink(
            expected.name, False, minimum_mtu=expected.mtu, is_up=True, is_promiscuous=expected.is_promiscuous
        )
        yield from links.compare(wanted, link)


def _compare_link(expected: resources.ExpectedLink, node: Node) -> t.Iterator[Difference]:
    link = node.link(expected.name)
    if link is None:
        yield Difference(expected, f"{links.place(expected.name, False)} is gone", False)
    else:
        yield from links.compare(expected, link)


def _compare_port(expected: resources.Port, node: Node) -> t.Iterator[Difference]:
    link, bridge = node.link(expected.name), node.link(expected.master)
    if link is None:
        return
    which = links.place(expected.name, False)
    # The address of a VLAN's gateway is on the end that is not a port.
    port = own_links.find_peer(link, node.link_by_index(link.peer)) if expected.by_peer else link
    subject = f"the peer of {which}" if expected.by_peer else which
    if bridge is None or port is None or port.master != bridge.ifindex:
        message = f"{subject} is not a port of {expected.master}"
        yield Difference(expected, message, port is not None, link, follows=bridge is None)
        return
    bare = resources.Port(expected.name, expected.master, by_peer=expected.by_peer)
    if expected.is_hairpin and not port.is_hairpin:
        yield Difference(bare._replace(is_hairpin=True), f"{which} does not have hairpin mode", link=link)
    if expected.is_isolated and not port.is_isolated:
        yield Difference(bare._replace(is_isolated=True), f"{which} is not isolated from other ports", link=link)
    if expected.has_vlans and bridge.filters_vlans:
        for resource, lack in _missing_vlans(expected, bare, node.vlans(port.ifindex)):
            yield Difference(resource, f"{subject} {lack}", link=link)


def _missing_vlans(
    expected: resources.Port, bare: resources.Port, vlans: PortVlans
) -> t.Iterator[tuple[resources.Port, str]]:
    """Yield what a port lacks of its VLANs. It may have others: an operator may have added them."""
    access = expected.vlan
    if access and (vlans.pvid != access or access not in vlans.untagged):
        yield bare._replace(vlan=access), f"does not have VLAN {access} without tags"
    trunk = tuple(vlan for vlan in expected.trunk if vlan not in vlans.tagged)
    if trunk:
        yield bare._replace(trunk=trunk), f"does not have VLAN {_join_ranges(trunk)} with tags"


def _join_ranges(numbers: t.Collection[int]) -> str:
    """Return numbers in order as a text such as ``1, 3-5``."""
    known = frozenset(numbers)
    firsts = [number for number in numbers if number - 1 not in known]
    lasts = [number for number in numbers if number + 1 not in known]
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in zip(firsts, lasts))


def _compare_address(expected: resources.ExpectedAddress, node: Node) -> t.Iterator[Difference]:
    link = node.link(expected.link)
    addresses = node.addresses(link.ifindex) if link else ()
    if expected.interface in addresses:
        return
    others = [text for text in map(str, addresses) if expected.is_only and ":" not in text]
    message = f"address {expected.interface} of {links.place(expected.link, False)} is missing"
    if others:
        message += f", which has {others[0]}"
    yield Difference(expected, message, not others, link, follows=link is None)


def _compare_route(expected: resources.ExpectedRoute, node: Node) -> t.Iterator[Difference]:
    link = node.link(expected.link)
    routes = node.routes(link.ifindex) if link else ()
    if not any(route.destination == expected.destination and is_route(route, expected, MAIN_TABLE) for route in routes):
        message = f"the route to {describe(expected)} on {links.place(expected.link, False)} is missing"
        yield Difference(expected, message, link is not None, link, follows=link is None)


def _compare_setting(expected: resources.Sysctl, node: Node) -> t.Iterator[Difference]:
    value = node.setting(expected.path)
    if value != expected.value:
        follows = bool(expected.link) and node.link(expected.link) is None
        message = f"{expected.path} of the node is {value}, not {expected.value}"
        yield Difference(expected, message, follows or value is not None, follows=follows)


def _compare_ifb(expected: resources.Ifb, node: Node) -> t.Iterator[Difference]:
    link, host_end = node.link(expected.name), node.link(expected.host_end)
    which = links.place(expected.name, False)
    if link is None:
        yield Difference(expected, f"{which} is gone", host_end is not None, host_end)
        return
    yield from links.compare(resources.ExpectedLink(expected.name, False, is_up=True), link)
    if host_end is not None and link.ifindex not in node.redirects(host_end.ifindex):
        message = f"{links.place(expected.host_end, False)} does not redirect what it receives to {expected.name}"
        yield Difference(expected, message, link=host_end)


def _compare_rate(expected: resources.Rate, node: Node) -> t.Iterator[Difference]:
    link = node.link(expected.link)
    bucket = node.token_bucket(link.ifindex) if link else None
    which = links.place(expected.link, False)
    if bucket is None:
        yield Difference(expected, f"the rate limit of {which} is missing", link=link, follows=link is None)
    elif bucket == OTHER_LIMIT:
        return  # made by release 1.5.0 or 1.5.1
    elif bucket.rate != expected.rate or not _is_burst(bucket.burst, expected):
        message = (
            f"the rate limit of {which} is {bucket.rate} bytes/s with bursts of {bucket.burst} bytes, "
            f"not {expected.rate} and {expected.burst}"
        )
        yield Difference(expected, message, link=link)


def _is_burst(present: int, expected: resources.Rate) -> bool:
    """Return whether a burst is the expected one, or the largest one that the kernel can count."""
    burst = bound_burst(expected.rate, expected.burst)
    return abs(present - burst) <= burst * _ROUNDING + 2 * expected.rate / 1e6


def _compare_lease(expected: resources.ExpectedLease, node: Node) -> t.Iterator[Difference]:
    lease = node.lease(expected.directory, str(expected.address))
    if lease is not None and lease.is_of(expected.container_id, expected.ifname):
        return
    which = f"the lease of {expected.address} in {expected.directory}"
    if lease is None or not lease.container_id:
        yield Difference(expected, f"{which} is {'empty' if lease else 'gone'}", _is_written_in(expected))
    else:
        yield Difference(expected, f"{which} belongs to {lease}", False)


def _is_written_in(expected: resources.ExpectedLease) -> bool:
    """Return whether a lease is written: its directory is one of host-local, and not just any that a record names."""
    is_default = os.path.dirname(expected.directory) == expected.lease_dir
    return is_default or lease_files.is_followed(expected.directory, expected.lease_dir)


_COMPARISONS: t.Final[t.Mapping[type, t.Callable[[t.Any, Node], t.Iterator[Difference]]]] = {
    resources.Bridge: _compare_bridge,
    resources.ExpectedLink: _compare_link,
    resources.Port: _compare_port,
    resources.ExpectedAddress: _compare_address,
    resources.ExpectedRoute: _compare_route,
    resources.Sysctl: _compare_setting,
    resources.Ifb: _compare_ifb,
    resources.Rate: _compare_rate,
    resources.ExpectedLease: _compare_lease,
}
