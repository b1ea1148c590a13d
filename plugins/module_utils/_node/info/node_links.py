# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Describe the links of a node as data."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_lookup, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import IPVLAN, MACVLAN, VLAN, Link

# Addresses for documentation (RFC 5737, RFC 3849): only a default route leads to them. Nothing is sent.
_ANYWHERE = (ipaddress.ip_address("192.0.2.1"), ipaddress.ip_address("2001:db8::1"))
# Kinds of links whose `peer` is the link below them.
_ON_ANOTHER = (MACVLAN, IPVLAN, VLAN, "vxlan", "macvtap")


def list_links() -> list[JsonObject]:
    """Describe the links of the node's own network namespace in the order of their indexes, without the loopback.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    view = rtnetlink.snapshot(routes=False)
    names = {link.ifindex: link.name for link in view.links}
    uplinks = {route_lookup.look_up(address).link for address in _ANYWHERE}
    addresses: dict[int, list[str]] = {}
    for address in view.addresses:
        if not address.interface.is_link_local:
            addresses.setdefault(address.link, []).append(str(address.interface))
    return [
        {
            "name": link.name,
            "kind": link.kind,
            "mac": link.mac,
            "mtu": link.mtu,
            "up": link.is_up,
            "carrier": link.has_carrier,
            "addresses": addresses.get(link.ifindex, []),
            "master": names.get(link.master, ""),
            "parent": _parent(link, names),
            "vlan": link.vlan,
            "uplink": link.ifindex in uplinks,
        }
        for link in view.links
        if link.name != rtnetlink.LOOPBACK
    ]


def _parent(link: Link, names: t.Mapping[int, str]) -> str:
    is_known = link.kind in _ON_ANOTHER and not link.is_peer_elsewhere
    return names.get(link.peer, "") if is_known else ""
