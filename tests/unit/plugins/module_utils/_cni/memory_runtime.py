# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    MemoryExecutor,
    succeeds,
)


def network(*types: str, **keys: object) -> NetworkConfiguration:
    plugins = [{"type": plugin_type} for plugin_type in types or ("a", "b", "c")]
    return config.parse(encode({"name": "net", "cniVersion": "1.1.0", "plugins": plugins, **keys}), "10-net.conflist")


class MemoryRuntime:
    """A runtime with plugins a, b and c in memory. They succeed unless a test gives them another answer."""

    def __init__(self, directory: pathlib.Path, **plugins: MemoryAnswer) -> None:
        self.directory = directory
        self.executor = MemoryExecutor(**{"a": succeeds, "b": succeeds, "c": succeeds, **plugins})
        self.runtime = Runtime(self.executor, str(directory / "cache"), 0)


class AttachedRuntime(MemoryRuntime):
    """A runtime and one attachment."""

    def __init__(self, directory: pathlib.Path, **plugins: MemoryAnswer) -> None:
        super().__init__(directory, **plugins)
        self.netns = directory / "blue"
        self.netns.touch()
        self.attachment = Attachment("net", "blue", "eth0", str(self.netns), {"K": "V"}, {"mac": 1})

    @property
    def record(self) -> Record | None:
        return self.runtime.records.read(self.attachment.key)

    @property
    def intent(self) -> Record | None:
        return self.runtime.intents.read(self.attachment.key)

    def add(self, to: NetworkConfiguration | None = None) -> Record:
        """Return the record of an ADD, and forget its calls."""
        self.runtime.add(to or network(), self.attachment)
        self.executor.calls.clear()
        return t.cast("Record", self.record)
