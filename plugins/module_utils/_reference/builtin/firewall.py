# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin firewall: it lets the traffic of a container pass the node's firewall."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import parse_interface
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import firewalld
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_repair
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import rules
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import (
    FIREWALLD,
    IPTABLES,
    FirewallPart,
    safe_interfaces,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.forwarding import describe_forwarding

_POLICIES: t.Final = ("", "open", "same-bridge", "isolated")
_BACKENDS: t.Final = ("", IPTABLES, FIREWALLD)
_KEYS: t.Final = ("backend", "iptablesAdminChainName", "firewalldZone", "ingressPolicy")


class Firewall(Plugin):
    """Accepts packets from and to a container, and keeps bridges apart if the policy says so."""

    name = "firewall"
    versions = version.KNOWN[4:]

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        with Undo() as undo:
            rules.write(_parts(request, result), undo)
        return result

    def check(self, request: PluginRequest) -> None:
        rules.require(_parts(request, request.require_prev_result()))

    def delete(self, request: PluginRequest) -> None:
        if request.prev_result is not None:
            # A configuration that ADD refused has no rules.
            keys = {key: value for key, value in request.keys.items() if key in _KEYS and isinstance(value, str)}
            firewall_repair.take_back(_describe(keys, request.prev_result))


def _parts(request: PluginRequest, result: Result) -> list[FirewallPart]:
    keys = {key: request.config.text(key) for key in _KEYS}
    if keys["ingressPolicy"] not in _POLICIES:
        raise refuse(f"/ingressPolicy: {keys['ingressPolicy']!r} is unknown", "expected: open, same-bridge or isolated")
    if keys["backend"] not in _BACKENDS:
        raise refuse(f"/backend: {keys['backend']!r} is unknown", "expected: iptables or firewalld")
    if keys["backend"] == FIREWALLD and not firewalld.is_running():
        raise refuse(f"/backend: {FIREWALLD} is not running", "start it, or use another backend")
    return _describe(keys, result)


def _describe(keys: t.Mapping[str, str], result: Result) -> list[FirewallPart]:
    interfaces = [parse_interface(ip["address"]) for ip in result.keys.get("ips") or ()]
    addresses = rules.container_addresses(interface for interface in interfaces if interface)
    named = safe_interfaces(result.keys)
    return describe_forwarding(addresses, str(named[0]["name"]) if named else "", keys)


__all__ = ("Firewall",)
