# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run built-in plugins in this process."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, NotFound, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry

# When built-in plugins are used: for a plugin that no directory has, for every plugin that is built in, or not at all.
MISSING, ALWAYS, NEVER = MODES = ("missing", "always", "never")


class BuiltinExecutor:
    """An executor around another one: it runs plugins that are built in, and the other one runs the rest."""

    def __init__(self, executor: Executor, mode: str) -> None:
        """
        Args:
            executor: Runs executables.
            mode: One of `MODES`.
        """
        self._executor = executor
        self._mode = mode

    def require(self, plugin_type: str) -> str:
        """Return the path of an executable, or `builtin:TYPE`; errors as `Executor.require`."""
        return f"builtin:{plugin_type}" if self.is_builtin(plugin_type) else self._executor.require(plugin_type)

    def is_builtin(self, plugin_type: str) -> bool:
        """Return whether a plugin runs in this process.

        Raises:
            UnsafePlugin: Its executable is there, and every user of the node can replace it.
        """
        if self._mode == NEVER or plugin_type not in registry.TYPES:
            return False
        if self._mode == ALWAYS:
            return True
        try:
            self._executor.require(plugin_type)
        except NotFound:
            return True
        return False

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if not self.is_builtin(plugin_type):
            return self._executor.execute(plugin_type, request, parameters)
        plugin = registry.find(plugin_type)
        if plugin is None:
            raise CniError(Code.INVALID_CONFIG, f"plugin {plugin_type!r} is not built in")
        try:
            return protocol.call(plugin, request, parameters, self)
        except Exception as exc:
            raise as_error(exc).within(f"built-in plugin {plugin_type} failed ({parameters.command})") from exc


__all__ = ("ALWAYS", "MISSING", "MODES", "NEVER", "BuiltinExecutor")
