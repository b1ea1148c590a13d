# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write links, addresses, routes and routing rules.

Links are addressed by index, because their names may change at any time.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._linux.links import link_message, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import ACCESS
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import MODES
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import Connection, attribute
from ansible_collections.cni.node.plugins.module_utils._linux.links.routing_rules import Rule

# linux/netlink.h, linux/rtnetlink.h, linux/fib_rules.h
_REPLACE, _EXCLUSIVE, _CREATE, _APPEND = 0x100, 0x200, 0x400, 0x800
_NEWLINK, _DELLINK, _SETLINK, _NEWADDR, _DELADDR = 16, 17, 19, 20, 21
_NEWROUTE, _DELROUTE, _NEWRULE, _DELRULE = 24, 25, 32, 33
# linux/if.h, linux/if_link.h, linux/if_bridge.h, linux/veth.h
_IFF_UP, _IFF_PROMISC, _IFF_ALLMULTI = 0x1, 0x100, 0x200
_ADDRESS, _IFNAME, _MTU, _LINK, _MASTER, _PROTINFO, _TXQLEN, _LINKINFO = 1, 3, 4, 5, 10, 12, 13, 18
_IFALIAS, _AF_SPEC, _NET_NS_FD = 20, 26, 28
_INFO_KIND, _INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_BRPORT_MODE, _BRPORT_ISOLATED, _BRIDGE_VLAN_INFO = 4, 33, 2
# linux/if_link.h, linux/ip.h
_INET_CONF, _ARP_NOTIFY = 1, 22
_NESTED = 0x8000
# Attributes of the data of a kind.
_BR_VLAN_FILTERING, _VRF_TABLE, _VLAN_ID, _MODE = 7, 1, 1, 1
# linux/if_addr.h
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST, _IFA_FLAGS = 1, 2, 4, 8
_IFA_F_NODAD = 0x2
# linux/rtnetlink.h, linux/fib_rules.h
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY, _RTA_PREFSRC, _RTA_TABLE = 1, 4, 5, 6, 7, 15
_FRA_SRC, _FRA_PRIORITY, _FRA_TABLE, _FR_ACT_TO_TBL = 2, 6, 15, 1
_RTPROT_BOOT, _RTN_UNICAST, _ANY_SCOPE = 3, 1, 255
_LARGEST_SHORT_TABLE = 255
# The kernel's own rule for the main table; a new rule comes before all others.
_MAIN_RULE = 32766
# Addresses of these sizes or larger have no broadcast address.
_NO_BROADCAST = 31

# Changes that fit into the buffers of a socket, with the kernel's replies.
_BATCH_SIZE = 64

_ADDRESS_MESSAGE = struct.Struct("=BBBBI")
_ROUTE_MESSAGE = struct.Struct("=BBBBBBBBI")
_VLAN = struct.Struct("=HH")


