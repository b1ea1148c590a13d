# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find what plugins make once for all containers, if only removed networks used it."""

from __future__ import annotations

import ipaddress
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._base.printable import plural
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import Removal
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import link_change, rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import read_node
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.network_users import NetworkUsers
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_rules import collect_chains, collect_tables
from ansible_collections.cni.node.plugins.module_utils._node.gc.shared_search import SharedSearch
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import bridge_addresses
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import bridge_name, is_routed
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import all_plugins
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links

_UNNEEDED = "nothing else on the node names it, and it has no ports and no addresses except their gateways"
_LINK_LOCAL = ipaddress.ip_network("fe80::/64")
# The node's own network configuration: ifupdown, netplan, systemd-networkd, NetworkManager, and the scripts of Red Hat
# and SUSE.
_FILES = (
    "/etc/network/interfaces",
    "/etc/network/interfaces.d/*",
    "/etc/netplan/*",
    "/run/netplan/*",
    "/usr/lib/netplan/*",
    *(
        f"{top}/systemd/network/{name}"
        for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib")
        for name in ("*", "*/*")
    ),
    *(f"{top}/NetworkManager/system-connections/*" for top in ("/etc", "/run", "/usr/lib")),
    "/etc/sysconfig/network-scripts/*",
    "/etc/sysconfig/network/*",
)


def collect(
    policy: GcPolicy, conf_dir: str, removal: Removal, owners: Owners, leaks: t.Iterable[Leak]
) -> t.Iterator[Leak]:
    """Collect resources that plugins make once for all containers and never remove, if only removed networks used them.

    Args:
        conf_dir: The conf dir of this collection.
        owners: The owners in all networks of the node.
        leaks: The leaks that have been reported before.
    """
    certain = removal.networks()
    networks = [*certain, *removal.earlier]
    if not networks:
        return
    pending = [record for record in owners.records if record.attachment.key[1:] in owners.pending_removal]
    live = [record for record in owners.records if record not in pending]
    users = NetworkUsers.read(conf_dir, live, removal.paths if policy.dry_run else ())
    broken = f"an unreadable record may use it: {owners.broken[0]}" if owners.broken else ""
    # Before the links are listed: an ADD that has ended by now has made its port.
    doubt = broken or gc_owners.find_add_in_progress()
    bridges, node = list_bridges(networks), rtnetlink.snapshot(routes=False)
    traces = _list_traces(pending, leaks, node) if policy.dry_run else frozenset[str]()
    search = SharedSearch(policy, users, traces, doubt)
    lost_links = {bridge.name for bridge in bridges} - {link.name for link in node.links}
    names = {bridge.name for bridge in list_bridges(certain)}
    for leak in _Bridges(search, node, names).collect(bridges):
        lost_links |= {leak.subject} if leak.collected else set()
        yield leak
    view = read_node()
    yield from collect_chains(search, networks, view, lost_links)
    yield from collect_tables(search, networks, view)


def _list_traces(pending: t.Sequence[Record], leaks: t.Iterable[Leak], node: View) -> frozenset[str]:
    """Return the names that shared rules and bridges have of what a run would have removed by now, as `Leak.traces`."""
    traces = {trace for leak in leaks if leak.collected for trace in leak.traces} | _pending_ports(pending, node)
    for record in pending:
        network, container_id, ifname = key = record.attachment.key
        traces |= {container_id, firewall_names.instance(*key), *firewall_names.spoof_names(container_id, ifname)}
        traces |= {*record.addresses, *firewall_names.container_chains(network, container_id)}
    return frozenset(traces - {""})


def _pending_ports(pending: t.Sequence[Record], view: View) -> set[str]:
    """Return the node's ends of attachments that are pending removal; bridges, which results list as well, may stay."""
    bridges = {link.name for link in view.links if link.kind == BRIDGE}
    ports = {name for record in pending for name in record.node_interfaces} - bridges
    namespaces = {netns.inode(record.attachment.netns) for record in pending} - {0}
    unknown = [link for link in view.links if link.kind == "veth" and link.master and link.name not in ports]
    if not namespaces or not unknown:
        return ports
    # A result of a version before 0.3.0 does not list its interfaces.
    ends = veth.find_veth_ends().netns_by_ends
    return ports | {link.name for link in unknown if netns.inode(ends.get((link.peer, link.ifindex), "")) in namespaces}


class NamedBridge(t.NamedTuple):
    """A bridge that removed networks name.

    Attributes:
        networks: Their names.
        vlans: Names of the links that the plugin makes for gateways of VLANs. The other end of each is a port.
        gateways: The addresses that the plugin gives to the bridge and to these links.
        gc_disabled_network: The name of a network with ``disableGC``, or an empty string.
    """

    name: str
    networks: tuple[str, ...]
    vlans: frozenset[str]
    gateways: frozenset[IpInterface]
    gc_disabled_network: str


