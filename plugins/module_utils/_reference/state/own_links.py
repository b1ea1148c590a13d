# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the links that an attachment really has, on the node and in its container.

Records, results, aliases and MACs are claims: containers, executables and other runtimes write them. What the kernel of the
node says of a pair is a proof: the indexes of both ends, their kind, and the network namespace of the other end.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

# The name that the reference plugins give to the node's end of a veth pair.
HOST_END = re.compile(r"veth[0-9a-f]{8}")


def is_pair(host_end: Link, inside: Link, path: str) -> bool:
    """Return whether a link of the node and one of a container are the ends of one veth pair.

    Args:
        path: The container's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    if host_end.kind != VETH or host_end.peer != inside.ifindex:
        return False
    if not host_end.is_peer_elsewhere:
        # An executable may have been told that the node is the container, with CNI_NETNS_OVERRIDE.
        return netns.is_own(path) and find_peer(inside, host_end) is not None
    return host_end.is_peer_of(inside, rtnetlink.netns_id(path))


def find_host_end(inside: Link, path: str) -> Link | None:
    """Return the node's end of a container's veth pair; None if its other end is not on the node, or it is not a veth.

    Args:
        path: The container's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    host_end = rtnetlink.link_by_index(inside.peer) if inside.kind == VETH and inside.is_peer_elsewhere else None
    return host_end if host_end is not None and is_pair(host_end, inside, path) else None


def find_peer(link: Link, peer: Link | None) -> Link | None:
    """Return the other end of a veth pair if both are on the node.

    Args:
        peer: The link of the node with the index of the other end.
    """
    return peer if peer is not None and peer.is_peer_of(link, None) and not link.is_peer_elsewhere else None


def is_without_link(record: Record) -> bool:
    """Return whether no plugin of a record makes a link, so that nothing proves whose network namespace it names."""
    try:
        plugins = [catalogue.find_plugin_type(plugin.type) for plugin in record.network().plugins]
    except CniError:
        return False
    return all(plugin.is_reference and not plugin.makes_interface for plugin in plugins)