@contextlib.contextmanager
def connect(path: str = "") -> t.Iterator[KernelWriter]:
    """Open a writer for a network namespace, by default that of this thread.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("open a netlink socket in", path or "the network namespace"):
        connection = rtnetlink.connect(path)
    with connection:
        yield KernelWriter(connection)


class KernelWriter:
    """Writes to the kernel.

    All methods raise `CniError` with ``IO_FAILURE``, which names what could not be done.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._batch: list[_Change] | None = None

    @contextlib.contextmanager
    def batch(self) -> t.Iterator[None]:
        """Send the changes of the block together at its end, in their order, with one wait for the kernel.

        After a change that fails, others are made, too. The first error is raised. So this is for a link that is removed,
        with all that it has, if something fails.
        """
        changes = self._batch = []
        try:
            yield
        finally:
            self._batch = None
        for first in range(0, len(changes), _BATCH_SIZE):
            self._send(changes[first : first + _BATCH_SIZE])

    def _send(self, changes: t.Sequence[_Change]) -> None:
        try:
            errors = self._connection.change_all([change.request for change in changes])
        except OSError as exc:
            raise _make_error(changes[0], exc) from exc
        for change, error in zip(changes, errors):
            if error is not None and error.errno not in change.ignored:
                raise _make_error(change, error) from error

    def create_link(
        self,
        name: str,
        kind: str,
        data: bytes = b"",
        *,
        mtu: int = 0,
        mac: str = "",
        parent: int = 0,
        netns: int | None = None,
    ) -> None:
        """Create a link; by default with the MTU and MAC that the kernel chooses.

        Args:
            data: Properties of its kind, as the functions of this module encode them.
            parent: Interface index of the link on top of which it is made, or 0.
            netns: Descriptor of the network namespace in which it is made; by default that of the writer.
        """
        attributes = _properties(name, mtu, mac) + _info(kind, data)
        attributes += _number(_LINK, parent) if parent else b""
        attributes += b"" if netns is None else _number(_NET_NS_FD, netns)
        self._change_link(f"create {name}, a link of kind {kind}", 0, attributes, flags=_CREATE | _EXCLUSIVE)

    def ensure_link(self, name: str, kind: str, data: bytes = b"", *, mtu: int = 0, mac: str = "") -> None:
        """Create a link, unless there is one of that name; arguments as `create_link`."""
        attributes = _properties(name, mtu, mac) + _info(kind, data)
        what = f"create {name}, a link of kind {kind}"
        self._change_link(what, 0, attributes, errno.EEXIST, flags=_CREATE | _EXCLUSIVE)

    def create_veth(
        self,
        name: str,
        peer: str,
        netns: int | None = None,
        *,
        mtu: int = 0,
        mac: str = "",
        peer_mac: str = "",
        master: int = 0,
    ) -> None:
        """Create a veth pair whose peer is down.

        Args:
            netns: Descriptor of the peer's network namespace; by default that of the writer.
            master: Index of the bridge to which the first end belongs, or 0. Kernels before 4.11 ignore it.
        """
        end = link_message.MESSAGE.pack(0, 0, 0, 0, 0) + _properties(peer, mtu, peer_mac)
        end += b"" if netns is None else _number(_NET_NS_FD, netns)
        # Without a queue on this end, as the reference plugins make it.
        attributes = _properties(name, mtu, mac) + _number(_TXQLEN, 0)
        attributes += _info("veth", attribute(_VETH_INFO_PEER | _NESTED, end))
        attributes += _number(_MASTER, master) if master else b""
        self._change_link(f"create {peer}, a veth", 0, attributes, up=True, flags=_CREATE | _EXCLUSIVE)

    def ensure_ifb(self, name: str, mtu: int) -> None:
        """Create a link that is up, to which the traffic of another one is redirected, unless a link has that name."""
        attributes = _properties(name, mtu, "") + _number(_TXQLEN, 0) + _info("ifb", b"")
        self._change_link(f"create {name}, an ifb", 0, attributes, errno.EEXIST, up=True, flags=_CREATE | _EXCLUSIVE)

    def remove_link(self, ifindex: int) -> None:
        """Remove a link; do nothing if it does not exist."""
        message = link_message.MESSAGE.pack(0, 0, ifindex, 0, 0)
        self._change("remove the link", _DELLINK, message, errno.ENODEV)

    def move(self, ifindex: int, netns: int, *, name: str, alias: str) -> None:
        """Move a link to another network namespace, under another name and with another alias.

        Args:
            netns: Descriptor of the network namespace.
        """
        attributes = _number(_NET_NS_FD, netns) + _text(_IFNAME, name) + _text(_IFALIAS, alias)
        self._change_link(f"move the link to another network namespace as {name}", ifindex, attributes)

    def rename(self, ifindex: int, name: str) -> None:
        """Rename a link that is down."""
        self._change_link(f"rename the link to {name}", ifindex, _text(_IFNAME, name))

    def set_up(self, ifindex: int) -> None:
        self._change_flags("set the link up", ifindex, _IFF_UP, True)

    def set_down(self, ifindex: int) -> None:
        self._change_flags("set the link down", ifindex, _IFF_UP, False)

    def set_mac(self, ifindex: int, mac: str) -> None:
        self._change_link("change the MAC", ifindex, _mac(mac))

    def set_mtu(self, ifindex: int, mtu: int) -> None:
        self._change_link("change the MTU", ifindex, _number(_MTU, mtu))

    def set_queue_length(self, ifindex: int, length: int) -> None:
        self._change_link("change the length of the queue", ifindex, _number(_TXQLEN, length))

    def set_mode(self, ifindex: int, kind: str, mode: str) -> None:
        """Change the mode of a macvlan or an ipvlan. The kernel changes it for all ipvlans of one parent."""
        self._change_link(f"change the mode to {mode}", ifindex, _info(kind, mode_data(kind, mode)))

    def set_promiscuous(self, ifindex: int, value: bool = True) -> None:
        self._change_flags("change whether the link is promiscuous", ifindex, _IFF_PROMISC, value)

    def set_all_multicast(self, ifindex: int, value: bool) -> None:
        self._change_flags("change the reception of multicast", ifindex, _IFF_ALLMULTI, value)

    def set_master(self, ifindex: int, master: int) -> None:
        """Add a link to a bridge or a VRF; take it out of the one that it belongs to if the index is 0."""
        self._change_link("change the bridge or the VRF of the link", ifindex, _number(_MASTER, master))

    def announce_addresses(self, ifindex: int) -> None:
        """Let the kernel announce the IPv4 addresses of a link when it is set up: the setting ``arp_notify``.

        In /proc, links of the same name in many network namespaces are found one after another.
        """
        settings = attribute(_INET_CONF | _NESTED, _number(_ARP_NOTIFY, 1))
        attributes = attribute(_AF_SPEC | _NESTED, attribute(int(socket.AF_INET) | _NESTED, settings))
        self._change_link("set arp_notify of the link", ifindex, attributes)

    def set_hairpin(self, ifindex: int) -> None:
        self._change_port("set hairpin mode", ifindex, _BRPORT_MODE)

    def set_isolated(self, ifindex: int) -> None:
        self._change_port("isolate the port", ifindex, _BRPORT_ISOLATED)

    def add_vlan(self, ifindex: int, vlan: int, *, is_access: bool) -> None:
        """Add a VLAN to a port of a bridge: its access VLAN, or a tagged VLAN."""
        self._change_vlan(f"add VLAN {vlan} to the port", _SETLINK, ifindex, ACCESS if is_access else 0, vlan)

    def remove_vlan(self, ifindex: int, vlan: int) -> None:
        """Remove a VLAN from a port of a bridge; do nothing if it does not have it."""
        self._change_vlan(f"remove VLAN {vlan} from the port", _DELLINK, ifindex, 0, vlan, errno.ENOENT)

    def add_address(self, ifindex: int, address: IpInterface, *, finds_duplicates: bool = False) -> None:
        """Add an address; do nothing if the link has it.

        Args:
            finds_duplicates: Whether the kernel looks for duplicates of an IPv6 address before it can be used.
        """
        attributes = _address_attributes(address)
        if address.version == 6:
            attributes += _number(_IFA_FLAGS, 0 if finds_duplicates else _IFA_F_NODAD)
        elif address.network.prefixlen < _NO_BROADCAST:
            attributes += attribute(_IFA_BROADCAST, address.network.broadcast_address.packed)
        message = _address_message(ifindex, address) + attributes
        self._change(f"add the address {address}", _NEWADDR, message, errno.EEXIST, flags=_CREATE | _EXCLUSIVE)

    def remove_address(self, ifindex: int, address: IpInterface) -> None:
        """Remove an address; do nothing if the link does not have it."""
        message = _address_message(ifindex, address) + _address_attributes(address)
        self._change(f"remove the address {address}", _DELADDR, message, errno.EADDRNOTAVAIL)

    def add_route(
        self,
        ifindex: int,
        destination: IpNetwork,
        table: int,
        *,
        replace: bool,
        gateway: IpAddress | None = None,
        scope: int | None = None,
        source: IpAddress | None = None,
        priority: int = 0,
    ) -> None:
        """Add a route; routes through other links stay. Do nothing if the same route is there.

        Args:
            replace: Whether to replace the route with the same destination and priority, instead of adding another one.
            scope: The kernel's number, by default that of a route to everywhere.
        """
        attributes = attribute(_RTA_GATEWAY, gateway.packed) if gateway else b""
        attributes += attribute(_RTA_PREFSRC, source.packed) if source else b""
        attributes += _number(_RTA_PRIORITY, priority) if priority else b""
        message = _route_message(ifindex, destination, table, _RTPROT_BOOT, scope or 0, _RTN_UNICAST) + attributes
        flags = _CREATE | (_REPLACE if replace else _APPEND)
        self._change(f"add the route to {destination}", _NEWROUTE, message, errno.EEXIST, flags=flags)

    def remove_route(self, ifindex: int, destination: IpNetwork, table: int) -> None:
        """Remove a route of any scope that any program has made; do nothing if it does not exist."""
        message = _route_message(ifindex, destination, table, 0, _ANY_SCOPE, 0)
        self._change(f"remove the route to {destination}", _DELROUTE, message, errno.ESRCH)

    def add_rule(self, source: IpAddress, table: int) -> None:
        """Add a routing rule for the packets from an address, before all others but the kernel's first one."""
        family = _family(source)
        known = rtnetlink.snapshot(routes=False, rules=True).rules
        priorities = [rule.priority for rule in known if rule.family == family and rule.priority]
        priority = min(priorities, default=_MAIN_RULE) - 1
        message = _rule_message(family, source.packed, source.max_prefixlen, table, priority)
        what = f"add the rule for packets from {source}"
        self._change(what, _NEWRULE, message, errno.EEXIST, flags=_CREATE | _EXCLUSIVE)

    def remove_rule(self, rule: Rule) -> None:
        """Remove a routing rule for packets from a network; do nothing if it does not exist."""
        source, length = (rule.source.network_address.packed, rule.source.prefixlen) if rule.source else (b"", 0)
        message = _rule_message(rule.family, source, length, rule.table, rule.priority)
        self._change(f"remove the rule for packets from {rule.source}", _DELRULE, message, errno.ENOENT)

    def _change_link(
        self, action: str, ifindex: int, attributes: bytes, *ignored: int, up: bool = False, flags: int = 0
    ) -> None:
        bits = _IFF_UP if up else 0
        message = link_message.MESSAGE.pack(0, 0, ifindex, bits, bits) + attributes
        self._change(action, _NEWLINK, message, *ignored, flags=flags)

    def _change_flags(self, action: str, ifindex: int, bit: int, value: bool) -> None:
        self._change(action, _NEWLINK, link_message.MESSAGE.pack(0, 0, ifindex, bit if value else 0, bit))

    def _change_port(self, action: str, ifindex: int, flag: int) -> None:
        message = link_message.MESSAGE.pack(socket.AF_BRIDGE, 0, ifindex, 0, 0)
        self._change(action, _SETLINK, message + attribute(_PROTINFO | _NESTED, attribute(flag, b"\x01")))

    def _change_vlan(self, action: str, kind: int, ifindex: int, flags: int, vlan: int, *ignored: int) -> None:
        message = link_message.MESSAGE.pack(socket.AF_BRIDGE, 0, ifindex, 0, 0)
        vlans = attribute(_AF_SPEC | _NESTED, attribute(_BRIDGE_VLAN_INFO, _VLAN.pack(flags, vlan)))
        self._change(action, kind, message + vlans, *ignored)

    def _change(self, action: str, kind: int, message: bytes, *ignored: int, flags: int = 0) -> None:
        change = _Change(action, (kind, message, flags), ignored)
        if self._batch is not None:
            self._batch.append(change)
            return
        try:
            self._connection.change(kind, message, flags)
        except OSError as exc:
            if exc.errno not in ignored:
                raise _make_error(change, exc) from exc


