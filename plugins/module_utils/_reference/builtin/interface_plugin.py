# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The base of the plugins that make the container's interface."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse_faults
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import Config, DescribedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import is_route
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ANY_TABLE,
    ExpectedRoute,
    State,
    in_order,
)


class InterfacePlugin(DescribedPlugin[Config]):
    """A plugin that makes an interface, which gets the addresses of an IPAM plugin.

    GC and STATUS concern the IPAM plugin alone: what the plugin itself makes is gone with the container.
    """

    def check(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)
        with sandbox.open_sandbox(request.attachment):
            drift = compare(self._expected_state(request), request.attachment.netns, Node())
            differences = [each for each in drift.differences if not each.follows]
            moved = _list_moved_routes(request, differences)
        refuse_faults([each.message for each in differences if each.resource not in moved])

    def _expected_state(self, request: PluginRequest) -> State:
        # A later plugin of the list may change the MTU.
        keys = {key: value for key, value in request.keys.items() if key.lower() != "mtu"}
        config = self.read(request._replace(keys=keys))
        result = request.require_prev_result()
        with facts.wrap_errors(request.attachment):
            known = facts.read(request.attachment, result)
            return in_order(self.describe(config, self.name_node_links(config, known))) if known else ()

    def gc(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)

    def status(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)


def _list_moved_routes(request: PluginRequest, differences: t.Iterable[Difference]) -> list[ExpectedRoute]:
    """Return the routes that are missing in the main table and that another one has: sbr and vrf move them."""
    missing = [each.resource for each in differences if isinstance(each.resource, ExpectedRoute) and each.inside]
    if not missing:
        return []
    present = rtnetlink.snapshot(request.attachment.netns, routes=True, rules=False).routes
    return [
        wanted
        for wanted in missing
        if any(route.destination == wanted.destination and is_route(route, wanted, ANY_TABLE) for route in present)
    ]