def is_recorded(record: Record, inside: Link) -> bool:
    """Return whether a link of a container has the recorded kind and, for a veth, the recorded end on the node.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    plugins = [catalogue.find_plugin_type(plugin.type) for plugin in record.network().plugins]
    if inside.name == rtnetlink.LOOPBACK:
        return plugins[0].is_loopback
    kinds = {plugin.link_kind for plugin in plugins} - {""}
    if kinds and inside.kind not in kinds:
        return False
    ends = (rtnetlink.link(name) for name in record.node_interfaces) if inside.kind == VETH else ()
    host_ends = [end for end in ends if end is not None and end.kind == VETH and end.is_peer_elsewhere]
    return not host_ends or any(is_pair(end, inside, record.attachment.netns) for end in host_ends)


class OwnLinks(t.NamedTuple):
    """The links of an attachment.

    Attributes:
        inside: Its link in the container, whatever its name is now; None if it is gone.
        host_end: The node's end of its pair, proven by ``inside``; None without a pair that the claim names.
    """

    inside: Link | None
    host_end: Link | None


class LinkClaim(t.NamedTuple):
    """An attachment's link as a record or a result describes it."""

    attachment: Attachment
    plugin_type: str = ""
    mac: str = ""
    addresses: frozenset[str] = frozenset()
    host_ends: tuple[str, ...] = ()

    @classmethod
    def from_record(cls, record: Record) -> LinkClaim:
        if record.result is None:
            return cls(record.attachment)
        return cls._from_record(record, record.network().plugins[0].type)

    @classmethod
    def list_others(cls, record: Record) -> list[LinkClaim]:
        """Return the claims with which DEL of plugins after the first one may find a link; real networks have none."""
        types = [plugin.type for plugin in record.network().plugins[1:]] if record.result else []
        return [cls._from_record(record, name) for name in types if catalogue.find_plugin_type(name).makes_interface]

    @classmethod
    def _from_record(cls, record: Record, plugin_type: str) -> LinkClaim:
        return cls.from_result(record.attachment, plugin_type, record.result, frozenset(record.addresses))

    @classmethod
    def from_result(
        cls, attachment: Attachment, plugin_type: str, result: Result | None, addresses: frozenset[str] = frozenset()
    ) -> LinkClaim:
        """
        Args:
            plugin_type: The type of the plugin that made the link.
            addresses: Those of the container's interface.
        """
        interfaces: t.Sequence[t.Mapping[str, t.Any]] = (result.keys.get("interfaces") if result else None) or ()
        if any(interface.get("pciID") or interface.get("socketPath") for interface in interfaces):
            return cls(attachment, plugin_type)  # a device that a program uses without the kernel
        own = (keys for keys in interfaces if keys.get("name") == attachment.ifname and keys.get("sandbox"))
        mac = next((normalize_mac(keys.get("mac")) for keys in own), "")
        on_node = (str(keys.get("name")) for keys in interfaces if not keys.get("sandbox"))
        host_ends = (
            tuple(filter(HOST_END.fullmatch, on_node))
            if catalogue.find_plugin_type(plugin_type).link_kind == VETH
            else ()
        )
        return cls(attachment, plugin_type, mac, addresses, host_ends)

    @property
    def is_unknown_plugin(self) -> bool:
        """Return whether the plugin is not known to make an interface, which its DEL would find by name."""
        return not catalogue.find_plugin_type(self.plugin_type).makes_interface

    @property
    def is_identifiable(self) -> bool:
        return bool(self.mac) or (bool(self.addresses) and not self.is_unknown_plugin)

    def is_proven_by(self, inside: Link, path: str) -> bool:
        """Return whether a link of a container has the recorded MAC, or is the other end of a pair that the claim names.

        Args:
            path: The container's network namespace.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        return self.mac == inside.mac != "" or any(is_pair(end, inside, path) for end in self._find_named_host_ends())

    def find_links(self, path: str, records: AllRecords | None = None) -> OwnLinks:
        """Return the attachment's links.

        Args:
            path: The container's network namespace.
            records: The records of all runtimes, for which a pair whose other end was moved is looked up, too.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        return self.find_links_beside(rtnetlink.link(self.attachment.ifname, path), path, records)

    def find_links_beside(self, at_name: Link | None, path: str, records: AllRecords | None = None) -> OwnLinks:
        """Return the attachment's links, as `find_links`.

        Args:
            at_name: The link of the container that has the interface's name, which may be another one.
        """
        named = self._find_named_host_ends() if at_name is not None else []
        host_end = next((end for end in named if at_name is not None and is_pair(end, at_name, path)), None)
        if host_end is not None:
            return OwnLinks(at_name, host_end)
        if not self.is_identifiable:
            return OwnLinks(at_name if at_name and self._may_be_made_by_plugin(at_name, path) else None, None)
        view = rtnetlink.snapshot(path, routes=False)
        pairs = ((end, link) for end in self._find_named_host_ends() for link in view.links if is_pair(end, link, path))
        host_end, inside = next(pairs, (None, None))
        if host_end is None and records is not None:
            host_end = self.find_moved_pair(records)
        if host_end is None:
            inside = self._find_by_claim(view)
            if inside is None and at_name is not None and self._may_be_own(at_name):
                inside = at_name
        return OwnLinks(inside, host_end)

    def _find_by_claim(self, view: View) -> Link | None:
        """Return the link with the recorded MAC and address in a namespace, or None if none or several have them.

        Several links may have the same MAC, such as those of ipvlan. If the MAC was changed, or the record has none (before
        0.3.0), the address identifies it.
        """
        numbers = {address.link for address in view.addresses if str(address.interface.ip) in self.addresses}
        links = [link for link in view.links if self._has_expected_kind(link)]
        with_address = [link for link in links if link.ifindex in numbers]
        with_mac = [link for link in links if self.mac and link.mac == self.mac]
        with_both = [link for link in with_mac if link.ifindex in numbers]
        if self.is_unknown_plugin:
            return with_both[0] if with_both else None
        if with_both or with_address:
            return (with_both or with_address)[0]
        return with_mac[0] if len(with_mac) == 1 else None

    def _may_be_made_by_plugin(self, at_name: Link, path: str) -> bool:
        """Return whether a link may be the attachment's as far as it can be known without a result.

        A veth of another program may be a device of the node, which DEL would destroy. Executables make the pair in the
        container, where both ends are if they were killed.
        """
        if not self._has_expected_kind(at_name):
            return False
        if at_name.kind != VETH or not at_name.is_peer_elsewhere:
            return True
        host_end = find_host_end(at_name, path)
        return host_end is not None and HOST_END.fullmatch(host_end.name) is not None

    def _may_be_own(self, at_name: Link) -> bool:
        """Return whether the link with the interface's name may belong to the attachment, although nothing proves it."""
        return self._has_expected_kind(at_name) and (at_name.mac == self.mac or not self.host_ends)

    def find_moved_pair(self, records: AllRecords) -> Link | None:
        """Return the node's end of a pair whose other end was moved to another namespace; None if all may be others'.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        return next((end for end in self._find_named_host_ends() if self._may_own(end, records)), None)

    def _find_named_host_ends(self) -> list[Link]:
        """Return the veths of the node that the claim names."""
        ends = map(rtnetlink.link, self.host_ends)
        return [end for end in ends if end is not None and end.kind == VETH]

    def _may_own(self, host_end: Link, records: AllRecords) -> bool:
        """Return whether a veth of the node is not known to be another container's, or the node's own.

        Any container and any runtime can write the name of another link to a record. The other end may have been moved to
        another network namespace, so its MAC or its address identifies it, unless other attachments are there.
        """
        # Both ends of a pair of the node itself are there.
        if not host_end.is_peer_elsewhere or self._is_named_elsewhere(host_end.name, records):
            return False
        ends = veth.find_veth_ends()
        path = ends.netns_by_ends.get((host_end.peer, host_end.ifindex), "")
        if not path:
            return not ends.unreadable
        view = rtnetlink.snapshot(path, routes=False)
        other_end = next((link for link in view.links if link.ifindex == host_end.peer), None)
        if other_end is not None and not self._is_recorded(other_end, view):
            return False
        inode = netns.inode(path)
        others = (other.attachment for other in records.read_all()[0] if other.attachment.key != self.attachment.key)
        return inode not in {netns.inode(other.netns) for other in others} - {netns.inode(self.attachment.netns)}

    def _is_named_elsewhere(self, host_end: str, records: AllRecords) -> bool:
        """Return whether another record names a link of the node, or an unreadable one may do so."""
        named, unreadable = records.read_containing(f'"{host_end}"')
        others = (other for other in named if other.attachment.key != self.attachment.key)
        return bool(unreadable) or any(host_end in other.node_interfaces for other in others)

    def _is_recorded(self, link: Link, view: View) -> bool:
        addresses = {str(each.interface.ip) for each in view.addresses if each.link == link.ifindex}
        return link.mac == self.mac or not self.addresses.isdisjoint(addresses)

    def _has_expected_kind(self, link: Link) -> bool:
        return catalogue.find_plugin_type(self.plugin_type).link_kind in ("", link.kind)
