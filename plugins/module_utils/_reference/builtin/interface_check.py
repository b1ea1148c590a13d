# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare an attachment with the state that its plugin made, for CHECK."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface, parse_interface
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import read_interface, refuse_faults
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts, interfaces
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import is_route
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import LiveNode
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import LinkClaim
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Route
from ansible_collections.cni.node.plugins.module_utils._reference.state.routes import ANY_TABLE

# What later plugins of the list may change, and what others compare.
_NOT_COMPARED = ("prevresult", "runtimeconfig", "mtu", "ipmasq", "macspoofchk", "ipam")


def require(request: PluginRequest) -> None:
    """Raise an error if a link, an address, a route or a setting that the plugin made is missing."""
    result = request.require_prev_result()
    with sandbox.open_sandbox(request.attachment):
        record = Record(request.attachment, _network(request), result, request.version)
        with facts.wrap_errors(record):
            known = facts.read(record, record.network())
            state = interfaces.describe(known, "") if known else ()
        drift = compare(state, request.attachment.netns, LiveNode())
        differences = [each for each in drift.differences if not each.follows]
        moved = _list_moved_routes(request, differences)
    refuse_faults([each.message for each in differences if each.resource not in moved])


def _list_moved_routes(request: PluginRequest, differences: t.Iterable[Difference]) -> list[Route]:
    """Return the routes that are missing in the main table and that another one has: sbr and vrf move them."""
    missing = [each.resource for each in differences if isinstance(each.resource, Route) and each.inside]
    if not missing:
        return []
    present = rtnetlink.snapshot(request.attachment.netns, routes=True, rules=False).routes
    return [
        wanted
        for wanted in missing
        if any(route.destination == wanted.destination and is_route(route, wanted, ANY_TABLE) for route in present)
    ]


def _network(request: PluginRequest) -> bytes:
    """Return a list of the plugin alone."""
    plugin = {key: value for key, value in request.keys.items() if key.lower() not in _NOT_COMPARED}
    return json_text.encode({"cniVersion": request.version, "name": request.network, "plugins": [plugin]})


def link_claim(request: PluginRequest, plugin_type: str) -> LinkClaim:
    """Return the facts in the previous result about the link that a plugin of this type made."""
    addresses = own_addresses(request) or frozenset()
    return LinkClaim.from_result(request.attachment, plugin_type, request.prev_result, addresses)


def own_interfaces(request: PluginRequest) -> list[IpInterface]:
    """Return the addresses of the container's interface in the previous result.

    Raises:
        CniError: One of them is not an address.
    """
    return [read_interface("the address of the result", str(ip.get("address"))) for ip in _own_ips(request)]


def own_addresses(request: PluginRequest) -> frozenset[str] | None:
    """Return the addresses that the container's interface had, for DEL; None if they are not known."""
    if request.prev_result is None:
        return None
    interfaces = (parse_interface(ip.get("address")) for ip in _own_ips(request))
    return frozenset(str(interface.ip) for interface in interfaces if interface)


def _own_ips(request: PluginRequest) -> t.Iterator[JsonObject]:
    """Yield the addresses of the container's interface, and those for which the result names no interface."""
    keys = request.prev_result.keys if request.prev_result else {}
    interfaces = dict(enumerate(keys.get("interfaces") or ()))
    for ip in keys.get("ips") or ():
        interface = interfaces.get(ip.get("interface"))
        if interface is None or (interface.get("name") == request.attachment.ifname and interface.get("sandbox")):
            yield ip
