# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin whose operations are one function, and calls of it."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryExecutor

Operation = t.Callable[[PluginRequest], t.Optional[Result]]

CONFIG: JsonObject = {"cniVersion": "1.1.0", "name": "dbnet", "type": "fake"}
CONTENT = json.dumps(CONFIG).encode()
# Every version can express it.
RESULT = Result(version.LATEST, {"ips": [{"address": "10.1.0.9/16"}]})
ATTACHMENT = Attachment("dbnet", "blue", "eth0", "/run/netns/blue")


def succeed(request: PluginRequest) -> None:
    return None


class FakePlugin(Plugin):
    """Every operation calls the same function, and the requests are kept. ADD without a result has an empty one."""

    name = "fake"

    def __init__(self, operation: Operation = succeed) -> None:
        self._operation = operation
        self.requests: list[PluginRequest] = []

    def add(self, request: PluginRequest) -> Result:
        return self._run(request) or Result(version.LATEST, {})

    def check(self, request: PluginRequest) -> None:
        self._run(request)

    def delete(self, request: PluginRequest) -> None:
        self._run(request)

    def gc(self, request: PluginRequest) -> None:
        self._run(request)

    def status(self, request: PluginRequest) -> None:
        self._run(request)

    def _run(self, request: PluginRequest) -> Result | None:
        self.requests.append(request)
        return self._operation(request)


def parameters_of(command: str, attachment: Attachment = ATTACHMENT) -> Parameters:
    return Parameters(command, attachment if command in protocol.ATTACHMENT_COMMANDS else None)


def call(plugin: Plugin, command: str, config: object = CONTENT, executor: Executor | None = None) -> bytes:
    """Call a plugin with a configuration, or with bytes as they are."""
    content = config if isinstance(config, bytes) else json.dumps(config).encode()
    return protocol.call(plugin, content, parameters_of(command), executor or MemoryExecutor())


def read_request(
    command: str = "ADD", attachment: Attachment = ATTACHMENT, executor: Executor | None = None, **keys: t.Any
) -> PluginRequest:
    """Return the request that a plugin gets for a configuration with these keys."""
    plugin = FakePlugin(lambda request: RESULT)
    content = json.dumps({**CONFIG, **keys}).encode()
    protocol.call(plugin, content, parameters_of(command, attachment), executor or MemoryExecutor())
    return plugin.requests[0]
