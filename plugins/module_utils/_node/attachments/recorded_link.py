# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the link that an attachment's record describes, so that DEL removes that link and no other.

Plugins find a link by the interface's name, which a process in the container can give to another link. DEL then
succeeds, and frees an address that the attachment's link still has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link, View
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

# The name that the reference plugins give to the node's end of a veth pair.
_HOST_END: t.Final = re.compile(r"veth[0-9a-f]{8}")


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Changes of links before DEL.

    Attributes:
        record: The record to run DEL with. Its ``netns`` is empty if another link there has the interface's name.
        path: The network namespace of the link.
        renamed: The link to rename to its recorded name.
        removed: The link to remove from the network namespace.
        removed_host_end: The node's end of a veth pair to remove, if its other end is in another network namespace.
    """

    record: Record
    path: str = ""
    renamed: Link | None = None
    removed: Link | None = None
    removed_host_end: Link | None = None

    def carry_out(self) -> Record:
        """Change the links; return the record to run DEL with.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        from ansible_collections.cni.node.plugins.module_utils._linux import link_change

        if self.renamed is not None:
            link_change.rename(self.renamed, self.record.attachment.ifname, self.path)
        if self.removed is not None:
            link_change.remove(self.removed.ifindex, self.removed.name, self.path)
        if self.removed_host_end is not None:
            link_change.remove(self.removed_host_end.ifindex, self.removed_host_end.name)
        return self.record


def prepare(record: Record, records: AllRecords, *, is_name_needed: bool) -> Preparation:
    """Find the link of an attachment; return the changes to make before DEL.

    Args:
        records: The records of all runtimes, which name the links of other attachments.
        is_name_needed: Whether another link needs the interface's name afterwards.

    Raises:
        CniError: ``INVALID_ENVIRONMENT`` if another link has the name, and the name is needed or DEL requires it;
            ``IO_FAILURE`` for a network namespace that cannot be read.
    """
    recorded = _RecordedLink.from_record(record)
    path = record.netns_for_delete()
    is_own_netns = bool(path) and netns.is_own(path)
    if not path or is_own_netns or not netns.is_namespace(path):
        if is_own_netns:
            record = record._replace(attachment=record.attachment.with_netns(""))
        return Preparation(record, removed_host_end=recorded.own_host_end(records))
    at_name = None
    with contextlib.nullcontext() if recorded.is_identifiable else contextlib.suppress(CniError):
        at_name = rtnetlink.link(record.attachment.ifname, path)
    owner = _find_proven_owner(record, at_name, records) if at_name and not recorded.is_proven_by(at_name) else None
    if owner is not None:
        if is_name_needed:
            raise _make_ownership_error(record.attachment, owner, path)
        without_netns = record._replace(attachment=record.attachment.with_netns(""))
        return Preparation(without_netns, removed_host_end=recorded.own_host_end(records))
    if not recorded.is_identifiable:
        return Preparation(record)
    if at_name is not None and any(map(at_name.is_peer_of, recorded.possible_host_ends())):
        return Preparation(record)
    view = rtnetlink.snapshot(path, routes=False)
    host_end = recorded.host_end_in(view) or recorded.own_host_end(records)
    link = _find_own(record, view, host_end, records)
    lost_host_end = None if link else host_end
    if at_name is None:
        return Preparation(record, path, renamed=link, removed_host_end=lost_host_end)
    if recorded.is_unknown_plugin or recorded.is_own(at_name, link, host_end):
        return Preparation(record)
    if is_name_needed or (not recorded.is_removable and (link is not None or not recorded.is_on_node())):
        raise _name_conflict(record.attachment, link, path)
    without_netns = record._replace(attachment=record.attachment.with_netns(""))
    return Preparation(without_netns, path, removed=link, removed_host_end=lost_host_end)


def _find_own(record: Record, view: View, host_end: Link | None, records: AllRecords) -> Link | None:
    """Return the link of an attachment in a namespace; None if it only has an address that another record has, too."""
    recorded = _RecordedLink.from_record(record)
    link = recorded.find(view, host_end)
    if link and not recorded.is_proven_by(link) and _find_proven_owner(record, link, records):
        return None
    return link


def _find_proven_owner(record: Record, at_name: Link, records: AllRecords) -> Attachment | None:
    """Return the other attachment whose record describes the link with an attachment's name, or None.

    A record is a claim: it may name the network namespace of another container.
    """
    if not at_name.mac:
        return None
    for other in records.read_containing(at_name.mac)[0]:
        attachment = other.attachment
        if attachment.key != record.attachment.key and attachment.ifname == at_name.name:
            with contextlib.suppress(CniError):  # without a configuration that can be read, nothing is proven
                if _RecordedLink.from_record(other).is_proven_by(at_name):
                    return attachment
    return None


