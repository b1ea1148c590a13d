# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run hundreds of modules quickly: each process is forked from a process that has imported all modules."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import os
import subprocess
import sys
import traceback
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine.engine_node import MODULES, ModuleRun
from ansible_collections.cni.node.tests.integration.engine.faults import Fault, Injection

PRELOADED = ("attachments", "gc", "netns", "repair", "verify")


class Run(t.NamedTuple):
    """The end of a forked run. A negative status is a signal's number; `hit` is the boundary of the fault."""

    status: int
    stdout: str
    stderr: str
    hit: list[str]

    def require_result(self) -> ModuleRun:
        """Return the result of a run that printed one line of JSON and nothing else."""
        assert self.stderr == "", self.stderr
        (line,) = self.stdout.strip().splitlines()
        return ModuleRun(self.status, json.loads(line))


class Forks:
    """The process that runs are forked from, in the namespaces of its creator."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *dummy: object) -> None:
        self._server.communicate(timeout=60)

    def run(self, module: str, arguments: JsonObject, fault: Fault | None = None, *, heard: bool = True) -> Run:
        """Run a module; a lost connection discards its output."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {
            "module": module,
            "arguments": {"ANSIBLE_MODULE_ARGS": arguments},
            "fault": dataclasses.asdict(fault) if fault else None,
            "heard": heard,
        }
        self._server.stdin.write(f"{json.dumps(request)}\n")
        self._server.stdin.flush()
        return Run(*json.loads(self._server.stdout.readline()))


def _serve() -> None:
    for name in PRELOADED:
        importlib.import_module(f"{MODULES}.{name}")
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(_fork(json.loads(line)))}\n")
        sys.stdout.flush()


def _fork(request: JsonObject) -> list[t.Any]:
    streams = {name: os.memfd_create(name) for name in ("stdin", "stdout", "stderr", "hit")}
    with open(streams["stdin"], "w", encoding="utf-8", closefd=False) as stdin:
        json.dump(request["arguments"], stdin)
    pid = os.fork()
    if pid == 0:
        _child(request, streams)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    stdout, stderr, hit = (_text(streams[name]) for name in ("stdout", "stderr", "hit"))
    os.close(streams["stdin"])
    return [status, stdout, stderr, hit.splitlines()]


def _text(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, encoding="utf-8") as stream:
        return stream.read()


def _child(request: JsonObject, streams: dict[str, int]) -> t.NoReturn:
    status: t.Any = 1
    try:
        os.setsid()
        os.lseek(streams["stdin"], 0, os.SEEK_SET)
        gone, unheard = os.pipe()
        os.close(gone)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.dup2(streams[name] if number == 0 or request["heard"] else unheard, number)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
        if request["fault"]:
            Injection(Fault(**request["fault"]), lambda text: os.write(streams["hit"], f"{text}\n".encode())).install()
        importlib.import_module(f"{MODULES}.{request['module']}").main()
    except SystemExit as exc:
        status = exc.code
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
