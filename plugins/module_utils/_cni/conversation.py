# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record


class Conversation:
    """CHECK or DEL of a recorded attachment, in the version of its ADD for as long as its plugins speak that.

    A plugin that does not has done nothing. Where the recorded configuration allows a version that all plugins speak by
    now, it is asked again in that, and so are those after it.

    Attributes:
        network: The recorded configuration.
        version: The one spoken now.
    """

    def __init__(self, executor: Executor, versions: PluginVersions, record: Record) -> None:
        """
        Raises:
            CniError: The recorded configuration cannot be read.
        """
        self._executor = executor
        self._versions = versions
        self._record = record
        self.network = record.network()
        self._speak(record.negotiated_version(self.network))

    @property
    def has_check(self) -> bool:
        """Whether the version spoken now has CHECK."""
        return version.has_check(self.version)

    def ask(self, command: str, plugin: PluginConfiguration, attachment: Attachment) -> None:
        """Run one plugin; CHECK is left out where the version spoken by now has none.

        Raises:
            CniError: The plugin's own, or why it could not be run.
        """
        try:
            self._send(command, plugin, attachment)
        except CniError as exc:
            if exc.code != Code.INCOMPATIBLE_VERSION or not self._agrees_on_another(exc):
                raise
            self._send(command, plugin, attachment)

    def _send(self, command: str, plugin: PluginConfiguration, attachment: Attachment) -> None:
        if command == "CHECK" and not self.has_check:
            return
        content = request.for_attachment(self.network, plugin, self.version, attachment, self._prev_result)
        self._executor.execute(plugin.type, content, Parameters(command, attachment))

    def _speak(self, spoken: str) -> None:
        """Go on in a version, with the recorded result as that has it: CHECK came with the one in which DEL got it."""
        result = self._record.result if version.has_prev_result_on_delete(spoken) else None
        self.version = spoken
        self._prev_result = None if result is None else result.to(spoken).keys

    def _agrees_on_another(self, refusal: CniError) -> bool:
        """Ask the plugins what they speak by now, and go on in that.

        Raises:
            CniError: The refusal, with what each plugin speaks, or why it does not say so.
        """
        if len(self.network.versions) == 1:
            return False
        try:
            agreed = self._versions.require(self.network)
        except CniError as exc:
            raise refusal.with_detail(str(exc)) from exc
        if agreed == self.version:
            return False
        self._speak(agreed)
        return True


__all__ = ("Conversation",)
