# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Change links, addresses, routes, rules and rates of this thread's network namespace, through pyroute2.

Links are addressed by index, because their names may change at any time.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import ipaddress
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface, IpNetwork
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.bridge_vlans import ACCESS
from ansible_collections.cni.node.plugins.module_utils._linux.link_message import MODES
from ansible_collections.cni.node.plugins.module_utils._linux.routing_rules import Rule
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import MAIN_TABLE

LIBRARY: t.Final = "pyroute2"

# linux/if.h, linux/if_addr.h, linux/rtnetlink.h, linux/pkt_sched.h, linux/if_ether.h
_IFF_PROMISC, _IFF_ALLMULTI = 0x100, 0x200
_RTPROT_BOOT, _ANY_SCOPE, _RT_SCOPE_HOST = 3, 255, 254
_ROOT, _TBF_HANDLE, _INGRESS_HANDLE = 0xFFFFFFFF, 0x10000, 0xFFFF0000
_FILTER_CLASS: t.Final = 0x10001
_ETH_P_ALL: t.Final = 3
_LATENCY: t.Final = "25ms"
_IFA_F_NODAD: t.Final = 0x2
# The kernel's own rule for the main table; a new rule comes before all others.
_MAIN_RULE: t.Final = 32766
# Addresses of these sizes or larger have no broadcast address.
_NO_BROADCAST: t.Final = 31


@functools.lru_cache(maxsize=1)
def is_available() -> bool:
    """Return whether the library that writes to the kernel is installed."""
    return importlib.util.find_spec(LIBRARY) is not None


@contextlib.contextmanager
def connect() -> t.Iterator[KernelWriter]:
    """Open a writer for this thread's network namespace.

    Raises:
        CniError: ``NOT_AVAILABLE`` without pyroute2; ``IO_FAILURE``.
    """
    try:
        # Loading it takes longer than a run that writes nothing.
        import pyroute2
    except ImportError as exc:
        raise CniError(
            Code.NOT_AVAILABLE,
            "it needs the Python library pyroute2, which the node lacks",
            "install the package python3-pyroute2",
        ) from exc
    try:
        route = pyroute2.IPRoute()
    except OSError as exc:
        raise io_error("open", "a netlink socket", exc) from exc
    with route:
        yield KernelWriter(route)


