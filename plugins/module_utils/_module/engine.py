# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The engine with the plugins and records that a module's options name, and what these plugins write to stderr."""

from __future__ import annotations

import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Listener, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


# The number of -v at which Ansible shows a module's arguments.
_VERBOSE = 3
# Characters of standard error of all calls together. The output of each process is cut before.
_ROOM = 256 * 1024


def make_runtime(
    params: t.Mapping[str, t.Any], paths: NodePaths, timeout: float, listener: Listener | None = None
) -> Runtime:
    """Return the engine with the plugins and records that a module's options name.

    Args:
        timeout: Seconds for each plugin, and to wait for each lock.
        listener: Gets what plugins write to standard error.
    """
    allowed = params["allow_world_writable_plugins"]
    executor = make_executor(
        params["plugin_dirs"], timeout, allow_world_writable=allowed, listener=listener, builtin=params["builtin"]
    )
    return Runtime(executor, params["cache_dir"], timeout, nested_types, paths)


class StderrLog:
    """The standard error of plugins that succeeded, by attachment, up to a total size.

    Attributes:
        omitted: Number of calls whose output exceeded the total size.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self.omitted = 0
        self._room = room
        self._lock = threading.Lock()
        self._entries: dict[Key, list[dict[str, str]]] = {}

    def __call__(self, plugin_type: str, parameters: Parameters, stderr: bytes) -> None:
        """Store the output of one call; ignore commands without an attachment."""
        text = printable.lines(stderr.decode("utf-8", "replace")).strip()
        if not text or parameters.attachment is None:
            return
        self._add(parameters.attachment.key, {"type": plugin_type, "command": parameters.command, "text": text})

    def _add(self, key: Key, entry: dict[str, str]) -> None:
        with self._lock:
            self._room -= len(entry["text"])
            if self._room < 0:
                self.omitted += 1
            else:
                self._entries.setdefault(key, []).append(entry)

    def entries(self, key: Key) -> list[dict[str, str]]:
        """Return plugin type, command and text of each stored call for an attachment, in order."""
        return self._entries.get(key, [])

    def take(self) -> tuple[dict[Key, list[dict[str, str]]], int]:
        """Return the entries that this process has stored since the last call, and the number of those omitted."""
        taken = self._entries, self.omitted
        self._entries, self.omitted = {}, 0
        return taken

    def merge(self, taken: tuple[dict[Key, list[dict[str, str]]], int]) -> None:
        """Add what another process has stored, as far as there is room."""
        entries, omitted = taken
        self.omitted += omitted
        for key, each in entries.items():
            for entry in each:
                self._add(key, entry)


def stderr_log(module: AnsibleModule) -> StderrLog | None:
    """Return a log for the standard error of plugins that succeed, with ``-vvv`` or more; otherwise None."""
    if module._verbosity < _VERBOSE:
        return None
    return StderrLog()


def warn_of_omitted(module: AnsibleModule, log: StderrLog | None) -> None:
    """Warn that the log of standard error is incomplete."""
    if log is not None and log.omitted:
        warn(module, [f"standard error of {log.omitted} more plugin calls is not shown, because the log is full"])
