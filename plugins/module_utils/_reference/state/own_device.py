# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the device of the node that host-device moved into a container.

A process in the container can rename links, make others, and change MACs and aliases. It cannot make a link without a kind,
which is hardware, or change the permanent MAC of one, or make a veth whose other end is on the node.
"""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, any_case
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac
from ansible_collections.cni.node.plugins.module_utils._cni import identifier
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links


class OwnDevice(t.NamedTuple):
    """A device in a container.

    Attributes:
        link: The device as it is now.
        alias: Its alias now.
        name: Its name on the node.
    """

    link: Link
    alias: str
    name: str


class DeviceClaim(t.NamedTuple):
    """A device as a configuration and a result describe it.

    Attributes:
        name: Its name on the node; an empty string if the configuration names it in another way.
        macs: The MACs of the configuration and of the result.
        is_moved: Whether the result proves that ADD has moved the device.
    """

    attachment: Attachment
    name: str
    macs: frozenset[str]
    is_moved: bool = True

    @classmethod
    def from_keys(cls, attachment: Attachment, keys: t.Mapping[str, t.Any], result: Result | None) -> DeviceClaim:
        """
        Args:
            keys: The configuration, which DEL may not be able to read strictly.
        """
        interfaces: t.Iterable[JsonObject] = (result.keys.get("interfaces") if result else None) or ()
        macs = [item.get("mac") for item in interfaces if item.get("name") == attachment.ifname]
        name, hwaddr = keys.get("device"), keys.get("hwaddr")
        texts = [mac for mac in (*macs, hwaddr) if isinstance(mac, str) and mac]
        return cls(
            attachment,
            name if isinstance(name, str) else "",
            frozenset(map(normalize_mac, texts)),
            bool(macs),
        )

    @classmethod
    def from_record(cls, record: Record) -> DeviceClaim | None:
        """Return the claim of a record; None if host-device has not made the interface, or gave no link to the container."""
        plugin = record.network().plugins[0]
        interfaces = (record.result.keys.get("interfaces") if record.result else None) or ()
        if not catalogue.find_plugin_type(plugin.type).borrows_device or any(item.get("pciID") for item in interfaces):
            return None
        return cls.from_keys(record.attachment, any_case(plugin.keys), record.result)

    def find(self, path: str) -> OwnDevice | None:
        """Return the device; None if it is not in the container any more.

        Args:
            path: The container's network namespace.

        Raises:
            CniError: No link is known to be the device, and one has its name or its alias; or another link of the node has
                the device's name; ``IO_FAILURE``.
        """
        aliases = list_with_aliases(path)
        links = [link for link, dummy in aliases]
        named = [link for link, alias in aliases if self.name == alias]
        link = identify_device(links, named, self.macs, lambda veth: own_links.find_host_end(veth, path))
        if link is not None and not self.is_moved and link.name != self.attachment.ifname:
            return None  # it was moved for another attachment of the container
        if link is None and not self.macs and not self.name:
            # Without a result and a name, there is only the interface's name.
            at_name = (link for link, alias in aliases if link.name == self.attachment.ifname and alias)
            link = next(at_name, None)
        if link is not None and link.kind and self._is_hardware_elsewhere(path):
            link = None
        on_node = rtnetlink.link(self.name) if self.name else None
        if link is None:
            suspects = [
                other.name
                for other, alias in aliases
                if other.name == self.attachment.ifname or (alias and alias == self.name)
            ]
            if not suspects or (on_node is not None and self._may_be(on_node)):
                return None
            raise refuse(
                f"interface {suspects[0]} is not known to be the device of the node: neither its MAC nor its permanent "
                f"address is {' or '.join(sorted(self.macs)) or 'known'}",
                "move the device back by hand",
            )
        alias = next(alias for other, alias in aliases if other.ifindex == link.ifindex)
        name = self.name or alias
        if not name:
            raise refuse(f"interface {link.name} has no alias with its name on the node", "move it back by hand")
        if on_node is not None or (not self.name and rtnetlink.link(name) is not None):
            raise refuse(f"the node has another link {name}", "rename it, so that the device can have its name again")
        return OwnDevice(link, alias, identifier.check_ifname(name))

    def _may_be(self, on_node: Link) -> bool:
        """Return whether the link of the node with the device's name is the device, which was given back."""
        return not self.macs or not self.macs.isdisjoint((on_node.mac, on_node.permanent_mac))

    def _is_hardware_elsewhere(self, path: str) -> bool:
        """Return whether hardware with a recorded MAC is in another namespace, so that a virtual link is not the device.

        Args:
            path: The container's network namespace.
        """
        if not self.macs:
            return False
        own, node = netns.inode(path), netns.inode(netns.CURRENT)
        for other, found in live_namespaces.run_in_each(rtnetlink.links):
            if isinstance(found, CniError) or netns.inode(other) == own:
                continue
            devices = [link for link in found if not link.kind and link.permanent_mac in self.macs]
            # A VLAN of the node has the MAC of the device on which it was made.
            if any(netns.inode(other) != node or link.name == self.name for link in devices):
                return True
        return False