class KernelWriter:
    """Writes to the kernel. To add what is there already is no error.

    All methods raise `CniError` with ``IO_FAILURE``, which names what could not be done.
    """

    def __init__(self, route: t.Any) -> None:
        self._route = route

    def create_link(self, name: str, kind: str, *, mtu: int = 0, mac: str = "", **properties: t.Any) -> None:
        """Create a link; by default with the MTU and MAC that the kernel chooses.

        Args:
            properties: Those of its kind, as pyroute2 calls them.
        """
        keys = {**({"mtu": mtu} if mtu else {}), **({"address": mac} if mac else {})}
        with _wrap_errors(f"create the {kind} {name}", errno.EEXIST):
            self._route.link("add", ifname=name, kind=kind, **keys, **properties)

    def create_veth(self, name: str, peer: str, netns: int, *, mtu: int = 0, mac: str = "", peer_mac: str = "") -> None:
        """Create a veth pair whose peer is in another network namespace.

        Args:
            netns: Descriptor of the peer's network namespace.
        """
        common = {"mtu": mtu} if mtu else {}
        end = {"ifname": peer, "net_ns_fd": netns, **common, **({"address": peer_mac} if peer_mac else {})}
        # Without a queue on the node's end, as the reference plugins make it.
        own = {**common, "txqlen": 0, **({"address": mac} if mac else {})}
        with _wrap_errors(f"create {peer}, a veth"):
            self._route.link("add", ifname=name, kind="veth", peer=end, **own)

    def create_new(self, name: str, kind: str) -> None:
        """Create a link; unlike `create_link`, raise an error if there is one of that name."""
        with _wrap_errors(f"create {name}, a link of kind {kind}"):
            self._route.link("add", ifname=name, kind=kind)

    def create_on(
        self, parent: int, name: str, kind: str, netns: int, *, mtu: int = 0, mac: str = "", **properties: t.Any
    ) -> None:
        """Create a link on top of another one, in a network namespace.

        Args:
            parent: Interface index of the other link.
            netns: Descriptor of the network namespace.
            properties: Those of its kind, as pyroute2 calls them.
        """
        keys: dict[str, t.Any] = {**({"mtu": mtu} if mtu else {}), **({"address": mac} if mac else {})}
        with _wrap_errors(f"create {name}, a link of kind {kind}"):
            self._route.link("add", ifname=name, kind=kind, link=parent, net_ns_fd=netns, **keys, **properties)

    def remove_link(self, ifindex: int) -> None:
        """Remove a link; do nothing if it does not exist."""
        with _wrap_errors("remove the link", errno.ENODEV):
            self._route.link("del", index=ifindex)

    def move(self, ifindex: int, netns: int, *, name: str, alias: str) -> None:
        """Move a link to another network namespace, under another name and with another alias.

        Args:
            netns: Descriptor of the network namespace.
        """
        with _wrap_errors(f"move the link to another network namespace as {name}"):
            self._route.link("set", index=ifindex, net_ns_fd=netns, ifname=name, ifalias=alias)

    def set_up(self, ifindex: int) -> None:
        with _wrap_errors("set the link up"):
            self._route.link("set", index=ifindex, state="up")

    def set_down(self, ifindex: int) -> None:
        with _wrap_errors("set the link down"):
            self._route.link("set", index=ifindex, state="down")

    def set_mac(self, ifindex: int, mac: str) -> None:
        with _wrap_errors("change the MAC"):
            self._route.link("set", index=ifindex, address=mac)

    def set_mtu(self, ifindex: int, mtu: int) -> None:
        with _wrap_errors("change the MTU"):
            self._route.link("set", index=ifindex, mtu=mtu)

    def set_queue_length(self, ifindex: int, length: int) -> None:
        with _wrap_errors("change the length of the queue"):
            self._route.link("set", index=ifindex, txqlen=length)

    def set_mode(self, ifindex: int, kind: str, mode: str) -> None:
        """Change the mode of a macvlan or an ipvlan. The kernel changes it for all ipvlans of one parent."""
        number = next(number for number, name in MODES[kind].items() if name == mode)
        with _wrap_errors(f"change the mode to {mode}"):
            self._route.link("set", index=ifindex, kind=kind, **{f"{kind}_mode": number})

    def set_promiscuous(self, ifindex: int, value: bool = True) -> None:
        with _wrap_errors("change whether the link is promiscuous"):
            self._route.link("set", index=ifindex, flags=_IFF_PROMISC if value else 0, change=_IFF_PROMISC)

    def set_all_multicast(self, ifindex: int, value: bool) -> None:
        with _wrap_errors("change the reception of multicast"):
            self._route.link("set", index=ifindex, flags=_IFF_ALLMULTI if value else 0, change=_IFF_ALLMULTI)

    def set_master(self, ifindex: int, master: int) -> None:
        with _wrap_errors("add the link to its bridge or VRF"):
            self._route.link("set", index=ifindex, master=master)

    def set_hairpin(self, ifindex: int) -> None:
        with _wrap_errors("set hairpin mode"):
            self._route.brport("set", index=ifindex, mode=1)

    def set_isolated(self, ifindex: int) -> None:
        with _wrap_errors("isolate the port"):
            self._route.brport("set", index=ifindex, isolated=1)

    def add_vlan(self, ifindex: int, vlan: int, *, is_access: bool) -> None:
        """Add a VLAN to a port of a bridge: the one of packets without a tag, or one of packets with a tag."""
        with _wrap_errors(f"add VLAN {vlan} to the port"):
            self._route.vlan_filter("add", index=ifindex, vlan_info={"vid": vlan, "flags": ACCESS if is_access else 0})

    def remove_vlan(self, ifindex: int, vlan: int) -> None:
        """Remove a VLAN from a port of a bridge; do nothing if it does not have it."""
        with _wrap_errors(f"remove VLAN {vlan} from the port", errno.ENOENT):
            self._route.vlan_filter("del", index=ifindex, vlan_info={"vid": vlan, "flags": 0})

    def add_address(self, ifindex: int, address: IpInterface, *, finds_duplicates: bool = False) -> None:
        """Add an address.

        Args:
            finds_duplicates: Whether the kernel looks for duplicates of an IPv6 address before it can be used.
        """
        keys: dict[str, t.Any] = {"address": str(address.ip), "prefixlen": address.network.prefixlen}
        if address.version == 6:
            keys["flags"] = 0 if finds_duplicates else _IFA_F_NODAD
        elif address.network.prefixlen < _NO_BROADCAST:
            keys["broadcast"] = str(address.network.broadcast_address)
        with _wrap_errors(f"add the address {address}", errno.EEXIST):
            self._route.addr("add", index=ifindex, **keys)

    def remove_address(self, ifindex: int, address: IpInterface) -> None:
        """Remove an address; do nothing if the link does not have it."""
        keys = {"address": str(address.ip), "prefixlen": address.network.prefixlen}
        with _wrap_errors(f"remove the address {address}", errno.EADDRNOTAVAIL):
            self._route.addr("del", index=ifindex, **keys)

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
        """Add a route; routes through other links stay.

        Args:
            replace: Whether to replace the route with the same destination and priority, instead of adding another one.
            scope: The kernel's number, by default that of a route to everywhere.
        """
        keys = {"gateway": gateway and str(gateway), "prefsrc": source and str(source), "priority": priority or None}
        given = {key: value for key, value in keys.items() if value is not None}
        family = _family(destination)
        with _wrap_errors(f"add the route to {destination}", errno.EEXIST):
            self._route.route(
                "replace" if replace else "append",
                dst=str(destination),
                oif=ifindex,
                family=family,
                table=table,
                proto=_RTPROT_BOOT,
                scope=scope or 0,
                **given,
            )

    def add_host_route(self, ifindex: int, address: IpAddress) -> None:
        """Add the route to a single address that a link reaches without a gateway."""
        scope = _RT_SCOPE_HOST if address.version == 4 else 0
        self.add_route(ifindex, ipaddress.ip_network(address), MAIN_TABLE, replace=False, scope=scope)

    def remove_route(self, ifindex: int, destination: IpNetwork, table: int) -> None:
        """Remove a route of any scope that any program has made; do nothing if it does not exist."""
        keys = {"dst": str(destination), "family": _family(destination), "scope": _ANY_SCOPE, "proto": 0, "type": 0}
        with _wrap_errors(f"remove the route to {destination}", errno.ESRCH):
            self._route.route("del", oif=ifindex, table=table, **keys)

    def add_rule(self, source: IpAddress, table: int) -> None:
        """Add a routing rule for the packets from an address, before all others but the kernel's first one."""
        family = _family(source)
        known = rtnetlink.snapshot(routes=False, rules=True).rules
        priorities = [rule.priority for rule in known if rule.family == family and rule.priority]
        priority = min(priorities, default=_MAIN_RULE) - 1
        keys = {"src": str(source), "src_len": source.max_prefixlen, "family": family}
        with _wrap_errors(f"add the rule for packets from {source}", errno.EEXIST):
            self._route.rule("add", table=table, priority=priority, **keys)

    def remove_rule(self, rule: Rule) -> None:
        """Remove a routing rule for packets from a network; do nothing if it does not exist."""
        source = {"src": str(rule.source.network_address), "src_len": rule.source.prefixlen} if rule.source else {}
        with _wrap_errors(f"remove the rule for packets from {rule.source}", errno.ENOENT):
            self._route.rule("del", table=rule.table, priority=rule.priority, family=rule.family, **source)

    def create_ifb(self, name: str, mtu: int) -> None:
        """Create a link that is up, to which the traffic of another one is redirected."""
        with _wrap_errors(f"create {name}, an ifb"):
            self._route.link("add", ifname=name, kind="ifb", mtu=mtu, txqlen=0, state="up")

    def limit_rate(self, ifindex: int, rate: int, burst: int) -> None:
        """Limit what a link sends to a rate in bytes per second, with bursts in bytes."""
        limits = {"rate": rate, "burst": burst, "latency": _LATENCY}
        with _wrap_errors("limit the rate"):
            self._route.tc("replace", "tbf", index=ifindex, handle=_TBF_HANDLE, parent=_ROOT, **limits)

    def redirect(self, ifindex: int, target: int) -> None:
        """Redirect all that a link receives to another one."""
        with _wrap_errors("stop the redirection of what the link receives", errno.ENOENT, errno.EINVAL):
            self._route.tc("del", "ingress", index=ifindex, handle=_INGRESS_HANDLE)
        action = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": target}
        with _wrap_errors("redirect what the link receives"):
            self._route.tc("add", "ingress", index=ifindex, handle=_INGRESS_HANDLE)
            self._route.tc(
                "add-filter",
                "u32",
                index=ifindex,
                parent=_INGRESS_HANDLE,
                prio=1,
                protocol=_ETH_P_ALL,
                target=_FILTER_CLASS,
                keys=["0x0/0x0+0"],
                action=[action],
            )


def _family(address: IpAddress | IpNetwork) -> int:
    return int(socket.AF_INET if address.version == 4 else socket.AF_INET6)


@contextlib.contextmanager
def _wrap_errors(action: str, *ignored: int) -> t.Iterator[None]:
    from pyroute2.netlink.exceptions import NetlinkError  # there is a writer, so that it has been loaded

    try:
        yield
    except (NetlinkError, OSError) as exc:
        number = exc.code if isinstance(exc, NetlinkError) else exc.errno
        if number not in ignored:
            reason = exc.args[1] if len(exc.args) > 1 else exc
            raise CniError(Code.IO_FAILURE, f"cannot {action}: {reason}") from exc


__all__ = ("LIBRARY", "KernelWriter", "connect", "is_available")
