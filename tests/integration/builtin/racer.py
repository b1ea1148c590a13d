# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process that adds and deletes attachments in random order, beside others that do the same."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import random
import subprocess
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, require_success


class Racer:
    """Turns attachments on and off, and writes each change into a log that all processes share.

    A line says that an attachment has an address, or that its DEL begins. Processes exclude each other for each
    attachment, so that the log has the order of the changes.
    """

    def __init__(self, builtin: str, directory: pathlib.Path) -> None:
        self._engine = Engine(EngineNode(builtin))
        self._directory = directory
        self._log = os.open(log_path(directory), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.items: list[JsonObject] = json.loads((directory / "items.json").read_text(encoding="utf-8"))

    def run(self, operations: int, seed: int) -> None:
        chooser = random.Random(seed)
        for _operation in range(operations):
            self._toggle(chooser.choice(self.items))

    def _toggle(self, item: JsonObject) -> None:
        with self._hold(item["container_id"]):
            if self._engine.runtime.records.read(Attachment(**item).key) is None:
                assert require_success(self._engine.ensure(item, check="never"))[0] == "added"
                self._note("ADD", item)
            else:
                self._note("DEL", item)
                assert require_success(self._engine.ensure(item, present=False))[0] == "removed"

    def _note(self, command: str, item: JsonObject) -> None:
        addresses = [ip["address"] for ip in self._engine.result(item)["ips"]]
        entry = {"command": command, "container_id": item["container_id"], "addresses": addresses}
        os.write(self._log, f"{json.dumps(entry)}\n".encode())

    @contextlib.contextmanager
    def _hold(self, container_id: str) -> t.Iterator[None]:
        with open(self._directory / f"{container_id}.lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def log_path(directory: pathlib.Path) -> pathlib.Path:
    return directory / "log"


def start(builtin: str, directory: pathlib.Path, operations: int, seed: int) -> subprocess.Popen[str]:
    """Start a process with the items of a directory's file items.json."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, builtin, str(directory), str(operations), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _main() -> None:
    builtin, directory, operations, seed = sys.argv[1:]
    Racer(builtin, pathlib.Path(directory)).run(int(operations), int(seed))


if __name__ == "__main__":
    _main()