def remove_host_end(record: Record, records: AllRecords) -> None:
    """Remove a veth pair that DEL did not find, because its link was renamed meanwhile.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    host_end = _RecordedLink.from_record(record).own_host_end(records)
    if host_end is not None:
        Preparation(record, removed_host_end=host_end).carry_out()


class _RecordedLink(t.NamedTuple):
    """The recorded properties of an attachment's link."""

    attachment: Attachment
    plugin_type: str = ""
    mac: str = ""
    addresses: frozenset[str] = frozenset()
    host_ends: tuple[str, ...] = ()

    @classmethod
    def from_record(cls, record: Record) -> _RecordedLink:
        if record.result is None:
            return cls(record.attachment)
        interfaces: t.Sequence[t.Mapping[str, t.Any]] = record.result.keys.get("interfaces") or ()
        plugin_type = record.network().plugins[0].type
        if any(interface.get("pciID") or interface.get("socketPath") for interface in interfaces):
            return cls(record.attachment, plugin_type)  # a device that a program uses without the kernel
        ifname = record.attachment.ifname
        own = (keys for keys in interfaces if keys.get("name") == ifname and keys.get("sandbox"))
        mac = next((str(keys.get("mac") or "") for keys in own), "")
        on_node = (str(keys.get("name")) for keys in interfaces if not keys.get("sandbox"))
        host_ends = (
            tuple(filter(_HOST_END.fullmatch, on_node))
            if catalogue.find_plugin_type(plugin_type).link_kind == VETH
            else ()
        )
        return cls(record.attachment, plugin_type, mac.lower(), frozenset(record.addresses), host_ends)

    @property
    def is_unknown_plugin(self) -> bool:
        """Return whether the plugin is not known to make an interface, which its DEL would find by name."""
        return not catalogue.find_plugin_type(self.plugin_type).makes_interface

    @property
    def is_removable(self) -> bool:
        """Return whether DEL removes the link and does nothing else with it."""
        return bool(catalogue.find_plugin_type(self.plugin_type).link_kind)

    @property
    def is_identifiable(self) -> bool:
        return bool(self.mac) or (bool(self.addresses) and not self.is_unknown_plugin)

    def is_proven_by(self, link: Link) -> bool:
        """Return whether a link has the recorded MAC, or is the other end of a recorded pair."""
        return self.mac == link.mac != "" or any(map(link.is_peer_of, self.possible_host_ends()))

    def find(self, view: View, host_end: Link | None) -> Link | None:
        """Return the link in a namespace, or None if it is not there.

        The other end of a pair identifies it. Several links may have the same MAC, such as those of ipvlan. If the MAC
        was changed, or the record has none (before 0.3.0), the address identifies it.
        """
        if host_end is not None:
            return next((link for link in view.links if link.is_peer_of(host_end)), None)
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

    def is_own(self, at_name: Link, link: Link | None, host_end: Link | None) -> bool:
        """Return whether the link that has the name is the attachment's.

        Args:
            link: The link that `find` returned. None may mean that the link lost its address and its MAC.
        """
        if link is not None or host_end is not None:
            return link is not None and link.ifindex == at_name.ifindex
        if not self.is_removable and self.mac:
            return self.mac in (at_name.mac, at_name.permanent_mac)
        return self._has_expected_kind(at_name) and (at_name.mac == self.mac or not self.host_ends)

    def is_on_node(self) -> bool:
        """Return whether a link of the node has the recorded MAC, as a device that was given back has."""
        return bool(self.mac) and any(link.mac == self.mac for link in rtnetlink.links())

    def possible_host_ends(self) -> list[Link]:
        """Return the veths of the node that the record names."""
        ends = map(rtnetlink.link, self.host_ends)
        return [end for end in ends if end is not None and end.kind == VETH]

    def host_end_in(self, view: View) -> Link | None:
        """Return the node's end of a pair whose other end is in a namespace, or None."""
        return next((end for end in self.possible_host_ends() if any(map(end.is_peer_of, view.links))), None)

    def own_host_end(self, records: AllRecords) -> Link | None:
        """Return the node's end of the pair, or None if there is none or all may belong to other containers."""
        return next((end for end in self.possible_host_ends() if self._may_own(end, records)), None)

    def _may_own(self, host_end: Link, records: AllRecords) -> bool:
        """Return whether a veth of the node is not known to be another container's.

        Any container and any runtime can write the name of another link to a record. The other end may have been moved to
        another network namespace, so its MAC or its address identifies it, unless other attachments are there.
        """
        from ansible_collections.cni.node.plugins.module_utils._linux import veth

        if not host_end.is_peer_elsewhere:
            return True
        if self._is_named_elsewhere(host_end.name, records):
            return False
        path = veth.find_veth_ends().netns_by_ends.get((host_end.peer, host_end.ifindex), "")
        if not path:
            return True
        view = rtnetlink.snapshot(path, routes=False)
        other_end = next((link for link in view.links if link.is_peer_of(host_end)), None)
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


def _make_ownership_error(attachment: Attachment, owner: Attachment, path: str) -> CniError:
    return CniError(
        Code.INVALID_ENVIRONMENT,
        f"{attachment}: {attachment.ifname} in {path} is the interface of the {owner}",
        "remove one of the two attachments, then run again",
    )


def _name_conflict(attachment: Attachment, link: Link | None, path: str) -> CniError:
    now = f"is now named {printable.line(link.name)}" if link else "no longer exists"
    return CniError(
        Code.INVALID_ENVIRONMENT,
        f"{attachment}: its interface {now}, and another interface in {path} is named {attachment.ifname}",
        f"rename or remove the other interface, then run again; DEL finds the interface by its name, {attachment.ifname}",
    )


__all__ = ("Preparation", "prepare", "remove_host_end")
