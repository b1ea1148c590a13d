# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node without a kernel: plugins in memory, files as namespaces; everything else is real."""

from __future__ import annotations

import json
import math
import os
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import Journal, Sharing, reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    MemoryCall,
    MemoryExecutor,
    succeeds,
)

RESULT: JsonObject = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}]}


def return_address(call: MemoryCall) -> JsonObject | None:
    return RESULT if call.command == "ADD" else None


class FakeNode:
    """Networks, namespaces and records below one directory. Every run has a runtime of its own, as a module has.

    Attributes:
        patience: Seconds to wait for other runs, and for a plugin that asks for a retry.
    """

    patience = 20.0

    def __init__(self, directory: pathlib.Path, **plugins: MemoryAnswer) -> None:
        self.executor = MemoryExecutor(**{"a": return_address, "b": succeeds, **plugins})
        self.paths = NodePaths.below(str(directory))
        self.netns, self.conf_dir, self.cache_dir = (
            pathlib.Path(self.paths.netns_dir),
            directory / "net.d",
            directory / "cache",
        )
        for path in (self.netns, self.conf_dir, self.cache_dir):
            path.mkdir(parents=True)
        self.write()

    def write(self, name: str = "net", **keys: object) -> pathlib.Path:
        """Write the network of the plugins a and b."""
        network = {"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "a"}, {"type": "b"}], **keys}
        path = self.conf_dir / f"10-{name}.conflist"
        path.write_text(json.dumps(network), encoding="utf-8")
        return path

    def make_namespace(self, name: str = "blue") -> None:
        """Create a namespace, or replace an existing one."""
        new = self.netns / f".{name}"
        new.touch()
        new.replace(self.netns / name)

    def drop_namespace(self, name: str = "blue") -> None:
        (self.netns / name).unlink()

    def attachment(self, container: str = "blue", **keys: t.Any) -> Attachment:
        given = {"network": "net", "container_id": container, "ifname": "eth0", **keys}
        return Attachment(**{"netns": str(self.netns / container), **given})

    def runtime(self, lock_timeout: float | None = None) -> Runtime:
        timeout = self.patience if lock_timeout is None else lock_timeout
        return Runtime(self.executor, str(self.cache_dir), timeout, paths=self.paths)

    def converge(
        self,
        *desired: DesiredAttachment,
        workers: int = 4,
        until: float = math.inf,
        journals: t.Sequence[Journal] | None = None,
        **policy: t.Any,
    ) -> list[AttachmentResult]:
        self.executor.calls.clear()
        reconciler = Reconciler(self.runtime(), conf_dir.load(str(self.conf_dir)), Policy(**policy), desired)
        sharing = None if journals is None else Sharing(lambda dummy: None, journals)
        return reconcile_all(reconciler, desired, workers, until, sharing)

    def ensure(self, attachment: Attachment, present: bool = True, **policy: t.Any) -> AttachmentResult:
        (outcome,) = self.converge(DesiredAttachment(attachment, present), **policy)
        return outcome

    def commands(self) -> list[str]:
        """Return the commands of the last run, once for both plugins."""
        commands = [command for command, plugin in self.executor.run() if plugin == "a"]
        return [command for command in commands if command != "VERSION"]

    def record(self) -> Record | None:
        return self.runtime().records.read(("net", "blue", "eth0"))

    def intent(self) -> Record | None:
        return self.runtime().intents.read(("net", "blue", "eth0"))

    def record_file(self) -> pathlib.Path:
        return self.cache_dir / "results" / "net-blue-eth0"

    def intent_file(self) -> pathlib.Path:
        return self.cache_dir / "cni.node" / "intents" / "net-blue-eth0"

    def files(self) -> dict[str, bytes]:
        """Return every file of the cache directory without locks."""
        files = {}
        for directory, dummy, names in os.walk(self.cache_dir):
            if os.path.basename(directory) != "locks":
                files.update({f"{directory}/{name}": pathlib.Path(directory, name).read_bytes() for name in names})
        return files
