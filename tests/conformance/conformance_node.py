# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedCall, ScriptedPlugins

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


@dataclasses.dataclass
class ConformanceNode:
    """A node below one directory: scripted plugins, a cache, files in the place of namespaces, and the engine.

    Attributes:
        timeout: Seconds that a plugin may run.
        lock_timeout: Seconds to wait for another process.
    """

    directory: pathlib.Path
    timeout: float = 30
    lock_timeout: float = 20

    def __post_init__(self) -> None:
        self.plugins = ScriptedPlugins(self.directory / "bin")
        self.cache = self.directory / "cache"
        self.runtime = self.new_runtime()

    def new_runtime(self) -> Runtime:
        return Runtime(ProcessExecutor([str(self.plugins.path)], self.timeout), str(self.cache), self.lock_timeout)

    def write(self, *names: str, **answers: ScriptedAnswer | t.Sequence[ScriptedAnswer]) -> None:
        """Write plugins that all give the same answers."""
        for name in names:
            self.plugins.write(name, versions=VERSIONS, **answers)

    def network(
        self, *plugins: str | JsonObject, version: str | None = "1.1.0", **keys: object
    ) -> NetworkConfiguration:
        """Return a network of plugins, each given by its type or with all its keys. Write missing plugins."""
        objects = [{"type": plugin} if isinstance(plugin, str) else plugin for plugin in plugins]
        for plugin in objects:
            if not (self.plugins.path / str(plugin["type"])).exists():
                self.write(str(plugin["type"]))
        document = {"name": "net", **({"cniVersion": version} if version else {}), **keys, "plugins": objects}
        return config.parse(json.dumps(document).encode(), "10-net.conflist")

    def netns(self, name: str = "blue") -> pathlib.Path:
        path = self.directory / "netns" / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():  # a touched file would count as another namespace
            path.touch()
        return path

    def attachment(
        self, container_id: str = "blue", network: str = "net", ifname: str = "eth0", **others: t.Any
    ) -> Attachment:
        return Attachment(network, container_id, ifname, str(self.netns(container_id)), **others)

    def record(self, attachment: Attachment | None = None) -> Record:
        record = self.runtime.records.read(attachment.key if attachment else ("net", "blue", "eth0"))
        assert record is not None
        return record

    def add(self, network: NetworkConfiguration, attachment: Attachment | None = None) -> Record:
        """Run ADD, forget its calls, and return the record."""
        attachment = attachment or self.attachment()
        self.runtime.add(network, attachment)
        self.plugins.forget()
        return self.record(attachment)

    def records_and_intents(self) -> tuple[list[Record], list[Record]]:
        """Return all records and all intents."""
        return self.runtime.records.read_all()[0], self.runtime.intents.read_all()[0]

    def ran(self, command: str | None = None) -> list[tuple[str, str]]:
        """Return command and plugin of each call, without VERSION unless ``command`` selects it."""
        return [(call.command, call.plugin) for call in self.calls(command)]

    def calls(self, command: str | None = None) -> list[ScriptedCall]:
        return [
            call for call in self.plugins.calls(command=command) if call.command != "VERSION" or command == "VERSION"
        ]

    def requests(self, command: str) -> list[JsonObject]:
        return [call.request for call in self.calls(command)]
