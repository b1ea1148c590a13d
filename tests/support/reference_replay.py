# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replay recorded runs of the reference plugins with the programs of built-in plugins, and compare.

Each run has a node of its own: a process in new mount and network namespaces inside tests/support/sandbox.
`replay_node.py` prepares it and runs the steps, `replay_snapshot.py` reads its state, and `replay_names.py` brings both
into the form of the recordings.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.tests.support import replay_node, ring
from ansible_collections.cni.node.tests.support.reference_cases import DIRECTORY

_COLLECTIONS = pathlib.Path(__file__).absolute().parents[5]
_AT_ONCE = 2
_AS_FIRST_STEP = "steps/0"
ABSENT = "(absent)"
_PLUGIN = """\
#!{python} -IS
import sys
sys.path.insert(0, {collections!r})
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executable import main
sys.exit(main(sys.argv[0]))
"""


class Difference(t.NamedTuple):
    """
    Attributes:
        path: Keys and indexes from the top of the recording, joined by slashes, such as ``steps/1/plugins/0/exit``.
        recorded: The value in the recording, or `ABSENT`. None is a thing that the step has removed.
        found: The value of this run, likewise.
    """

    path: str
    recorded: t.Any
    found: t.Any

    def __str__(self) -> str:
        values = (json.dumps(value, sort_keys=True) for value in (self.recorded, self.found))
        return "\n".join([self.path, *(f"    {word} {value}" for word, value in zip(("recorded", "found   "), values))])


class Replays:
    """Runs cases in the background, so that two processors work while the test of one case waits."""

    def __init__(self, directory: pathlib.Path, names: t.Iterable[str]) -> None:
        """
        Args:
            directory: An empty directory for the executables, which the outer ring has.
            names: The cases to run, in the order in which they are needed.
        """
        # Where there are none, a plugin runs its IPAM plugin in its own process, which takes half as long.
        if ring.IS_OUTER:
            write_plugins(directory)
        self._pool = concurrent.futures.ThreadPoolExecutor(_AT_ONCE)
        self._workers = [_Worker() for dummy in range(_AT_ONCE)]
        self._idle = queue.SimpleQueue[_Worker]()
        for worker in self._workers:
            self._idle.put(worker)
        self._differences = {name: self._pool.submit(self._compare, name, directory) for name in names}

    def _compare(self, name: str, directory: pathlib.Path) -> list[Difference]:
        worker = self._idle.get()
        try:
            return _compare(name, directory, worker)
        finally:
            self._idle.put(worker)

    def differences(self, name: str) -> list[Difference]:
        """Wait for a case; return where it differs from its recording."""
        return self._differences[name].result()

    def close(self) -> None:
        """Wait for runs that have begun, and drop the others."""
        for future in self._differences.values():
            future.cancel()
        self._pool.shutdown()
        for worker in self._workers:
            worker.close()


def case_names() -> list[str]:
    """Return the names of all recorded cases, such as ``bridge/promisc``."""
    return sorted(str(path.relative_to(DIRECTORY).with_suffix("")) for path in DIRECTORY.glob("*/*.json"))


def write_plugins(directory: pathlib.Path) -> None:
    """Write an executable for each built-in plugin."""
    for name in registry.TYPES:
        executable = directory / name
        executable.write_text(_PLUGIN.format(python=sys.executable, collections=str(_COLLECTIONS)), encoding="utf-8")
        executable.chmod(0o755)


def compare(recorded: JsonObject, found: JsonObject) -> list[Difference]:
    """Return where two recordings differ; of two errors, only the codes are compared."""
    differences: list[Difference] = []
    for key in recorded:
        pairs = list(_comparable(_spelt_out(recorded, key), _spelt_out(found, key)))
        # The first step of both runs is the same one, and its differences are reported once.
        is_repeated = recorded[key][0] == _AS_FIRST_STEP and found[key][0] == found["steps"][0]
        for number, (expected, step) in enumerate(pairs):
            if number > 0 or not is_repeated:
                differences += _differences(f"{key}/{number}", expected, step)
    return differences


def _compare(name: str, plugins: pathlib.Path, worker: _Worker) -> list[Difference]:
    document = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    case, recorded = document["case"], document["recorded"]
    ordered = {key: recorded[key] for key in ("steps", "gone") if key in recorded}
    return compare(ordered, {key: worker.run(case, _spelt_out(recorded, key), plugins) for key in ordered})


def _spelt_out(recording: JsonObject, key: str) -> list[JsonObject]:
    """Return the steps of a run, of which the first may refer to another run."""
    steps: list[t.Any] = list(recording[key])
    return [recording["steps"][0], *steps[1:]] if steps[0] == _AS_FIRST_STEP else steps


class _Worker:
    """A process that runs jobs one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", replay_node.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def run(self, case: JsonObject, steps: list[JsonObject], plugins: pathlib.Path) -> list[JsonObject]:
        """Run steps on a node of their own; return them with what happened."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(replay_node.Job(case, steps, str(plugins))._asdict())}\n")
        self._process.stdin.flush()
        outcome: JsonObject = json.loads(self._process.stdout.readline())
        if "error" in outcome:
            raise RuntimeError(f"{case['name']}: {outcome['error']}")
        return t.cast("list[JsonObject]", outcome["steps"])

    def close(self) -> None:
        self._process.communicate()


def _comparable(recorded: list[JsonObject], found: list[JsonObject]) -> t.Iterator[tuple[JsonObject, JsonObject]]:
    """Yield the pairs of steps; a state that did not change is written out unless it is so in both."""
    states: list[t.Any] = [{}, {}]
    for pair in zip(recorded, found):
        both_same = all(step.get("state") == "same" for step in pair)
        states = [step["state"] if step.get("state", "same") != "same" else state for step, state in zip(pair, states)]
        if both_same or "state" not in pair[0]:
            yield pair
        else:
            yield {**pair[0], "state": states[0]}, {**pair[1], "state": states[1]}


def _differences(path: str, recorded: t.Any, found: t.Any) -> t.Iterator[Difference]:
    if recorded == found:
        return
    is_set = path.endswith(("/+", "/-"))
    if path.endswith("/error") and isinstance(recorded, dict) and isinstance(found, dict):
        if recorded.get("code") != found.get("code"):
            yield Difference(path, recorded, found)
    elif isinstance(recorded, dict) and isinstance(found, dict):
        for key in sorted({*recorded, *found}):
            yield from _differences(f"{path}/{key}", recorded.get(key, ABSENT), found.get(key, ABSENT))
    elif isinstance(recorded, list) and isinstance(found, list) and not is_set:
        for index in range(max(len(recorded), len(found))):
            pair = (values[index] if index < len(values) else ABSENT for values in (recorded, found))
            yield from _differences(f"{path}/{index}", *pair)
    else:
        yield Difference(path, recorded, found)
