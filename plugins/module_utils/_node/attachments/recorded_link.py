# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Prepare the links of an attachment for DEL, so that it removes the link that the record describes, and no other.

Plugins find a link by the interface's name, which a process in the container can give to another link. DEL then
succeeds, and frees an address that the attachment's link still has.
"""

from __future__ import annotations

import contextlib
import dataclasses

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_device import DeviceClaim, OwnDevice
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import LinkClaim


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Changes of links before DEL.

    Attributes:
        record: The record to run DEL with. Its ``netns`` is empty if another link there has the interface's name.
        path: The network namespace of the link.
        renamed: The link to rename to its recorded name.
        removed: The link to remove from the network namespace.
        removed_host_end: The node's end of a veth pair to remove, if its other end is in another network namespace.
        device: The device of the node whose alias gets its name again.
    """

    record: Record
    path: str = ""
    renamed: Link | None = None
    removed: Link | None = None
    removed_host_end: Link | None = None
    device: OwnDevice | None = None

    def carry_out(self) -> Record:
        """Change the links; return the record to run DEL with.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        from ansible_collections.cni.node.plugins.module_utils._linux.links import link_change

        if self.renamed is not None:
            link_change.rename(self.renamed, self.record.attachment.ifname, self.path)
        if self.removed is not None:
            link_change.remove(self.removed.ifindex, self.removed.name, self.path)
        if self.removed_host_end is not None:
            link_change.remove(self.removed_host_end.ifindex, self.removed_host_end.name)
        if self.device is not None and self.device.alias != self.device.name:
            link_change.set_alias(self.device.link, self.device.name, self.path)
        return self.record


def prepare(record: Record, records: AllRecords, *, is_name_needed: bool) -> Preparation:
    """Find the link of an attachment; return the changes to make before DEL.

    Args:
        records: The records of all runtimes, which name the links of other attachments.
        is_name_needed: Whether another link needs the interface's name afterwards.

    Raises:
        CniError: ``INVALID_ENVIRONMENT`` if another link has the name, and the name is needed or DEL requires it; a link
            that is not known to be the device of host-device has its name; ``IO_FAILURE`` for a network namespace that
            cannot be read.
    """
    claim = LinkClaim.from_record(record)
    path = record.netns_for_delete()
    is_own_netns = bool(path) and netns.is_own(path)
    if not path or is_own_netns or not netns.is_namespace(path):
        if is_own_netns:
            record = _without_netns(record)
        return Preparation(record, removed_host_end=claim.find_moved_pair(records))
    for other_claim in LinkClaim.list_others(record):
        link = other_claim.find_links(path, records).inside
        if _find_other_owner(other_claim, link, path, records) is not None:
            record = _without_netns(record)
            return Preparation(record, removed_host_end=claim.find_moved_pair(records))
    device_claim = DeviceClaim.from_record(record)
    if device_claim is not None:
        return _prepare_device(record, device_claim, path, is_name_needed=is_name_needed)
    at_name = None
    with contextlib.nullcontext() if claim.is_identifiable else contextlib.suppress(CniError):
        at_name = rtnetlink.link(record.attachment.ifname, path)
    owner = _find_other_owner(claim, at_name, path, records)
    if owner is not None:
        if is_name_needed:
            raise _make_ownership_error(record.attachment, owner, path)
        return Preparation(_without_netns(record), removed_host_end=claim.find_moved_pair(records))
    if own_links.is_without_link(record) and _is_of_another(claim, path, records):
        return Preparation(_without_netns(record))
    if not claim.is_identifiable:
        return Preparation(record)
    return _prepare_link(record, claim, at_name, path, records, is_name_needed=is_name_needed)


def _prepare_link(
    record: Record, claim: LinkClaim, at_name: Link | None, path: str, records: AllRecords, *, is_name_needed: bool
) -> Preparation:
    """Prepare the link that a record describes for DEL, as `prepare`."""
    link, host_end = claim.find_links_beside(at_name, path, records)
    if _find_other_owner(claim, link, path, records) is not None:
        # It only has a recorded address, which another record has, too. Built-in plugins would find it by that.
        if at_name is not None and is_name_needed:
            raise _name_conflict(record.attachment, None, path)
        return Preparation(_without_netns(record), removed_host_end=host_end)
    lost_host_end = None if link else host_end
    if at_name is None:
        return Preparation(record, path, renamed=link, removed_host_end=lost_host_end)
    if claim.is_unknown_plugin or (link is not None and link.ifindex == at_name.ifindex):
        return Preparation(record)
    if is_name_needed:
        raise _name_conflict(record.attachment, link, path)
    return Preparation(_without_netns(record), path, removed=link, removed_host_end=lost_host_end)


def _without_netns(record: Record) -> Record:
    """Return a record with which DEL leaves the links of the network namespace alone."""
    return record._replace(attachment=record.attachment.with_netns(""))


def _find_other_owner(claim: LinkClaim, link: Link | None, path: str, records: AllRecords) -> Attachment | None:
    """Return the other attachment whose record describes a link, or None if there is none or this record does so, too.

    A record is a claim: it may name the network namespace of another container.
    """
    if link is None or not link.mac or claim.is_proven_by(link, path):
        return None
    for other in records.read_containing(link.mac)[0]:
        attachment = other.attachment
        if attachment.key != claim.attachment.key and attachment.ifname == link.name:
            with contextlib.suppress(CniError):  # without a configuration that can be read, nothing is proven
                if LinkClaim.from_record(other).is_proven_by(link, path):
                    return attachment
    return None


def _is_of_another(claim: LinkClaim, path: str, records: AllRecords) -> bool:
    """Return whether links in a network namespace belong to another container, and none to the claim's own."""
    links: tuple[Link, ...] = ()
    with contextlib.suppress(CniError):  # the plugins report it
        links = rtnetlink.snapshot(path, routes=False).links
    owners = [_find_other_owner(claim, link, path, records) for link in links]
    containers = {owner.container_id for owner in owners if owner is not None}
    return bool(containers) and claim.attachment.container_id not in containers


def remove_host_end(record: Record, records: AllRecords) -> None:
    """Remove a veth pair that DEL did not find, because its link was renamed meanwhile.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    host_end = LinkClaim.from_record(record).find_moved_pair(records)
    if host_end is not None:
        Preparation(record, removed_host_end=host_end).carry_out()


def _prepare_device(record: Record, claim: DeviceClaim, path: str, *, is_name_needed: bool) -> Preparation:
    """Prepare a device for DEL of host-device, as `prepare`.

    Its executables give the link with the interface's name back to the node, under the name that its alias has.
    """
    device = claim.find(path)
    at_name = rtnetlink.link(record.attachment.ifname, path)
    if device is None:
        if at_name is None:
            return Preparation(record)
        if is_name_needed:
            raise _name_conflict(record.attachment, None, path)
        return Preparation(_without_netns(record))
    if at_name is not None and at_name.ifindex != device.link.ifindex:
        raise _name_conflict(record.attachment, device.link, path)
    return Preparation(record, path, renamed=None if at_name else device.link, device=device)


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
