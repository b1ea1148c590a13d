# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import os
import pathlib
import signal
import threading
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.process import OUTPUT_LIMIT, ProcessResult
from ansible_collections.cni.node.tests.support.until import until
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import (
    child,
    close_stdin,
    is_dead,
    state_of,
    wait_until_dead,
)

MIB = 1024 * 1024
DEFAULT_PATH: str = os.defpath
# What is started in the background of a script may have been told to ignore interruptions.
CALLER = """
import signal
import sys
from ansible_collections.cni.node.plugins.module_utils._base import process
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    process.run(sys.argv[1:], {b"PATH": b"/usr/bin:/bin"}, b"", 60)
except KeyboardInterrupt:
    print("interrupted")
"""
Script = t.Callable[[str], str]


@pytest.fixture
def script(tmp_path: pathlib.Path) -> Script:
    """Return a function that writes a shell script and returns its path."""

    def write(body: str) -> str:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture(params=["pidfd", "pidfd refused", "no pidfd"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace one way to wait for a process: kernels before 5.3 refuse pidfd_open, and some Pythons lack it."""

    def refuse(pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    if request.param == "pidfd refused":
        monkeypatch.setattr(os, "pidfd_open", refuse)
    elif request.param == "no pidfd":
        monkeypatch.delattr(os, "pidfd_open")


def run(path: str, stdin: bytes = b"", timeout: float = 30, **environment: str) -> ProcessResult:
    encoded = {key.encode(): value.encode() for key, value in {"PATH": DEFAULT_PATH, **environment}.items()}
    return process.run([path], encoded, stdin, timeout)


@pytest.mark.usefixtures("kernel")
class TestEnd:
    @pytest.mark.parametrize("status", [0, 1, 3, 255])
    def test_status_and_both_outputs_are_returned(self, script: Script, status: int) -> None:
        assert run(script(f"echo out; echo err >&2; exit {status}")) == ProcessResult(status, b"out\n", b"err\n")

    @pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
    def test_the_status_after_a_signal_is_negative(self, script: Script, number: signal.Signals) -> None:
        assert run(script(f"echo out; kill -{int(number)} $$")) == ProcessResult(-number, b"out\n", b"")

    def test_a_run_ends_with_its_process_although_a_child_holds_the_output(self, script: Script) -> None:
        outcome = run(script("sleep 60 & echo $!"))
        orphan = int(outcome.stdout)
        was_alive = not is_dead(orphan)
        os.kill(orphan, signal.SIGKILL)
        assert (outcome.status, outcome.stopped, was_alive) == (0, "", True)

    def test_the_time_limit_kills_the_whole_group(self, script: Script) -> None:
        outcome = run(script("trap '' TERM INT; sleep 60 & echo $! $$; wait"), timeout=0.3)
        assert (outcome.status, outcome.stopped) == (-signal.SIGKILL, "ran out of time")
        for pid in outcome.stdout.split():
            wait_until_dead(int(pid))

    def test_the_time_limit_applies_to_a_process_that_has_closed_its_output(self, script: Script) -> None:
        assert run(script("exec >&- 2>&-; exec sleep 60"), timeout=0.3).stopped == "ran out of time"

    def test_a_time_limit_can_have_any_length(self, script: Script) -> None:
        outcome = run(script("sleep 0.2; echo done"), timeout=1e300)
        assert (outcome.status, outcome.stdout) == (0, b"done\n")

    def test_a_process_that_ended_in_time_is_not_a_timeout(
        self, script: Script, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(tmp_path / "end")
        clock, spawn, ahead = time.monotonic, os.posix_spawn, 0
        started: list[tuple[int, float]] = []

        def note_start(*arguments: t.Any, **options: t.Any) -> int:
            started.append((spawn(*arguments, **options), clock()))
            return started[0][0]

        def stand_still() -> float:
            """Let the process end when most others have ended, and read the clock a minute later."""
            nonlocal ahead
            if started and not ahead and clock() - started[0][1] > 0.05:
                (tmp_path / "end").write_text("now\n", encoding="ascii")
                os.waitid(os.P_PID, started[0][0], os.WEXITED | os.WNOWAIT)
                ahead = 60
            return clock() + ahead

        path = script(f"read now < {tmp_path}/end; echo out; exit 3")
        monkeypatch.setattr(os, "posix_spawn", note_start)
        monkeypatch.setattr(time, "monotonic", stand_still)
        assert run(path) == ProcessResult(3, b"out\n", b"")

    def test_a_run_leaves_no_descriptor_and_no_process(self, script: Script) -> None:
        before = len(os.listdir("/proc/self/fd"))
        for body, timeout in (
            ("exit 0", 30),
            ("exit 1", 30),
            ("kill -9 $$", 30),
            ("exec yes", 30),
            ("exec sleep 60", 0.1),
        ):
            run(script(body), timeout=timeout)
        with pytest.raises(FileNotFoundError):
            run("/nowhere/at/all")
        assert len(os.listdir("/proc/self/fd")) == before
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


class TestInput:
    @pytest.mark.parametrize("content", [b"", b"{}", b"\0\xff" * 100, b"x" * 10 * MIB], ids=len)
    def test_a_process_reads_exactly_its_input(self, script: Script, content: bytes) -> None:
        assert run(script("wc -c"), content).stdout.strip() == str(len(content)).encode()
        assert run("/bin/cat", content[:1000]).stdout == content[:1000]

    @pytest.mark.parametrize("body", ["exit 0", "exec <&-; exit 0", "head -c 1 >/dev/null"])
    def test_a_process_that_does_not_read_stdin_does_not_block(self, script: Script, body: str) -> None:
        assert run(script(body), b"x" * 10 * MIB).status == 0


class TestSurroundings:
    def test_a_process_has_exactly_the_given_environment(self) -> None:
        assert run("/usr/bin/env", A="1", B="ä;=").stdout.decode().splitlines() == [
            f"PATH={DEFAULT_PATH}",
            "A=1",
            "B=ä;=",
        ]

    def test_a_process_has_its_own_process_group(self, script: Script) -> None:
        pid, dummy, dummy, dummy, group = run(script("exec cat /proc/self/stat")).stdout.split()[:5]
        assert pid == group != str(os.getpgrp()).encode()

    @pytest.mark.parametrize("number", [signal.SIGPIPE, signal.SIGXFSZ])
    def test_signals_that_python_ignores_are_reset(self, script: Script, number: signal.Signals) -> None:
        assert signal.getsignal(number) == signal.SIG_IGN
        assert run(script(f"kill -{int(number)} $$")).status == -number

    def test_a_child_inherits_no_descriptors(self, script: Script, tmp_path: pathlib.Path) -> None:
        with hold_lock(str(tmp_path / "lock"), exclusive=True, timeout=0, what="it"), open("/dev/null", "rb") as ours:
            assert run(script(f"test ! -e /proc/$$/fd/{ours.fileno()}")).status == 0
            opened = {
                pathlib.Path(path).resolve()
                for path in run(script("readlink -f /proc/$$/fd/*")).stdout.decode().split()
            }
        assert tmp_path / "lock" not in opened


class TestOutput:
    @pytest.mark.parametrize("size", [0, 1, 65536, 65537, OUTPUT_LIMIT])
    def test_output_up_to_the_limit_is_complete(self, script: Script, size: int) -> None:
        outcome = run(script(f"head -c {size} /dev/zero"))
        assert (outcome.status, outcome.stopped, outcome.stdout) == (0, "", b"\0" * size)

    @pytest.mark.parametrize(
        "body", ["exec yes", f"head -c {OUTPUT_LIMIT + 1} /dev/zero; exec sleep 60", "yes & exec sleep 60"]
    )
    def test_output_beyond_the_limit_kills_the_whole_group(self, script: Script, body: str) -> None:
        outcome = run(script(body))
        assert outcome.stopped == f"printed more than {OUTPUT_LIMIT} bytes"
        assert len(outcome.stdout) <= OUTPUT_LIMIT + 64 * 1024

    def test_the_last_lines_of_stderr_are_kept(self, script: Script) -> None:
        outcome = run(script("head -c 5000000 /dev/zero >&2; echo last >&2; echo out"))
        assert (outcome.status, outcome.stopped, outcome.stdout) == (0, "", b"out\n")
        assert outcome.stderr.endswith(b"\0last\n")
        assert len(outcome.stderr) <= 16 * 1024

    def test_stdout_and_stderr_together_do_not_block(self, script: Script) -> None:
        outcome = run(script("head -c 900000 /dev/zero & head -c 900000 /dev/zero >&2; wait"))
        assert (outcome.status, len(outcome.stdout)) == (0, 900000)


class TestStart:
    def test_a_missing_plugin_is_an_error(self) -> None:
        with pytest.raises(FileNotFoundError):
            run("/nowhere/at/all")

    def test_a_non_executable_plugin_is_an_error(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "plugin").touch(mode=0o644)
        with pytest.raises(PermissionError):
            run(str(tmp_path / "plugin"))

    def test_a_file_that_is_not_a_program_is_an_error(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "plugin").touch(mode=0o755)
        with pytest.raises(OSError, match="Exec format error"):
            run(str(tmp_path / "plugin"))

    def test_a_busy_executable_is_retried_and_runs_once(self, script: Script, tmp_path: pathlib.Path) -> None:
        path = script(f"echo ran >> {tmp_path}/log")
        start, writer = time.monotonic(), os.open(path, os.O_WRONLY)
        release = threading.Timer(0.2, os.close, [writer])
        release.start()
        assert run(path).status == 0
        assert time.monotonic() - start >= 0.2
        assert (tmp_path / "log").read_text(encoding="ascii") == "ran\n"

    def test_a_busy_executable_is_retried_once_after_the_deadline(
        self, script: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spawn, clock = os.posix_spawn, time.monotonic
        refused: list[object] = []

        def busy_at_first(*arguments: t.Any, **options: t.Any) -> int:
            if refused:
                return spawn(*arguments, **options)
            refused.append(arguments)
            raise OSError(errno.ETXTBSY, os.strerror(errno.ETXTBSY))

        monkeypatch.setattr(os, "posix_spawn", busy_at_first)
        monkeypatch.setattr(time, "monotonic", lambda: clock() + 10 * len(refused))  # a refusal takes ten seconds
        assert run(script("exit 0")).status == 0

    @pytest.mark.parametrize(("timeout", "pause"), [(0.2, 0), (60, 10)], ids=["time limit", "limit of retries"])
    def test_an_executable_that_stays_busy_is_an_error(
        self, script: Script, monkeypatch: pytest.MonkeyPatch, timeout: float, pause: float
    ) -> None:
        clock, pauses = time.monotonic, list[float]()
        monkeypatch.setattr(time, "sleep", pauses.append)
        monkeypatch.setattr(time, "monotonic", lambda: clock() + pause * len(pauses))
        path = script("exit 0")
        with open(path, "r+b"), pytest.raises(OSError, match="busy") as caught:
            run(path, timeout=timeout)
        assert caught.value.errno == errno.ETXTBSY


def test_an_interruption_of_the_caller_kills_the_whole_group(script: Script, tmp_path: pathlib.Path) -> None:
    pids = tmp_path / "pids"
    with child(CALLER, script(f"sleep 60 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait")) as caller:
        until(lambda: (pids.exists() and state_of(caller.pid) == "S") or None)
        caller.send_signal(signal.SIGINT)
        assert close_stdin(caller) == "interrupted"
    for pid in pids.read_text(encoding="ascii").split():
        wait_until_dead(int(pid))


def test_an_inherited_descriptor_is_not_passed_to_a_child(script: Script) -> None:
    with open("/dev/null", "rb") as anything:
        os.dup2(anything.fileno(), 50, inheritable=True)
    try:
        process.prepare()
        assert run(script("test ! -e /proc/$$/fd/50")).status == 0
    finally:
        os.close(50)


def test_an_interruption_during_the_start_ends_the_process(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    start = os.posix_spawn

    def start_and_interrupt(*arguments: t.Any, **options: t.Any) -> int:
        started.append(start(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(os, "posix_spawn", start_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(script("exec sleep 60"))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert is_dead(started[0])


def test_an_inherited_ignored_sigchld_is_reset() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        process.prepare()
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_there_are_two_workers_for_each_processor_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda dummy: {1, 3, 5})
    assert process.default_workers() == 6