def list_with_aliases(path: str) -> list[tuple[Link, str]]:
    """Return the links of a container with their aliases.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with rtnetlink.wrap_errors("the links of", path):
        return netns.run_inside(path, _list_with_aliases)


def _list_with_aliases() -> list[tuple[Link, str]]:
    return [(link, rtnetlink.alias(link.ifindex)) for link in rtnetlink.links() if link.name != rtnetlink.LOOPBACK]


def identify_device(
    links: t.Iterable[Link],
    named: t.Container[Link],
    macs: t.Container[str],
    find_host_end: t.Callable[[Link], Link | None],
) -> Link | None:
    """Return the device of the node among the links of a container; None if no link is known to be it.

    Args:
        named: The links whose alias is the device's name on the node.
        macs: The recorded MACs; empty if there is no record of them.
        find_host_end: Returns the node's end of a veth, which is proven, or None.
    """
    # Links on others of the container, and pairs, are the container's own.
    links = [link for link in links if not link.peer or link.is_peer_elsewhere]
    permanent = [link for link in links if not link.kind and link.permanent_mac and link.permanent_mac in macs]
    if len(permanent) == 1:
        return permanent[0]
    with_mac = [link for link in permanent or links if link.mac in macs and not _is_of_attachment(link, find_host_end)]
    with_both = [link for link in with_mac if link in named]
    # tuning has given the device its former MAC again.
    with_name = [
        link for link in links if link in named and (not link.kind or not macs or _is_of_node(link, find_host_end))
    ]
    with_one = [link for link in links if link in with_mac or link in named]
    proofs = with_both, with_mac if len(with_one) == 1 else [], with_name
    link = next((found[0] for found in proofs if len(found) == 1), None)
    if link is None or not link.kind or not macs or _is_of_node(link, find_host_end):
        return link
    # A link that the container can make is not the device while one that it cannot make may be the device in disguise.
    disguised = [
        other
        for other in links
        if other != link and (not (other.kind or other.permanent_mac) or _is_of_node(other, find_host_end))
    ]
    return None if disguised else link


def _is_of_attachment(link: Link, find_host_end: t.Callable[[Link], Link | None]) -> bool:
    """Return whether a link is a veth whose other end plugins have made on the node for an attachment."""
    host_end = find_host_end(link) if link.kind == VETH else None
    return host_end is not None and own_links.HOST_END.fullmatch(host_end.name) is not None


def _is_of_node(link: Link, find_host_end: t.Callable[[Link], Link | None]) -> bool:
    """Return whether a link is a veth that has its other end on the node, and is not the link of an attachment."""
    return link.kind == VETH and find_host_end(link) is not None and not _is_of_attachment(link, find_host_end)
