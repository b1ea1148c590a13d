# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scripted plugins: executables with scripted behaviour that log their calls."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support.until import until

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
SOURCE = pathlib.Path(__file__).with_name("scripted_plugin.py")


@dataclasses.dataclass(frozen=True)
class ScriptedAnswer:
    """An answer of a plugin. The default: ADD returns prevResult, every other command succeeds without output.

    `result` and `error` get the request's cniVersion unless they have their own; `stdout` is printed unchanged.
    `stdout_bytes` and `stderr_bytes` pad a stream to a size. `hold` is a gate: the plugin waits until it opens. `hang`
    keeps the plugin running; a "deaf" plugin ignores SIGTERM too. `grandchild` leaves a process that holds the streams
    open, in the plugin's process group or in its "own session". `close` closes the streams before hanging or ending.
    Every process of a plugin ends after a minute, or after five at a gate.
    """

    result: t.Any = None
    error: JsonObject | None = None
    stdout: str | None = None
    stdout_bytes: int = 0
    stderr: str | None = None
    stderr_bytes: int = 0
    exit: int | None = None
    signal: int | None = None
    hold: str | None = None
    hang: t.Literal["", "yes", "deaf"] = ""
    grandchild: t.Literal["", "same group", "own session"] = ""
    close: bool = False
    read_stdin: bool = True

    def literal(self) -> JsonObject:
        unset = ScriptedAnswer()
        return {key: value for key, value in vars(self).items() if value != getattr(unset, key)}


@dataclasses.dataclass(frozen=True)
class ScriptedCall:
    """One run of a scripted plugin. `ended` is None if it was killed or is still running."""

    plugin: str
    command: str
    pid: int
    environ: list[str]
    stdin: str
    started: float
    ended: float | None = None
    held: bool = False
    grandchild: int | None = None

    @property
    def env(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.environ)

    @property
    def request(self) -> JsonObject:
        return t.cast("JsonObject", json.loads(self.stdin))


class ScriptedPlugins:
    """A plugin directory of scripted plugins that share one log."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def write(
        self,
        plugin: str,
        *,
        versions: t.Sequence[str] = VERSIONS,
        **answers: ScriptedAnswer | t.Sequence[ScriptedAnswer],
    ) -> pathlib.Path:
        """Install a plugin with answers by command: ADD=ScriptedAnswer(...), or several that are given in turn."""
        answer = {"cniVersion": versions[-1], "supportedVersions": list(versions)} if versions else {}
        literal = {"VERSION": [ScriptedAnswer(stdout=json.dumps(answer)).literal()]}
        for command, given in answers.items():
            literal[command] = [
                answer.literal() for answer in ([given] if isinstance(given, ScriptedAnswer) else given)
            ]
        return self._install(plugin, literal)

    def _install(self, plugin: str, answers: dict[str, list[JsonObject]]) -> pathlib.Path:
        # The base interpreter: a virtual environment's one starts more slowly.
        shebang = f"#!{os.path.realpath(sys.executable)} -IS"
        plain = json.loads(json.dumps(answers))
        source = SOURCE.read_text(encoding="utf-8").replace("]]] = {}\n", f"]]] = {plain!r}\n", 1)
        path = self.path / plugin
        unfinished = self.path / f".{plugin}.new"
        unfinished.write_text(f"{shebang}\n{source}", encoding="utf-8")
        unfinished.chmod(0o755)
        return unfinished.replace(path)

    def calls(self, plugin: str | None = None, command: str | None = None) -> list[ScriptedCall]:
        """Return the logged calls in the order of their starts."""
        calls: list[ScriptedCall] = []
        latest: dict[int, int] = {}
        log = self.path / ".calls"
        # The last line may be incomplete.
        whole = log.read_bytes().rpartition(b"\n")[0] if log.exists() else b""
        for line in whole.decode("utf-8").splitlines():
            entry = ast.literal_eval(line)
            if entry["event"] == "start":
                latest[entry["pid"]] = len(calls)
                calls.append(_parse_start(entry))
            else:
                calls[latest[entry["pid"]]] = _apply_event(calls[latest[entry["pid"]]], entry)
        return [call for call in calls if plugin in (None, call.plugin) and command in (None, call.command)]

    def forget(self) -> None:
        (self.path / ".calls").unlink(missing_ok=True)

    @contextlib.contextmanager
    def gate(self, name: str = "gate") -> t.Iterator[str]:
        """Yield a gate for `ScriptedAnswer.hold`. It opens at the end of the block or when the test process ends."""
        path = self.path / f".{name}"
        with path.open("wb") as closed:
            fcntl.flock(closed, fcntl.LOCK_EX)
            yield str(path)

    def wait_for_held(self, count: int, seconds: float = 60) -> list[ScriptedCall]:
        """Return the calls that wait at a gate, as soon as there are `count` of them."""

        def enough() -> list[ScriptedCall] | None:
            held = [call for call in self.calls() if call.held and call.ended is None]
            return held if len(held) >= count else None

        return until(enough, seconds)


def _parse_start(entry: JsonObject) -> ScriptedCall:
    return ScriptedCall(
        entry["plugin"], entry["command"], entry["pid"], entry["environ"], entry["stdin"], entry["time"]
    )


def _apply_event(call: ScriptedCall, entry: JsonObject) -> ScriptedCall:
    if entry["event"] == "end":
        return dataclasses.replace(call, ended=entry["time"])
    if entry["event"] == "held":
        return dataclasses.replace(call, held=True)
    return dataclasses.replace(call, grandchild=entry["grandchild"])


@contextlib.contextmanager
def busy(executable: pathlib.Path) -> t.Iterator[None]:
    """Keep the file open for writing, so that running it fails with ETXTBSY."""
    with executable.open("r+b"):
        yield
