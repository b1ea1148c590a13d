# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the plugins' processes alone: the same executables and requests, started as directly as Python can."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import pathlib
import shutil
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config, request
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.bench.contestants import FALSE_ALARM

Call = tuple[str, dict[str, str], bytes]


class Bare:
    """Do the work that every runtime must do: start, send the request, read the result, wait, pass the result on."""

    def __init__(self, node: BenchNode, network: JsonObject, workers: int) -> None:
        self._node = node
        self._network = config.parse(json.dumps(network).encode(), "bench")
        self._workers = workers
        self._results: dict[str, bytes] = {}

    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        chains = [self._chain(command, item) for item in items]
        seconds, printed = _timed(functools.partial(run_chain, command), chains, self._workers)
        if command == "ADD":
            self._results = {item["container_id"]: output for item, output in zip(items, printed)}
        return seconds

    def _chain(self, command: str, item: JsonObject) -> list[Call]:
        network, version = self._network, self._network.version
        prev_result = None if command == "ADD" else json.loads(self._results[item["container_id"]])
        environment = self._environment(command, item)
        calls = [
            (
                self._path(plugin.type),
                environment,
                request.for_attachment(network, plugin, version, Attachment(**item), prev_result),
            )
            for plugin in network.plugins
        ]
        return calls[::-1] if command == "DEL" else calls

    def _path(self, plugin_type: str) -> str:
        path = shutil.which(plugin_type, path=":".join(self._node.plugin_dirs))
        if path is None:
            raise FileNotFoundError(f"no plugin {plugin_type} in {', '.join(self._node.plugin_dirs)}")
        return path

    def _environment(self, command: str, item: JsonObject) -> dict[str, str]:
        return {
            **os.environ,
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": item["container_id"],
            "CNI_NETNS": item["netns"],
            "CNI_IFNAME": item["ifname"],
            "CNI_PATH": ":".join(self._node.plugin_dirs),
        }


def query_versions(node: BenchNode, workers: int) -> float:
    """Return the seconds that VERSION of all plugins of the node takes."""
    paths = [path for directory in node.plugin_dirs for path in sorted(pathlib.Path(directory).glob("*"))]
    environment = {**os.environ, "CNI_COMMAND": "VERSION"}
    chains = [[(str(path), environment, request.for_version_probe())] for path in paths]
    return _timed(functools.partial(run_chain, "VERSION"), chains, workers)[0]


def run_chain(command: str, calls: t.Sequence[Call]) -> bytes:
    last = b""
    for path, environment, content in calls:
        if command == "ADD" and last:
            content = content[:-1] + b',"prevResult":' + last + b"}"
        last = run_plugin(path, environment, content)
    return last


def run_plugin(path: str, environment: dict[str, str], content: bytes) -> bytes:
    """Run one plugin; the request must be smaller than a pipe's buffer."""
    stdin, request_end = os.pipe()
    result_end, stdout = os.pipe()
    os.write(request_end, content)
    os.close(request_end)
    actions = [
        (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(path, [path], environment, file_actions=actions)
    os.close(stdin)
    os.close(stdout)
    with open(result_end, "rb", buffering=0) as printed:
        output = printed.readall()
    if os.waitpid(process, 0)[1] != 0 and FALSE_ALARM not in output.decode():
        raise RuntimeError(f"{path}: {output.decode()}")
    return output


def _timed(
    operation: t.Callable[[t.Sequence[Call]], bytes], chains: t.Sequence[t.Sequence[Call]], workers: int
) -> tuple[float, list[bytes]]:
    """Time the calls; workers are processes, because Python's threads would wait for one another."""
    if workers == 1:
        started = time.monotonic()
        printed = [operation(chain) for chain in chains]
        return time.monotonic() - started, printed
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        started = time.monotonic()
        printed = pool.map(operation, chains, chunksize=max(1, len(chains) // (8 * workers)))
        return time.monotonic() - started, printed
