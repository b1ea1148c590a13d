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

# Seconds. Each pause is twice the one before.
_FIRST_PAUSE: t.Final = 0.1
_LONGEST_PAUSE: t.Final = 5.0

# ADD is repeated by the runtime, for a DEL has to come before it. STATUS asks how things are now. GC is run again anyway,
# and keeps everybody else from the network.
_REPEATED: t.Final = ("CHECK", "DEL")


class AddNotUndone(CniError):
    """An ADD failed, and the DEL that followed it: it must not be repeated."""


class RetryingExecutor:
    """An executor that runs CHECK and DEL again for as long as the plugin says to try again later."""

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
    """Carry out an operation again, with pauses that grow, while a plugin answers code 11 (section 5, "Error").

    Args:
        limit: Seconds after which it is not begun again.

    Raises:
        CniError: Any other error at once; the last one of code 11 when the time is over.
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
