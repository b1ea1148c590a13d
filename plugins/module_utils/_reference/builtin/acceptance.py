# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find out before ADD whether a built-in plugin refuses its configuration or the values for an attachment."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import request
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters, is_builtin
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import name_plugin


class Acceptance:
    """Asks built-in plugins whether they accept requests; each only once, because many attachments have the same."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._accepted: set[t.Hashable] = set()

    def require(self, network: NetworkConfiguration, version: str, attachment: Attachment) -> None:
        """Raise the error with which ADD of a built-in plugin would refuse its request, whatever the node has.

        Plugins that are executables, and what depends on the node, such as a free address, are not checked.

        Args:
            version: The version selected for the attachment.

        Raises:
            CniError: The error of the first plugin that refuses its request.
        """
        for plugin in network.plugins:
            content = request.for_attachment(network, plugin, version, attachment, None)
            asked = (plugin.index, content, attachment.ifname, *attachment.args.items())
            if asked not in self._accepted:
                self._ask(plugin, content, Parameters("ADD", attachment))
                self._accepted.add(asked)

    def _ask(self, plugin: PluginConfiguration, content: bytes, parameters: Parameters) -> None:
        for plugin_type in _list_recipients(plugin):
            if _is_builtin(self._executor, plugin_type):
                with name_plugin(plugin_type, parameters):
                    protocol.require_accepted(registry.load(plugin_type), content, parameters)


def _list_recipients(plugin: PluginConfiguration) -> t.Iterator[str]:
    """Yield a plugin, and the IPAM plugin that gets the same request."""
    yield plugin.type
    row = catalogue.find_plugin_type(plugin.type)
    if row.makes_interface and plugin.delegated_type:
        yield plugin.delegated_type


def _is_builtin(executor: Executor, plugin_type: str) -> bool:
    try:
        return is_builtin(executor, plugin_type)
    except CniError:  # reported by what requires the plugins
        return False
