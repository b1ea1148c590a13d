# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run built-in plugins in this process."""

from __future__ import annotations

import contextlib
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import (
    BUILTIN_PREFIX,
    Executor,
    NotFound,
    Parameters,
    is_builtin,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.registry import RELEASE, TYPES

# When built-in plugins are used: for a plugin that no directory has, for every plugin that is built in, or not at all.
MISSING, ALWAYS, NEVER = MODES = ("missing", "always", "never")
# What libcni says in a plugin that delegates to another one.
_NOT_FOUND = re.compile(r'failed to find plugin "([^"]+)" in path')


class BuiltinExecutor:
    """An executor around another one: it runs plugins that are built in, and the other one runs the rest.

    Attributes:
        used: The plugins that it has run for each attachment, as ``TYPE@RELEASE``; under None, for GC, STATUS and VERSION.
    """

    def __init__(self, executor: Executor, mode: str) -> None:
        """
        Args:
            executor: Runs executables.
            mode: One of `MODES`.
        """
        self._executor = executor
        self._mode = mode
        self.used: dict[Key | None, set[str]] = {}

    def require(self, plugin_type: str) -> str:
        is_builtin = self._mode != NEVER and plugin_type in TYPES
        if is_builtin and self._mode == ALWAYS:
            return _location(plugin_type)
        try:
            return self._executor.require(plugin_type)
        except NotFound:
            if is_builtin:
                return _location(plugin_type)
            raise

    def prepare(self, network: NetworkConfiguration) -> None:
        """Load the built-in plugins of a network before processes are forked that run them."""
        from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
        from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry

        for plugin in network.plugins:
            for plugin_type in filter(None, (plugin.type, plugin.delegated_type)):
                with contextlib.suppress(CniError):  # reported when the plugin is run
                    if is_builtin(self, plugin_type):
                        registry.load(plugin_type).prepare(Keys(plugin.keys), network.name)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if not self._was_builtin(plugin_type, parameters) and not is_builtin(self, plugin_type):
            return self._run_executable(plugin_type, request, parameters)
        # Loaded late: most runs find every attachment unchanged and run no plugin.
        from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
        from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry

        key = parameters.attachment.key if parameters.attachment else None
        self.used.setdefault(key, set()).add(_describe(plugin_type))
        with name_plugin(plugin_type, parameters):
            return protocol.call(registry.load(plugin_type), request, parameters, self)

    def _run_executable(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        try:
            return self._executor.execute(plugin_type, request, parameters)
        except CniError as exc:
            missing = _NOT_FOUND.search(str(exc))
            if missing is None or missing[1] not in TYPES:
                raise
            advice = f"an executable cannot run the built-in plugin {missing[1]}; install executables of the built-in"
            raise exc.with_detail(f"{advice} plugins: cni.node.plugins with source: builtin") from exc

    def _was_builtin(self, plugin_type: str, parameters: Parameters) -> bool:
        """Return whether a plugin was built in at ADD, of whichever release, and may be now."""
        types = (name.partition("@")[0] for name in parameters.builtin)
        return self._mode != NEVER and plugin_type in TYPES and plugin_type in types


# An error of a delegated plugin names that plugin already.
_FAILED = ("built-in plugin ", "plugin ")


@contextlib.contextmanager
def name_plugin(plugin_type: str, parameters: Parameters) -> t.Iterator[None]:
    """Name the built-in plugin and its operation in errors, unless they name a plugin to which it has delegated."""
    try:
        yield
    except Exception as exc:
        error = as_error(exc)
        within = f"built-in plugin {plugin_type} failed ({parameters.command})"
        raise (error if error.msg.startswith(_FAILED) else error.within(within)) from exc


def _location(plugin_type: str) -> str:
    return f"{BUILTIN_PREFIX}{_describe(plugin_type)}"


def _describe(plugin_type: str) -> str:
    return f"{plugin_type}@{RELEASE}"