def list_bridges(networks: t.Iterable[NetworkConfiguration]) -> list[NamedBridge]:
    """Return the bridges that networks name."""
    bridges_by_name: dict[str, NamedBridge] = {}
    for network in networks:
        for plugin in all_plugins(network):
            if catalogue.find_plugin_type(plugin.type).is_bridge:
                name, vlan = bridge_name(plugin.keys), plugin.keys.get("vlan")
                known = bridges_by_name.get(name) or NamedBridge(name, (), frozenset(), frozenset(), "")
                routed = is_routed(plugin.type, plugin.keys)
                bridges_by_name[name] = NamedBridge(
                    name,
                    tuple(dict.fromkeys((*known.networks, network.name))),
                    known.vlans | ({f"{name}.{vlan}"} if vlan else frozenset()),
                    known.gateways | (frozenset(bridge_addresses(plugin.keys.get("ipam"))) if routed else frozenset()),
                    known.gc_disabled_network or (network.name if network.disable_gc else ""),
                )
    return list(bridges_by_name.values())


class _Bridges:
    """Collects bridges that only removed networks used. The plugin makes bridges and never removes them."""

    def __init__(self, search: SharedSearch, view: View, certain: t.Collection[str]) -> None:
        """
        Args:
            certain: Names of bridges of networks that this collection certainly had. Others must have a gateway's address.
        """
        self._search = search
        self._view = view
        self._certain = certain
        self._links = {link.name: link for link in view.links}

    def collect(self, bridges: t.Iterable[NamedBridge]) -> t.Iterator[Leak]:
        for bridge in bridges:
            link = self._links.get(bridge.name)
            if link is not None:
                yield self._collect_bridge(bridge, link)

    def _collect_bridge(self, bridge: NamedBridge, link: Link) -> Leak:
        networks = f"{plural('network', len(bridge.networks))} {', '.join(bridge.networks)}"
        leak = Leak(Kind.BRIDGE, "", bridge.name, f"the removed {networks} named it")
        pairs = [self._links[name] for name in sorted(bridge.vlans) if self._is_own_pair(name, link)]

        def remove_links() -> None:
            for own_link in (*pairs, link):
                link_change.remove(own_link.ifindex, own_link.name)

        return self._search.collect(leak, self._reason_to_keep(bridge, link, pairs), _UNNEEDED, remove_links)

    def _reason_to_keep(self, bridge: NamedBridge, link: Link, pairs: t.Sequence[Link]) -> str:
        if link.kind != "bridge":
            return f"it is not a bridge, but {link.kind or 'a physical interface'}"
        if bridge.gc_disabled_network:
            return f"network {bridge.gc_disabled_network} sets disableGC"
        names = (bridge.name, *sorted(bridge.vlans))
        return (
            self._search.users.reason_to_keep(*names)
            or self._reason_by_link(link, pairs)
            or self._reason_by_address(bridge, link, pairs)
            or _reason_in_files(*names)
        )

    def _is_own_pair(self, name: str, bridge: Link) -> bool:
        """Return whether a link is the gateway's end of a pair whose other end is a port of the bridge."""
        link = self._links.get(name)
        if link is None or link.kind != VETH:
            return False
        port = own_links.find_peer(link, next((each for each in self._view.links if each.ifindex == link.peer), None))
        return port is not None and port.master == bridge.ifindex

    def _reason_by_link(self, bridge: Link, pairs: t.Sequence[Link]) -> str:
        """Return a clause that names a link which uses the bridge, other than the plugin's pairs, or an empty string."""
        own = {pair.peer for pair in pairs}
        for link in self._view.links:
            if link.master == bridge.ifindex and link.ifindex not in own and link.name not in self._search.traces:
                return f"it has the port {link.name}"
            if link.peer == bridge.ifindex and not link.is_peer_elsewhere and link.kind != "veth":
                return f"the link {link.name} is on top of it"
            if link.ifindex == bridge.master:
                return f"the link {link.name} is its master"
        return ""

    def _reason_by_address(self, bridge: NamedBridge, link: Link, pairs: t.Sequence[Link]) -> str:
        names = {own_link.ifindex: own_link.name for own_link in (link, *pairs)}
        addresses = [address for address in self._view.addresses if address.link in names]
        for address in addresses:
            interface = address.interface
            if interface not in bridge.gateways and interface.network != _LINK_LOCAL:
                return f"{names[address.link]} has the address {interface}, which is not a gateway of these networks"
        if bridge.name in self._certain or any(address.interface in bridge.gateways for address in addresses):
            return ""
        return "it has no gateway of these networks as its address, so nothing shows that this collection had them"


def _reason_in_files(*names: str) -> str:
    """Return a clause with the file of the node's own network configuration that names a link, or an empty string."""
    words = "|".join(map(re.escape, names))
    named = re.compile(rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_-])".encode("utf-8", "surrogateescape"))
    try:
        paths = _list_files()
    except CniError as exc:
        return f"a file that cannot be listed may name it: {exc.msg}"
    for path in paths:
        if named.search(os.path.basename(os.fsencode(path))):
            return f"{path} configures it"
        try:
            content = durable.read(path) or b""
        except CniError as exc:
            return f"an unreadable file may name it: {exc.msg}"
        if named.search(content):
            return f"{path} names it"
    return ""


def _list_files() -> list[str]:
    paths = [path for pattern in _FILES for path in durable.find_paths("", pattern)]
    return [path for path in paths if not os.path.isdir(path)]
