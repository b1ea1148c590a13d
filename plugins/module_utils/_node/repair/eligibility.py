# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide whether an attachment may be compared with its record and repaired."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links


def reason_to_skip(record: Record) -> str:
    """Return why an attachment cannot be compared with its record, or an empty string."""
    try:
        network = record.network()
        if record.result is not None:
            record.result.to("1.1.0")
    except CniError as exc:
        return f"its record cannot be used: {exc.msg}"
    if record.result is None:
        return "its record has no result"
    if network.disable_check:
        return "its network has disableCheck"
    if not any(catalogue.find_plugin_type(plugin.type).is_reference for plugin in network.plugins):
        return f"its plugins are unknown: {', '.join(network.plugin_types)}"
    return _reason_by_netns(record)


def _reason_by_netns(record: Record) -> str:
    path = record.attachment.netns
    if not path:
        return "its record names no network namespace"
    identity = netns_identity(path)
    if not identity:
        return "its network namespace is gone"
    if record.netns_identity not in ("", identity):
        return "its network namespace has been replaced"
    try:
        if not netns.is_namespace(path):
            return f"{path} is not a network namespace"
        netns.require_foreign(path)
    except CniError as exc:
        return exc.msg
    return ""


def reason_by_interface(record: Record) -> str:
    """Return why the interface at the recorded place may belong to another container or program, or an empty string.

    Other runtimes do not record the identity of the namespace, and a container may rename its links.
    """
    attachment = record.attachment
    inside = _interfaces_inside(record)
    try:
        if all(catalogue.find_plugin_type(plugin.type).is_loopback for plugin in record.network().plugins):
            return ""  # every namespace has the loopback interface
        links = {link.name: link for link in rtnetlink.snapshot(attachment.netns, routes=False).links}
        link = links.get(attachment.ifname)
        if link is None:
            return f"interface {attachment.ifname} is gone"
        if not own_links.is_recorded(record, link):
            return f"interface {attachment.ifname} is another link than the recorded one"
    except CniError as exc:
        return exc.msg
    macs = {normalize_mac(item["mac"]) for item in inside if item.get("name") == attachment.ifname and item.get("mac")}
    if not macs or link.mac in macs:
        return ""
    renamed = [other.name for other in links.values() if other.mac in macs]
    if renamed:
        return f"interface {attachment.ifname} is called {renamed[0]} now, and another link has its name"
    if not record.is_own and not _may_change_mac(record.network()):
        return f"interface {attachment.ifname} has the MAC {link.mac}, so it belongs to another container"
    return ""


def find_rivals(records: t.Iterable[Record]) -> dict[Key, str]:
    """Return the attachments whose interface another record describes, each with the reason to leave it alone.

    A record is a claim: it may name the network namespace of another container.
    """
    groups: dict[tuple[str, str], dict[Key, Record]] = {}
    namespaces: dict[str, list[Record]] = {}
    for record in records:
        attachment = record.attachment
        identity = netns_identity(attachment.netns)
        if identity:
            groups.setdefault((identity, attachment.ifname), {})[attachment.key] = record
            namespaces.setdefault(identity, []).append(record)
    rivals: dict[Key, str] = {}
    for members in namespaces.values():
        for record in filter(own_links.is_without_link, members):
            owner = _find_other_container(record, members)
            if owner:
                rivals[record.attachment.key] = f"the network namespace belongs to container {owner}"
    for (dummy, ifname), group in groups.items():
        proven = [key for key, record in group.items() if len(group) > 1 and _has_recorded_mac(record)]
        for key in group if proven else ():
            if key not in proven:
                rivals[key] = f"the record of container {proven[0][1]} describes interface {ifname}"
    return rivals


def _find_other_container(record: Record, members: t.Iterable[Record]) -> str:
    """Return another container whose interface is in a network namespace, if none of the record's own container is."""
    others = [each for each in members if each.attachment.container_id != record.attachment.container_id]
    owner = next(filter(_has_recorded_mac, others), None)
    if owner is None or any(_has_recorded_mac(each) for each in members if each not in others):
        return ""
    return owner.attachment.container_id


def _has_recorded_mac(record: Record) -> bool:
    attachment = record.attachment
    own = (item for item in _interfaces_inside(record) if item.get("name") == attachment.ifname)
    macs = {normalize_mac(item.get("mac")) for item in own} - {""}
    try:
        link = rtnetlink.link(attachment.ifname, attachment.netns) if macs else None
    except CniError:
        return False
    return link is not None and link.mac in macs


def _interfaces_inside(record: Record) -> list[t.Mapping[str, t.Any]]:
    interfaces = (record.result.keys.get("interfaces") if record.result else None) or ()
    return [item for item in interfaces if item.get("sandbox")]


def _may_change_mac(network: NetworkConfiguration) -> bool:
    return any(catalogue.find_plugin_type(plugin.type).tunes_interface for plugin in network.plugins)
