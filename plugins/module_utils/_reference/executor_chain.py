# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The chain of executors that runs built-in plugins, executables, and DEL where plugins are known to fail."""

from __future__ import annotations

import json
import re
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import (
    Executor,
    Listener,
    Parameters,
    ProcessExecutor,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, BuiltinExecutor

_NO_INTERFACE = re.compile(r"failed to find .*Link not found")


def make_executor(
    plugin_dirs: t.Sequence[str],
    timeout: float,
    *,
    allow_world_writable: bool = False,
    listener: Listener | None = None,
    builtin: str = MISSING,
) -> Stopwatch:
    """Return the chain of executors: a stopwatch around built-in plugins around `DefectTolerance` around processes.

    Its arguments and errors are those of `ProcessExecutor`, and of `BuiltinExecutor`.
    """
    processes = ProcessExecutor(plugin_dirs, timeout, allow_world_writable=allow_world_writable, listener=listener)
    return Stopwatch(BuiltinExecutor(DefectTolerance(processes), builtin))


class DefectTolerance:
    """Wraps an executor and completes a DEL that a reference plugin is known to fail.

    "Plugins should generally complete a DEL action without error even if some resources are missing" (section 2,
    "DEL"). host-device and sbr fail if the network namespace is gone, as after a reboot. Without this class,
    such an attachment could never be deleted.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def require(self, plugin_type: str) -> str:
        return self._executor.require(plugin_type)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if parameters.attachment is None or parameters.command != "DEL":
            return self._executor.execute(plugin_type, request, parameters)
        # Most runs delete nothing, and do not need the catalogue.
        from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

        row, netns = catalogue.find_plugin_type(plugin_type), parameters.attachment.netns
        if row.del_needs_netns and not netns:
            return b""  # the kernel removed its rules with the namespace
        if row.del_skips_ipam:
            return self._return_device(plugin_type, request, parameters, netns)
        return self._executor.execute(plugin_type, request, parameters)

    def _return_device(self, plugin_type: str, request: bytes, parameters: Parameters, netns: str) -> bytes:
        """Run DEL of a plugin, and DEL of its IPAM plugin if the plugin fails before that."""
        try:
            if netns:
                return self._executor.execute(plugin_type, request, parameters)
        except CniError as exc:
            if not _NO_INTERFACE.search(exc.msg):
                raise
        ipam = (json_text.any_case(json.loads(request)).get("ipam") or {}).get("type")
        return self._executor.execute(ipam, request, parameters) if ipam else b""


class PluginCall(t.NamedTuple):
    """The duration of one call of a plugin.

    Attributes:
        seconds: From its start to its end.
        attachment: None for GC, STATUS and VERSION.
    """

    type: str
    command: str
    seconds: float
    attachment: Key | None


class Stopwatch:
    """Wraps the executor of built-in plugins and records the duration of each call."""

    def __init__(self, executor: BuiltinExecutor) -> None:
        self._executor = executor
        self.calls: list[PluginCall] = []

    def list_builtin(self, key: Key) -> list[str]:
        """Return the plugins that have run in this process for an attachment, as ``TYPE@RELEASE``."""
        return sorted(self._executor.used.get(key, ()))

    def prepare(self, network: NetworkConfiguration) -> None:
        self._executor.prepare(network)

    def take(self) -> tuple[list[PluginCall], dict[Key | None, set[str]]]:
        """Return what this process has recorded since the last call."""
        taken = self.calls, self._executor.used
        self.calls, self._executor.used = [], {}
        return taken

    def merge(self, taken: tuple[list[PluginCall], dict[Key | None, set[str]]]) -> None:
        """Add what another process has recorded."""
        calls, used = taken
        self.calls += calls
        for key, plugins in used.items():
            self._executor.used.setdefault(key, set()).update(plugins)

    def require(self, plugin_type: str) -> str:
        return self._executor.require(plugin_type)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        key = parameters.attachment.key if parameters.attachment else None
        started = time.monotonic()
        try:
            return self._executor.execute(plugin_type, request, parameters)
        finally:
            # list.append is atomic, so threads need no lock.
            self.calls.append(PluginCall(plugin_type, parameters.command, time.monotonic() - started, key))
