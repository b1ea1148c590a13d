# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The link that ADD has made, found by what the record tells of it, so that DEL removes that one and no other.

Plugins go by the interface's name, which whoever may change a container's links can give to another one. DEL "succeeds"
then, and the address is free while the link still has it.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import netns_for_delete
from ansible_collections.cni.node.plugins.module_utils._linux import netns, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link, View

_PAIR: t.Final = "veth"
# What each plugin makes, and its DEL removes.
_KINDS: t.Final[t.Mapping[str, str]] = {
    "bridge": _PAIR,
    "dummy": "dummy",
    "flannel": _PAIR,
    "ipvlan": "ipvlan",
    "macvlan": "macvlan",
    "ptp": _PAIR,
    "tap": "tun",
    "vlan": "vlan",
}
# Its link is a device of the node, of any kind, and is given back.
_LENDS_A_DEVICE: t.Final = "host-device"
# How the reference plugins call the node's end of a pair.
_HOST_END: t.Final = re.compile(r"veth[0-9a-f]{8}")


@dataclasses.dataclass(frozen=True)
class Preparation:
    """What is to be done before DEL.

    Attributes:
        record: What DEL is to be run with; without a namespace where another link has the name there.
        path: The namespace of the link.
        renamed: The link that is to get its recorded name back.
        removed: The link that is to be removed in the namespace.
        removed_host_end: The node's end that is to be removed: the other one is elsewhere.
    """

    record: Record
    path: str = ""
    renamed: Link | None = None
    removed: Link | None = None
    removed_host_end: Link | None = None

    def carry_out(self) -> Record:
        """Return what DEL is to be run with now.

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


def prepare(record: Record, *, is_name_needed: bool) -> Preparation:
    """Find the link of an attachment; return what is to be done before DEL. Nothing is changed.

    Args:
        is_name_needed: Whether another link is to be made with the interface's name after that.

    Raises:
        CniError: ``INVALID_ENVIRONMENT`` where another link has the name, and DEL would remove that one;
            ``IO_FAILURE`` for a namespace that cannot be looked into.
    """
    known = _Known.of(record)
    path, host_end = netns_for_delete(record), known.host_end()
    if not path or not netns.is_namespace(path):
        return Preparation(record, removed_host_end=host_end)
    if not known.is_enough:
        return Preparation(record)
    at_name = rtnetlink.link(record.attachment.ifname, path)
    if at_name is not None and host_end is not None and _is_pair(at_name, host_end):
        return Preparation(record)
    link = known.find(rtnetlink.snapshot(path, routes=False), host_end)
    lost_host_end = None if link else host_end
    if at_name is None:
        return Preparation(record, path, renamed=link, removed_host_end=lost_host_end)
    if known.is_foreign or known.is_own(at_name, link, host_end):
        return Preparation(record)
    if is_name_needed or (link is not None and not known.is_removable):
        raise _taken(record.attachment, link, path)
    without_netns = dataclasses.replace(record, attachment=record.attachment.with_netns(""))
    return Preparation(without_netns, path, removed=link, removed_host_end=lost_host_end)


def remove_host_end(record: Record) -> None:
    """Remove a pair that DEL has left, because its link got another name meanwhile.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    host_end = _Known.of(record).host_end()
    if host_end is not None:
        Preparation(record, removed_host_end=host_end).carry_out()


class _Known(t.NamedTuple):
    """What a record tells of its link."""

    plugin_type: str = ""
    mac: str = ""
    addresses: frozenset[str] = frozenset()
    host_ends: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Record) -> _Known:
        if record.result is None:
            return cls()
        interfaces: t.Sequence[t.Mapping[str, t.Any]] = record.result.keys.get("interfaces") or ()
        plugin_type = record.network().plugins[0].type
        if any(one.get("pciID") or one.get("socketPath") for one in interfaces):
            return cls(plugin_type)  # a device that a program drives past the kernel
        own = (one for one in interfaces if one.get("name") == record.attachment.ifname and one.get("sandbox"))
        mac = next((str(one.get("mac") or "") for one in own), "")
        on_node = (str(one.get("name")) for one in interfaces if not one.get("sandbox"))
        host_ends = tuple(filter(_HOST_END.fullmatch, on_node)) if _KINDS.get(plugin_type) == _PAIR else ()
        return cls(plugin_type, mac.lower(), frozenset(record.addresses), host_ends)

    @property
    def is_foreign(self) -> bool:
        """Whether it is not known what the plugin makes, and how its DEL finds that."""
        return not self.is_removable and self.plugin_type != _LENDS_A_DEVICE

    @property
    def is_removable(self) -> bool:
        """Whether DEL would remove the link, and do nothing else with it."""
        return self.plugin_type in _KINDS

    @property
    def is_enough(self) -> bool:
        return bool(self.mac) or (bool(self.addresses) and not self.is_foreign)

    def find(self, view: View, host_end: Link | None) -> Link | None:
        """Return the link in a namespace, or None where it is not there.

        The other end of a pair is certain; by its MAC, a link is one of those that may have the same one, such as those
        of ipvlan; it may have got another MAC, and a record before 0.3.0 has none: then it is known by its address.
        """
        if host_end is not None:
            return next((link for link in view.links if _is_pair(link, host_end)), None)
        numbers = {address.link for address in view.addresses if str(address.interface.ip) in self.addresses}
        links = [link for link in view.links if self._may_be(link)]
        holding = [link for link in links if link.ifindex in numbers]
        alike = [link for link in links if self.mac and link.mac == self.mac]
        both = [link for link in alike if link.ifindex in numbers]
        if self.is_foreign:
            return both[0] if both else None
        if both or holding:
            return (both or holding)[0]
        return alike[0] if len(alike) == 1 else None

    def is_own(self, at_name: Link, link: Link | None, host_end: Link | None) -> bool:
        """Return whether the link that has the name is the attachment's.

        Args:
            link: What `find` has returned. Where that is nothing, the link may have lost its address and its MAC.
        """
        if link is not None or host_end is not None:
            return link is not None and link.ifindex == at_name.ifindex
        return self._may_be(at_name) and (at_name.mac == self.mac or not self.host_ends)

    def host_end(self) -> Link | None:
        """Return the node's end of the pair, where there is one and the record has its name."""
        ends = (rtnetlink.link(name) for name in self.host_ends)
        return next((end for end in ends if end is not None and end.kind == _PAIR), None)

    def _may_be(self, link: Link) -> bool:
        return _KINDS.get(self.plugin_type) in (None, link.kind)


def _is_pair(link: Link, host_end: Link) -> bool:
    return link.kind == _PAIR and (link.peer, host_end.peer) == (host_end.ifindex, link.ifindex)


def _taken(attachment: Attachment, link: Link | None, path: str) -> CniError:
    now = f"is called {printable.line(link.name)} now" if link else "is not there any more"
    return CniError(
        Code.INVALID_ENVIRONMENT,
        f"{attachment}: its interface {now}, and another interface of {path} is called {attachment.ifname}",
        f"give that one another name or remove it, then run again; DEL goes by the name {attachment.ifname}",
    )


__all__ = ("Preparation", "prepare", "remove_host_end")
