# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The network namespaces of a node and its attachments, between which a diagnosis finds the way."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
    parse_network,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, any_case
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.config import PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import NODE, Place, name_of
from ansible_collections.cni.node.plugins.module_utils._reference import attachment_drift, catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rules import port_mapping
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import PartDrift
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import MissingRule, Purpose
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links


class Container(t.NamedTuple):
    """A container of the node that has an address, by the record of its attachment or by its interface.

    Attributes:
        record: None for a container without a record.
        place: Its network namespace, which exists.
        inside: Its interface there, or None.
        host_end: The node's end of its pair; None without a pair.
    """

    record: Record | None
    place: Place
    inside: Link | None
    host_end: Link | None


class NodePlaces:
    """The network namespaces of a node, and the records of its attachments."""

    def __init__(self, paths: NodePaths, cache_dir: str, home: int) -> None:
        """
        Args:
            home: A descriptor of the node's network namespace.
        """
        self.node = Place(f"/proc/{os.getpid()}/fd/{home}", NODE)
        records, self.unreadable = AllRecords(RecordStore.of_records(cache_dir), paths.state_dir).read_all()
        self.records = [record.with_netns_of_result() for record in records]
        self._view = NodeView(paths.lease_dir)
        self._places = {self.node.inode: self.node}
        self._peers: dict[tuple[int, int], Place | None] = {}
        self._containers: dict[IpAddress, list[Container]] = {}

    def at(self, path: str) -> Place | None:
        """Return the network namespace at a path, or None if there is none."""
        inode = netns.inode(path) if path and netns.is_namespace(path) else 0
        return self._places.setdefault(inode, Place(path, name_of(path))) if inode else None

    def has_address(self, address: IpAddress) -> bool:
        """Return whether the node has an address, or an attachment of it by its record."""
        return self.node.has_address(address) or any(address in list_addresses(record) for record in self.records)

    def containers(self, address: IpAddress) -> list[Container]:
        """Return the attachments that have an address by their records, and whose network namespaces exist."""
        if address not in self._containers:
            found = (self.container(record) for record in self.records if address in list_addresses(record))
            self._containers[address] = [container for container in found if container is not None]
        return self._containers[address]

    def container(self, record: Record) -> Container | None:
        """Return an attachment; None if its network namespace is gone."""
        place = self.at(record.attachment.netns)
        if place is None:
            return None
        inside = place.link(record.attachment.ifname)
        host_end = None
        if inside is not None:
            with contextlib.suppress(CniError):
                host_end = own_links.find_host_end(inside, record.attachment.netns)
        return Container(record, place, inside, host_end)

    def peer(self, place: Place, link: Link) -> tuple[Place, Link] | None:
        """Return the other end of a pair, or the parent of a link, and its namespace; None if it cannot be reached."""
        other = place if link.peer_netns is None else self._find(place, link.peer_netns)
        peer = other.links.get(link.peer) if other is not None else None
        return (other, peer) if other is not None and peer is not None else None

    def find_drift(self, record: Record) -> AttachmentDrift:
        """Return the drift of an attachment; none if it cannot be compared."""
        with contextlib.suppress(CniError):
            return attachment_drift.compare(record, self._view)
        return AttachmentDrift()

    def compare_rules(self, record: Record, purpose: Purpose, address: IpAddress) -> list[PartDrift]:
        """Return the comparisons of those rules that serve a purpose for an address of an attachment."""
        return [
            each
            for each in self.find_drift(record).rules.parts
            if purpose in each.part.purposes
            and each.part.family == address.version
            and each.part.address in ("", str(address))
        ]

    def find_lost_rules(self, record: Record, purpose: Purpose, address: IpAddress) -> list[MissingRule]:
        """Return the missing ones of the rules that serve a purpose for an address of an attachment."""
        drifts = self.compare_rules(record, purpose, address)
        return [missing for drift in drifts for missing in drift.find_missing(purpose)]

    def _find(self, place: Place, number: int) -> Place | None:
        """Return the namespace that another one knows by a number."""
        key = place.inode, number
        if key not in self._peers:
            self._peers[key] = next((each for each in self._candidates() if place.number_of(each) == number), None)
        return self._peers[key]

    def _candidates(self) -> t.Iterator[Place]:
        """Yield the namespaces known so far, then those of attachments, then all others."""
        yield from list(self._places.values())
        for path in (record.attachment.netns for record in self.records):
            place = self.at(path)
            if place is not None:
                yield place
        for path in live_namespaces.reachable_paths().values():
            place = self.at(path)
            if place is not None:
                yield place


def find_bridge(record: Record) -> str:
    """Return the bridge that an attachment belongs to; an empty string if it belongs to none."""
    plugins = (plugin for plugin in list_plugins(record) if catalogue.find_plugin_type(plugin.type).is_bridge)
    return next((catalogue.shared_link(plugin.type, plugin.keys) for plugin in plugins), "")


def has_flag(record: Record, key: str) -> bool:
    """Return whether a plugin of an attachment's network has a key that is true."""
    return any(any_case(plugin.keys).get(key) is True for plugin in list_plugins(record))


def list_plugins(record: Record) -> t.Sequence[PluginConfiguration]:
    """Return the plugins of an attachment's network; none if its recorded configuration cannot be read."""
    try:
        return record.network().plugins
    except CniError:
        return ()


def list_addresses(record: Record) -> list[IpAddress]:
    """Return the addresses of an attachment's result."""
    return [interface.ip for interface, dummy in list_ips(record)]


def list_ips(record: Record) -> list[tuple[IpInterface, IpAddress | None]]:
    """Return the addresses of an attachment's result with their prefix lengths, and the gateway of each."""
    entries = _read_result(record).get("ips") or ()
    ips = [(parse_interface(ip.get("address")), parse_address(ip.get("gateway"))) for ip in entries]
    return [(interface, gateway) for interface, gateway in ips if interface is not None]


def list_mappings(record: Record) -> list[port_mapping.Mapping]:
    """Return the mapped ports of an attachment; none if they cannot be read."""
    try:
        return port_mapping.read_mappings(Keys(dict(record.attachment.capability_args)))
    except CniError:
        return []


def has_default_route(record: Record, family: int) -> bool:
    """Return whether the result of an attachment has a default route."""
    routes = (parse_network(route.get("dst")) for route in _read_result(record).get("routes") or ())
    return any(route is not None and (route.version, route.prefixlen) == (family, 0) for route in routes)


def _read_result(record: Record) -> JsonMapping:
    try:
        return record.result.to(version.LATEST).keys if record.result is not None else {}
    except CniError:
        return {}
