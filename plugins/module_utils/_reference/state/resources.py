# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An attachment's links, addresses, routes, rules, settings and rates in the kernel, and its leases.

A resource is in the container's network namespace if it is ``inside``, else on the node. A field with its default is
not compared with the kernel, unless the field says otherwise.
"""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, IpNetwork


class ExpectedLink(t.NamedTuple):
    """A link that the attachment cannot do without: if it is gone, only ADD can make it again.

    Attributes:
        kind: ``veth`` for the end of the container's pair on the node; empty if it may have any kind.
        is_up, is_promiscuous: Whether that is required.
        mac: In lower case.
        minimum_mtu: The least MTU, if several networks share the link.
        queue_length: In packets.
        mode: That of a macvlan or an ipvlan.
        peer: The container's interface whose other end it is, or an empty string.
    """

    name: str
    inside: bool
    mac: str = ""
    mtu: int = 0
    minimum_mtu: int = 0
    is_up: bool = False
    is_promiscuous: bool = False
    all_multicast: bool | None = None
    queue_length: int | None = None
    mode: str = ""
    kind: str = ""
    peer: str = ""


class Bridge(t.NamedTuple):
    """A bridge of the node, which is up. It is created again if it is gone.

    Attributes:
        mac: The MAC of a new bridge, which containers know as that of their gateway.
        mtu: The least MTU.
        filters_vlans: Whether it keeps VLANs apart.
    """

    name: str
    mac: str = ""
    mtu: int = 0
    is_promiscuous: bool = False
    filters_vlans: bool = False
    inside: bool = False


class Port(t.NamedTuple):
    """A link that belongs to a bridge or to a VRF.

    Attributes:
        by_peer: Whether the peer of the link belongs to the master, as the gateway of a VLAN does.
        vlan: Its access VLAN, if that is not the bridge's default VLAN.
        trunk: Its tagged VLANs.
        leaves_default_vlan: Whether it is taken out of the bridge's default VLAN when it becomes a port.
    """

    name: str
    master: str
    inside: bool = False
    is_hairpin: bool = False
    is_isolated: bool = False
    by_peer: bool = False
    vlan: int = 0
    trunk: tuple[int, ...] = ()
    leaves_default_vlan: bool = False

    @property
    def has_vlans(self) -> bool:
        """Return whether it has VLANs of its own, which it loses with its membership."""
        return bool(self.vlan or self.trunk)


class Vrf(t.NamedTuple):
    """A VRF in the container. ``table`` is 0 if the plugin chose it."""

    name: str
    table: int = 0
    inside: bool = True


class ExpectedAddress(t.NamedTuple):
    """An address of a link.

    Attributes:
        link: The name of the link.
        is_only: Whether plugins refuse another IPv4 address beside it.
    """

    link: str
    interface: IpInterface
    inside: bool
    is_only: bool = False


ANY_TABLE = -1


class ExpectedRoute(t.NamedTuple):
    """A route through a link.

    Attributes:
        any_gateway: Whether any gateway will do: the result does not name it, or CHECK does not compare it.
        table: The main table if it is 0; `ANY_TABLE` for that of a VRF that chose it itself.
        moved_for: The address whose rule leads to the table of the route; `table` is not known in advance then.
        scope: The kernel's number; None for the default.
        source: The address that the container uses for this route.
        priority: The kernel's default if it is 0.
        made_for: The address for which the kernel makes it; None for a route that a plugin has added.
    """

    link: str
    destination: IpNetwork
    gateway: IpAddress | None
    inside: bool
    any_gateway: bool = False
    table: int = 0
    moved_for: IpAddress | None = None
    scope: int | None = None
    source: IpAddress | None = None
    priority: int = 0
    made_for: IpInterface | None = None


class ExpectedRule(t.NamedTuple):
    """A routing rule for packets from an address. ``table`` is 0 if the plugin chose it."""

    source: IpAddress
    table: int = 0
    inside: bool = True


class Sysctl(t.NamedTuple):
    """A setting of the kernel.

    Attributes:
        path: Its path below ``/proc/sys``.
        link: The link that it belongs to, if it is gone with it.
    """

    path: str
    value: str
    inside: bool
    link: str = ""


class Ifb(t.NamedTuple):
    """A link of the node that is up and limits what a container sends. It is created again if it is gone.

    Attributes:
        host_end: The link of the node whose traffic is redirected to it.
    """

    name: str
    host_end: str
    inside: bool = False


class Rate(t.NamedTuple):
    """A limit of the rate of a link of the node, in bytes per second and bytes."""

    link: str
    rate: int
    burst: int
    inside: bool = False


class ExpectedLease(t.NamedTuple):
    """A file of host-local that keeps an address from being assigned to another container.

    Attributes:
        directory: The directory of the network.
        lease_dir: The default of host-local's ``dataDir``.
    """

    directory: str
    address: IpAddress
    container_id: str
    ifname: str
    lease_dir: str = ""
    inside: bool = False


# In the order in which resources depend on each other.
Resource = t.Union[
    Bridge, ExpectedLink, Ifb, Vrf, Port, ExpectedAddress, ExpectedRoute, ExpectedRule, Sysctl, Rate, ExpectedLease
]
State = tuple[Resource, ...]
_ORDER = t.get_args(Resource)


def rank(resource: Resource) -> int:
    """Return the place of a resource in the order in which resources depend on each other."""
    return _ORDER.index(type(resource))


def in_order(resources: t.Iterable[Resource]) -> State:
    return tuple(sorted(resources, key=rank))