class _Change(t.NamedTuple):
    """A request to the kernel.

    Attributes:
        action: What it does, as an error names it.
        request: Its type, its body and its flags.
        ignored: The numbers of errors that do not matter.
    """

    action: str
    request: tuple[int, bytes, int]
    ignored: tuple[int, ...]


def _make_error(change: _Change, error: OSError) -> CniError:
    kind, message, dummy = change.request
    if kind == _NEWADDR and message[0] == socket.AF_INET6 and error.errno == errno.EACCES:
        advice = "set net.ipv6.conf.default.disable_ipv6 and net.ipv6.conf.all.disable_ipv6 to 0"
        return CniError(Code.IO_FAILURE, f"cannot {change.action}: IPv6 is switched off for its link", advice)
    return CniError(Code.IO_FAILURE, f"cannot {change.action}: {error.strerror or error}")


def vlan_filtering_data() -> bytes:
    """Return the data of a bridge that keeps VLANs apart."""
    return attribute(_BR_VLAN_FILTERING, b"\x01")


def vrf_data(table: int) -> bytes:
    """Return the data of a VRF with a table."""
    return _number(_VRF_TABLE, table)


def vlan_data(number: int) -> bytes:
    """Return the data of a VLAN interface."""
    return attribute(_VLAN_ID, struct.pack("=H", number))


