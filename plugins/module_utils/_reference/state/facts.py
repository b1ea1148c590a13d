# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The facts of an attachment in its result, in the form in which plugins describe its state."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, UINT8, UINT32, Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import LOOPBACK
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ExpectedRoute


class Interface(t.NamedTuple):
    """An interface of a result. Its MAC, in lower case, may be empty, and its MTU 0."""

    name: str
    mac: str
    mtu: int


class ContainerIp(t.NamedTuple):
    """An address of a container.

    Attributes:
        link: The name of its interface.
    """

    link: str
    interface: IpInterface
    gateway: IpAddress | None


class Facts(t.NamedTuple):
    """The facts of an attachment that do not depend on its configuration.

    Attributes:
        interfaces: Those in the container's network namespace.
        on_node: The interfaces on the node.
        ips: The addresses of the container's interfaces.
        routes: The routes of the result, through the container's interface.
        host_end: The node's end of the veth pair; an empty string if there is none, or it is not known.
        routed_link: The link of the node that has the gateways' addresses; an empty string if the node does not route.
    """

    attachment: Attachment
    interfaces: tuple[Interface, ...] = ()
    on_node: tuple[Interface, ...] = ()
    ips: tuple[ContainerIp, ...] = ()
    routes: tuple[ExpectedRoute, ...] = ()
    host_end: str = ""
    routed_link: str = ""

    @property
    def addresses(self) -> list[IpInterface]:
        return [ip.interface for ip in self.ips]

    @property
    def ifb(self) -> str:
        """The name of the link that limits what the container sends, if there is one."""
        return firewall_names.ifb(*self.attachment.key[:2])


def read(attachment: Attachment, result: Result, *, is_loopback: bool = False) -> Facts | None:
    """Return the facts of an attachment; None if the kernel cannot be compared with its result.

    Args:
        result: In the latest version.
        is_loopback: Whether the plugin makes the loopback interface, and no other one.
    """
    interfaces = tuple(result.keys.get("interfaces") or ())
    if any(item.get("pciID") or item.get("socketPath") for item in interfaces):
        return None  # a program in userspace drives the device and bypasses the kernel
    # The path may differ from that of the attachment now. Interfaces with another sandbox, such as those of a virtual machine,
    # are not compared.
    own = (item.get("sandbox") for item in interfaces if item.get("name") == attachment.ifname)
    sandbox = next(filter(None, own), attachment.netns)
    inside: dict[int | None, str] = {
        number: str(item.get("name") or "")
        for number, item in enumerate(interfaces)
        if (item.get("sandbox") or "") == sandbox
    }
    ips = _read_ips(result.keys.get("ips") or (), inside if interfaces else {None: attachment.ifname})

    def may_be(name: str) -> bool:
        """Return whether the plugin may have made an interface, whatever a record says."""
        return (name == LOOPBACK) == is_loopback

    own_ips = tuple(ip for ip in ips if may_be(ip.link) and (ip.interface.ip.is_loopback or not is_loopback))
    named = [(number, _read_interface(item)) for number, item in enumerate(interfaces) if item.get("name")]
    return Facts(
        attachment,
        tuple(each for number, each in named if number in inside and may_be(each.name)),
        tuple(each for number, each in named if not interfaces[number].get("sandbox")),
        own_ips,
        tuple(read_routes(result.keys.get("routes") or (), attachment.ifname, own_ips)),
    )


@contextlib.contextmanager
def wrap_errors(attachment: Attachment) -> t.Iterator[None]:
    """Turn errors about values of a record, which may have any type, into ``DECODE_FAILURE``."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, CniError) as exc:
        details = str(exc) if isinstance(exc, CniError) else f"{type(exc).__name__}: {exc}"
        msg = f"{attachment}: its record has values that no plugin accepts"
        raise CniError(Code.DECODE_FAILURE, msg, details) from exc


def _read_interface(item: t.Mapping[str, t.Any]) -> Interface:
    keys = Keys(item, f"the interface {item['name']!r}: ")
    return Interface(keys.text("name"), normalize_mac(keys.text("mac")), keys.integer("mtu", within=PACKET_SIZE))


def _read_ips(
    ips: t.Iterable[t.Mapping[str, t.Any]], interfaces: t.Mapping[int | None, str]
) -> t.Iterator[ContainerIp]:
    """Yield the addresses of interfaces, by their numbers in the result; an old result has none, and None here."""
    for ip in ips:
        link = interfaces.get(ip.get("interface"))
        if link is not None:
            yield read_ip(ip, link)


def read_ip(keys: t.Mapping[str, t.Any], link: str) -> ContainerIp:
    """Return an address of a result.

    Raises:
        CniError: A value is not an address.
    """
    interface = parse_interface(keys.get("address"))
    if interface is None:
        raise refuse(f"the IPAM plugin returned {keys.get('address')!r}, which is not an address with a prefix length")
    return ContainerIp(link, interface, Keys(keys, f"the address {interface}: ").address("gateway"))


def read_routes(
    routes: t.Iterable[t.Mapping[str, t.Any]], link: str, ips: t.Iterable[ContainerIp]
) -> t.Iterator[ExpectedRoute]:
    """Yield the routes of a result.

    Args:
        link: The link through which they lead.
        ips: The first gateway of a family is that of its routes without a gateway.

    Raises:
        CniError: A value is not one of a route.
    """
    gateways: dict[int, IpAddress] = {}
    for ip in ips:
        if ip.gateway:
            gateways.setdefault(ip.gateway.version, ip.gateway)
    for route in routes:
        destination = parse_interface(route.get("dst"))
        if destination is None:
            raise refuse(f"the IPAM plugin returned a route to {route.get('dst')!r}")
        keys = Keys(route, f"the route to {destination}: ")
        gateway = keys.address("gw")
        yield ExpectedRoute(
            link,
            destination.network,
            gateway or gateways.get(destination.version),
            inside=True,
            # CHECK accepts any default route.
            any_gateway=gateway is None or destination.network.prefixlen == 0,
            table=keys.integer("table", within=UINT32),
            scope=keys.optional_integer("scope", within=UINT8),
            priority=keys.integer("priority", within=UINT32),
        )
