# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The base of the plugins that change an interface which another plugin has made."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse_faults
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import LiveNode
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource

Config = t.TypeVar("Config")


class Place(t.NamedTuple):
    """The interface that a plugin changes.

    Attributes:
        host_end: The name of the node's end of its veth pair; empty if it has none, or none is needed.
    """

    attachment: Attachment
    host_end: str = ""


class ChainedPlugin(Plugin, t.Generic[Config]):
    """A plugin that describes once what it makes. ADD, CHECK, drift and repair all use the description.

    CHECK and drift read the configuration again, from the request or from the record.
    """

    def read(self, request: PluginRequest) -> Config:
        """Return the configuration.

        Raises:
            CniError: A key that the plugin understands has a value that it does not accept.
        """
        raise NotImplementedError

    def describe(self, config: Config, place: Place) -> t.Iterator[Resource]:
        """Yield what the kernel has after ADD. Of a link, only the properties that the plugin changes."""
        raise NotImplementedError

    def locate(self, request: PluginRequest, config: Config) -> Place:
        """Return the interface of a request; raise an error if it cannot be changed in this way."""
        return Place(request.attachment)

    def check(self, request: PluginRequest) -> None:
        config = self.read(request)
        request.require_prev_result()
        state = tuple(self.describe(config, self.locate(request, config)))
        if not state:
            return
        with sandbox.open_sandbox(request.attachment):
            refuse_faults(compare(state, request.attachment.netns, LiveNode()).messages)

    def describe_record(self, request: PluginRequest, host_end: str) -> t.Iterator[Resource]:
        """Yield what ADD has made.

        Args:
            request: That of ADD, as far as the record has it.
            host_end: The recorded name of the node's end, which may be empty.

        Raises:
            CniError: As `read`.
        """
        yield from self.describe(self.read(request), Place(request.attachment, host_end))
