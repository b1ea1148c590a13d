# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin firewall: it lets the traffic of a container pass the node's firewall."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import parse_interface
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, read_interface, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import rules
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FIREWALLD,
    IPTABLES,
    FirewallPart,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.forwarding import (
    describe_forwarding,
    read_firewall,
)

_KEYS_OF_DEL = ("backend", "firewalldZone")


class Firewall(RulePlugin):
    """Accepts packets from and to a container, and keeps bridges apart if the policy says so."""

    name = "firewall"
    versions = list_versions("firewall")

    def require_accepted(self, request: PluginRequest) -> None:
        read_firewall(request.config)

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        with Undo() as undo:
            rules.write(self._require_rules(request), undo)
        return result

    def check(self, request: PluginRequest) -> None:
        rules.require(self._require_rules(request))

    def _require_rules(self, request: PluginRequest) -> list[FirewallPart]:
        if read_firewall(request.config).backend == FIREWALLD and not firewalld.is_running():
            raise refuse(f"/backend: {FIREWALLD} is not running", "start it, or use another backend")
        return self.describe_rules(request)

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        result = request.require_prev_result().keys
        interfaces = [read_interface("the address of the result", str(ip["address"])) for ip in result.get("ips") or ()]
        named = result.get("interfaces") or ()
        bridge = str(named[0].get("name") or "") if named else ""
        return describe_forwarding(rules.container_addresses(interfaces), bridge, read_firewall(request.config))

    def delete(self, request: PluginRequest) -> None:
        if request.prev_result is not None:
            rules.remove_own(_parts_to_delete(request, request.prev_result))


def _parts_to_delete(request: PluginRequest, result: Result) -> list[FirewallPart]:
    """Return the rules of the addresses. Rules that isolate a bridge stay, and DEL needs no chain's name."""
    keys = {key: request.keys.get(key) for key in _KEYS_OF_DEL}
    interfaces = [parse_interface(ip["address"]) for ip in result.keys.get("ips") or ()]
    addresses = rules.container_addresses(interface for interface in interfaces if interface)
    try:
        config = read_firewall(Keys(keys))
    except CniError:  # what ADD refuses has no rules; another program may have written those of iptables
        config = read_firewall(Keys({"backend": IPTABLES}))
    return describe_forwarding(addresses, "", config)
