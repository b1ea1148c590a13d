# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The bases of the plugins that describe what they make of a container's interface."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse_faults
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ExpectedRoute, Resource

Config = t.TypeVar("Config")


class DescribedPlugin(Plugin, t.Generic[Config]):
    """A plugin that describes once what it makes. ADD, CHECK, drift and repair all use the description.

    CHECK and drift read the configuration again, from the request or from the record.
    """

    def read(self, request: PluginRequest) -> Config:
        """Return the configuration.

        Raises:
            CniError: A key that the plugin understands has a value that it does not accept.
        """
        raise NotImplementedError

    def config_of(self, request: PluginRequest) -> Config:
        """Return the configuration of a request, which is read once; raise an error as `read`."""
        if self.name not in request.readings:
            request.readings[self.name] = self.read(request)
        return t.cast("Config", request.readings[self.name])

    def require_accepted(self, request: PluginRequest) -> None:
        self.config_of(request)

    def describe(self, config: Config, known: Facts) -> t.Iterator[Resource]:
        """Yield what the kernel has after ADD. Of a link that another plugin has made, only the properties that change."""
        raise NotImplementedError

    def name_node_links(self, dummy: Config, known: Facts) -> Facts:
        """Return the facts with the node's end of the pair and the routed link, if the plugin has made them."""
        return known


class ChainedPlugin(DescribedPlugin[Config]):
    """A plugin that changes an interface which another plugin has made."""

    def locate(self, request: PluginRequest, dummy: Config) -> Facts:
        """Return the facts that the description needs; raise an error if the interface cannot be changed in this way."""
        return Facts(request.attachment)

    def move_routes(self, dummy: Config, known: Facts, routes: t.Sequence[ExpectedRoute]) -> t.Iterable[ExpectedRoute]:
        """Return the container's routes, which other plugins have described, as they are after ADD."""
        return routes

    def check(self, request: PluginRequest) -> None:
        config = self.config_of(request)
        request.require_prev_result()
        state = tuple(self.describe(config, self.locate(request, config)))
        if not state:
            return
        with sandbox.open_sandbox(request.attachment):
            refuse_faults(compare(state, request.attachment.netns, Node()).messages)
