# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters


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
    """An executor around another one that records the duration of each call."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.calls: list[PluginCall] = []

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


__all__ = ("PluginCall", "Stopwatch")
