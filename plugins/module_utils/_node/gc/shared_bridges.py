# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.printable import plural
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import link_change
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import IpInterface, Link, View
from ansible_collections.cni.node.plugins.module_utils._node.gc import network_files
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import Users
from ansible_collections.cni.node.plugins.module_utils._reference.ipam_ranges import bridge_addresses
from ansible_collections.cni.node.plugins.module_utils._reference.l2_segment import DEFAULT_BRIDGE, is_routed
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import configured

_LINK_LOCAL: t.Final = ipaddress.ip_network("fe80::/64")


class Bridge(t.NamedTuple):
    """What removed networks say of a bridge.

    Attributes:
        networks: Their names.
        vlans: The links that the plugin makes for the gateways of VLANs: one end of a pair whose other end is a port.
        gateways: The addresses that the plugin gives to the bridge and to these.
        disables_gc: A network that says that others may use what it has, or an empty string.
    """

    name: str
    networks: tuple[str, ...]
    vlans: frozenset[str]
    gateways: frozenset[IpInterface]
    disables_gc: str


def bridges(networks: t.Iterable[NetworkConfiguration]) -> list[Bridge]:
    """Return the bridges that networks name."""
    found: dict[str, Bridge] = {}
    for network in networks:
        for plugin in configured(network):
            if plugin.type == "bridge":
                name, vlan = str(plugin.keys.get("bridge") or DEFAULT_BRIDGE), plugin.keys.get("vlan")
                known = found.get(name) or Bridge(name, (), frozenset(), frozenset(), "")
                routed = is_routed(plugin.type, plugin.keys)
                found[name] = Bridge(
                    name,
                    tuple(dict.fromkeys((*known.networks, network.name))),
                    known.vlans | ({f"{name}.{vlan}"} if vlan else frozenset()),
                    known.gateways | (frozenset(bridge_addresses(plugin.keys.get("ipam"))) if routed else frozenset()),
                    known.disables_gc or (network.name if network.disable_gc else ""),
                )
    return list(found.values())


class SharedBridges:
    """Finds bridges that only removed networks used. The plugin makes them and never takes them away."""

    def __init__(self, scope: Scope, users: Users, view: View, pending: t.Collection[str]) -> None:
        """
        Args:
            pending: Ports that a dry run leaves where they are, and a run would have taken away.
        """
        self._scope = scope
        self._users = users
        self._view = view
        self._pending = pending
        self._links = {link.name: link for link in view.links}

    def find(self, wanted: t.Iterable[Bridge], doubt: str) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            doubt: Why none of them may be removed, or an empty string.
        """
        for one in wanted:
            link = self._links.get(one.name)
            if link is not None:
                yield self._bridge(one, link, doubt)

    def _bridge(self, one: Bridge, link: Link, doubt: str) -> Leak:
        leak = Leak(
            "bridge",
            "",
            one.name,
            f"the removed {plural('network', len(one.networks))} {', '.join(one.networks)} named it",
        )
        pairs = [self._links[name] for name in sorted(one.vlans) if self._is_own_pair(name, link)]
        doubt = self._reason_to_keep(one, link, pairs) or doubt
        if not doubt:
            leak.evidence += (
                ", nothing else of the node does, and it has no port and no other address than their gateways"
            )

        def collect() -> None:
            for going in (*pairs, link):
                link_change.remove(going.ifindex, going.name)

        return self._scope.settle(leak, doubt, collect)

    def _reason_to_keep(self, one: Bridge, link: Link, pairs: t.Sequence[Link]) -> str:
        if link.kind != "bridge":
            return f"it is no bridge, but {link.kind or 'a device'}"
        names = (one.name, *sorted(one.vlans))
        return (
            (f"disableGC of network {one.disables_gc} says that others may use it" if one.disables_gc else "")
            or self._users.reason_to_keep(*names)
            or self._use(link, pairs)
            or self._foreign_address(one, link, pairs)
            or network_files.reason_to_keep(*names)
        )

    def _is_own_pair(self, name: str, bridge: Link) -> bool:
        """Return whether a link is the gateway's end of a pair whose other end is a port of the bridge."""
        link = self._links.get(name)
        if link is None or link.kind != "veth" or link.is_peer_elsewhere:
            return False
        return any(port.ifindex == link.peer and port.master == bridge.ifindex for port in self._view.links)

    def _use(self, bridge: Link, pairs: t.Sequence[Link]) -> str:
        """Return which link uses a bridge beside the pairs of the plugin, as a sentence, or an empty string."""
        own = {pair.peer for pair in pairs}
        for link in self._view.links:
            if link.master == bridge.ifindex and link.ifindex not in own and link.name not in self._pending:
                return f"it has the port {link.name}"
            if link.peer == bridge.ifindex and not link.is_peer_elsewhere and link.kind != "veth":
                return f"the link {link.name} stands on it"
            if link.ifindex == bridge.master:
                return f"it belongs to the link {link.name}"
        return ""

    def _foreign_address(self, one: Bridge, bridge: Link, pairs: t.Sequence[Link]) -> str:
        numbers = {link.ifindex: link.name for link in (bridge, *pairs)}
        for address in self._view.addresses:
            interface = address.interface
            if address.link in numbers and interface not in one.gateways and interface.network != _LINK_LOCAL:
                return f"{numbers[address.link]} has the address {interface}, which is the gateway of none of them"
        return ""


__all__ = ("Bridge", "SharedBridges", "bridges")