def mode_data(kind: str, mode: str) -> bytes:
    """Return the data of a macvlan or an ipvlan with one of the modes in `MODES`."""
    number = next(number for number, name in MODES[kind].items() if name == mode)
    return attribute(_MODE, struct.pack("=I" if kind == link_message.MACVLAN else "=H", number))


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def _text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode("utf-8", "surrogateescape") + b"\0")


def _mac(mac: str) -> bytes:
    return attribute(_ADDRESS, bytes.fromhex(mac.replace(":", "")))


def _properties(name: str, mtu: int, mac: str) -> bytes:
    return _text(_IFNAME, name) + (_number(_MTU, mtu) if mtu else b"") + (_mac(mac) if mac else b"")


def _info(kind: str, data: bytes) -> bytes:
    nested = attribute(_INFO_KIND, kind.encode()) + (attribute(_INFO_DATA | _NESTED, data) if data else b"")
    return attribute(_LINKINFO | _NESTED, nested)


def _address_message(ifindex: int, address: IpInterface) -> bytes:
    return _ADDRESS_MESSAGE.pack(_family(address), address.network.prefixlen, 0, 0, ifindex)


def _address_attributes(address: IpInterface) -> bytes:
    packed = address.packed
    return attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed)


def _route_message(ifindex: int, destination: IpNetwork, table: int, protocol: int, scope: int, kind: int) -> bytes:
    short = table if table <= _LARGEST_SHORT_TABLE else 0
    fixed = _ROUTE_MESSAGE.pack(_family(destination), destination.prefixlen, 0, 0, short, protocol, scope, kind, 0)
    to = attribute(_RTA_DST, destination.network_address.packed) if destination.prefixlen else b""
    return fixed + to + _number(_RTA_OIF, ifindex) + _number(_RTA_TABLE, table)


def _rule_message(family: int, source: bytes, length: int, table: int, priority: int) -> bytes:
    short = table if table <= _LARGEST_SHORT_TABLE else 0
    fixed = _ROUTE_MESSAGE.pack(family, 0, length, 0, short, 0, 0, _FR_ACT_TO_TBL, 0)
    which = attribute(_FRA_SRC, source) if length else b""
    return fixed + which + _number(_FRA_TABLE, table) + _number(_FRA_PRIORITY, priority)


def _family(address: IpAddress | IpInterface | IpNetwork) -> int:
    return int(socket.AF_INET if address.version == 4 else socket.AF_INET6)
