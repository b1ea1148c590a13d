# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters

T = t.TypeVar("T")

# Seconds. Each pause is twice the previous one.
_FIRST_PAUSE: t.Final = 0.1
_LONGEST_PAUSE: t.Final = 5.0

# The runtime repeats ADD itself, with a DEL before it. STATUS reports the current state. GC runs periodically and blocks
# the network.
_REPEATED: t.Final = ("CHECK", "DEL")


class AddNotUndone(CniError):
    """An ADD failed, and so did the DEL that followed it: ADD must not be repeated."""


class RetryingExecutor:
    """An executor around another one that repeats CHECK and DEL while the plugin returns code 11 (try again later)."""

    def __init__(self, executor: Executor, limit: float) -> None:
        """
        Args:
            limit: Seconds after which a plugin is not run again.
        """
        self._executor = executor
        self._limit = limit

    def require(self, plugin_type: str) -> str:
        return self._executor.require(plugin_type)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if parameters.command not in _REPEATED:
            return self._executor.execute(plugin_type, request, parameters)
        return retry(lambda: self._executor.execute(plugin_type, request, parameters), self._limit)


def retry(operation: t.Callable[[], T], limit: float) -> T:
    """Repeat an operation with growing pauses while a plugin returns code 11 (section 5, "Error").

    Args:
        limit: Seconds after which it is not repeated.

    Raises:
        CniError: Any other error at once; the last error of code 11 after the time limit.
    """
    started = time.monotonic()
    pause, times = _FIRST_PAUSE, 1
    while True:
        try:
            return operation()
        except CniError as exc:
            if exc.code != Code.TRY_AGAIN or isinstance(exc, AddNotUndone):
                raise
            seconds = time.monotonic() - started
            if seconds + pause > limit:
                said = f"tried {times} times in {seconds:.1f} s (limit {limit:g} s)"
                raise (exc.with_detail(said) if times > 1 else exc) from exc
        time.sleep(pause)
        pause, times = min(2 * pause, _LONGEST_PAUSE), times + 1


__all__ = ("AddNotUndone", "RetryingExecutor", "retry")
