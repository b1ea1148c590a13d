# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scripted plugins follow their script and log their calls."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import signal
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins, busy
from ansible_collections.cni.node.tests.support.until import until

REQUEST = {"cniVersion": "1.0.0", "name": "n", "type": "p"}


@pytest.fixture
def plugins(tmp_path: pathlib.Path) -> ScriptedPlugins:
    return ScriptedPlugins(tmp_path / "bin")


def call(
    plugins: ScriptedPlugins, command: str, request: t.Mapping[str, t.Any] | None = None, plugin: str = "p"
) -> subprocess.CompletedProcess[str]:
    environment = {"CNI_COMMAND": command, "CNI_ARGS": "A=1"}
    text = json.dumps(REQUEST if request is None else request)
    argv = [str(plugins.path / plugin)]
    return subprocess.run(argv, env=environment, input=text, check=False, capture_output=True, text=True)


def test_an_add_returns_the_previous_result(plugins: ScriptedPlugins) -> None:
    plugins.write("p")
    done = call(plugins, "ADD", {**REQUEST, "prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/8"}]}})
    assert json.loads(done.stdout) == {"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/8"}]}
    assert call(plugins, "DEL").stdout == ""


def test_an_incomplete_log_line_is_ignored(plugins: ScriptedPlugins) -> None:
    plugins.write("p")
    call(plugins, "CHECK")
    log = plugins.path / ".calls"
    whole, half = log.read_bytes(), log.read_bytes()[:40]
    log.write_bytes(whole + half)
    assert [call.command for call in plugins.calls()] == ["CHECK"]
    log.write_bytes(half)
    assert plugins.calls() == []


def test_an_empty_result_replaces_the_previous_one(plugins: ScriptedPlugins) -> None:
    plugins.write("p", ADD=ScriptedAnswer(result={}))
    done = call(plugins, "ADD", {**REQUEST, "prevResult": {"ips": []}})
    assert json.loads(done.stdout) == {"cniVersion": "1.0.0"}


def test_a_version_answer_lists_the_given_versions(plugins: ScriptedPlugins) -> None:
    plugins.write("p", versions=["0.3.1", "0.4.0"])
    answer = json.loads(call(plugins, "VERSION").stdout)
    assert answer == {"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}


def test_answers_are_given_in_turn_and_the_last_is_repeated(plugins: ScriptedPlugins) -> None:
    plugins.write("p", ADD=[ScriptedAnswer(error={"code": 11, "msg": "later"}), ScriptedAnswer(result={"ips": []})])
    calls = [call(plugins, "ADD") for dummy in range(3)]
    assert [done.returncode for done in calls] == [1, 0, 0]
    assert json.loads(calls[0].stdout) == {"cniVersion": "1.0.0", "code": 11, "msg": "later"}
    assert json.loads(calls[2].stdout) == {"cniVersion": "1.0.0", "ips": []}


def test_the_log_has_every_call_of_the_directory_in_order(plugins: ScriptedPlugins) -> None:
    plugins.write("p")
    plugins.write("q", DEL=ScriptedAnswer(signal=signal.SIGKILL))
    call(plugins, "ADD")
    call(plugins, "DEL", plugin="q")
    calls = plugins.calls()
    assert [(call.plugin, call.command) for call in calls] == [("p", "ADD"), ("q", "DEL")]
    assert calls[0].env == {"CNI_COMMAND": "ADD", "CNI_ARGS": "A=1"}
    assert calls[0].request == REQUEST
    assert calls[0].ended is not None
    assert calls[0].ended < calls[1].started
    plugins.forget()
    assert plugins.calls() == []


@pytest.mark.parametrize(
    ("answer", "status", "stdout", "stderr"),
    [
        (ScriptedAnswer(exit=3, stderr="oops"), 3, "", "oops"),
        (ScriptedAnswer(signal=signal.SIGSEGV), -signal.SIGSEGV, "", ""),
        (ScriptedAnswer(stdout="{not json"), 0, "{not json", ""),
        (ScriptedAnswer(stdout_bytes=3 << 20), 0, "x" * (3 << 20), ""),
        (ScriptedAnswer(stderr="last words: ", stderr_bytes=1 << 20), 0, "", "last words: ".ljust(1 << 20, "x")),
    ],
)
def test_a_plugin_ends_and_prints_as_scripted(
    plugins: ScriptedPlugins, answer: ScriptedAnswer, status: int, stdout: str, stderr: str
) -> None:
    plugins.write("p", DEL=answer)
    done = call(plugins, "DEL")
    assert (done.returncode, done.stdout == stdout, done.stderr == stderr) == (status, True, True)


def test_plugins_wait_at_a_gate_until_it_opens(plugins: ScriptedPlugins) -> None:
    with plugins.gate() as gate:
        plugins.write("p", DEL=ScriptedAnswer(hold=gate))
        argv, environment = [str(plugins.path / "p")], {"CNI_COMMAND": "DEL"}
        running = [subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL) for dummy in range(3)]
        assert len(plugins.wait_for_held(3)) == 3
        assert [process.poll() for process in running] == [None] * 3
    assert [process.wait() for process in running] == [0] * 3
    assert all(call.ended for call in plugins.calls())


@pytest.mark.parametrize("kind", ["same group", "own session"])
def test_a_grandchild_keeps_the_streams_open(
    plugins: ScriptedPlugins, kind: t.Literal["same group", "own session"]
) -> None:
    plugins.write("p", DEL=ScriptedAnswer(stdout="said", grandchild=kind))
    argv, pipe = [str(plugins.path / "p")], subprocess.PIPE
    with subprocess.Popen(argv, env={"CNI_COMMAND": "DEL"}, stdin=subprocess.DEVNULL, stdout=pipe) as running:
        assert running.wait() == 0
        grandchild = plugins.calls()[0].grandchild
        assert grandchild is not None
        assert running.stdout is not None
        os.set_blocking(running.stdout.fileno(), False)
        assert os.read(running.stdout.fileno(), 10) == b"said"
        with pytest.raises(BlockingIOError):
            os.read(running.stdout.fileno(), 10)
        assert (os.getsid(grandchild) == grandchild) == (kind == "own session")
        os.kill(grandchild, signal.SIGKILL)


def test_a_deaf_plugin_ends_by_sigkill_only(plugins: ScriptedPlugins) -> None:
    plugins.write("p", DEL=ScriptedAnswer(stdout="said", hang="deaf", close=True))
    argv, pipe = [str(plugins.path / "p")], subprocess.PIPE
    with subprocess.Popen(argv, env={"CNI_COMMAND": "DEL"}, stdin=subprocess.DEVNULL, stdout=pipe) as running:
        assert running.stdout is not None
        assert running.stdout.read() == b"said"
        until(lambda: is_ignored(running.pid, signal.SIGTERM) or None)
        running.terminate()
        assert running.poll() is None
        running.kill()
        assert running.wait() == -signal.SIGKILL
    assert plugins.calls()[0].ended is None


def is_ignored(pid: int, number: signal.Signals) -> bool:
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def test_a_plugin_may_leave_its_request_unread(plugins: ScriptedPlugins) -> None:
    plugins.write("p", DEL=ScriptedAnswer(read_stdin=False))
    call(plugins, "DEL")
    assert plugins.calls()[0].stdin == ""


def test_a_busy_plugin_cannot_be_run(plugins: ScriptedPlugins) -> None:
    with busy(plugins.write("p")), pytest.raises(OSError, match="busy") as raised:
        call(plugins, "DEL")
    assert raised.value.errno == errno.ETXTBSY
    assert call(plugins, "DEL").returncode == 0
