# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process is known by its command line and environment; no other process is waited for or ended."""

from __future__ import annotations

import builtins
import errno
import io
import os
import pathlib
import subprocess
import sys
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import process_table
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.until import until

# Several interpreters run this file at once, and end() looks at the whole machine.
WANTED = {"CNI_TEST": f"blue-{os.getpid()}", "CNI_MORE": "eth0"}


class Sleeper(t.NamedTuple):
    process: subprocess.Popen[bytes]

    @property
    def status(self) -> int:
        """The exit status, after waiting for the end of the process."""
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path: pathlib.Path) -> t.Iterator[t.Callable[..., Sleeper]]:
    started: list[Sleeper] = []
    # Written once: a shell that has just started could read a half-written file.
    path = tmp_path / "sleeper"
    path.write_text("#!/bin/sh\nread forever\n", encoding="utf-8")
    path.chmod(0o755)

    def make(**environment: str) -> Sleeper:
        process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, env={**os.environ, **environment}, start_new_session=True
        )
        started.append(Sleeper(process))
        return started[-1]

    yield make
    for sleeper in started:
        sleeper.process.kill()
        sleeper.process.communicate()


def test_a_process_that_does_not_end_is_killed_after_the_timeout(start: t.Callable[..., Sleeper]) -> None:
    mine, others = start(**WANTED), start(**{**WANTED, "CNI_MORE": "eth1"})
    process_table.wait_or_kill(WANTED, ["sleeper"], 0.2)
    assert mine.status == -9
    assert others.process.poll() is None


RUNTIME = """\
import subprocess, sys
subprocess.run(sys.argv[1:], stdin=subprocess.PIPE)
print("ended", flush=True)
sys.stdin.read()
"""


def test_a_runtime_is_not_killed_with_the_plugin_in_its_process_group(
    start: t.Callable[..., Sleeper], tmp_path: pathlib.Path
) -> None:
    words = [f"{name}={value}" for name, value in WANTED.items()]
    with subprocess.Popen(
        [sys.executable, "-c", RUNTIME, "env", *words, tmp_path / "sleeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as runtime:
        assert runtime.stdout is not None
        until(lambda: process_table.find_by_environment(WANTED), 20)
        process_table.wait_or_kill(WANTED, ["sleeper"], 0.2)
        assert runtime.stdout.readline() == b"ended\n"
        runtime.communicate()
    assert runtime.returncode == 0


def test_a_runtime_is_not_killed_if_the_leader_of_its_process_group_has_ended(
    start: t.Callable[..., Sleeper], tmp_path: pathlib.Path
) -> None:
    words = [f"{name}={value}" for name, value in WANTED.items()]
    runtime = [sys.executable, "-c", RUNTIME, "env", *words, str(tmp_path / "sleeper")]
    with subprocess.Popen(
        ["sh", "-c", '"$@" &', "sh", *runtime], stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        until(lambda: process_table.find_by_environment(WANTED), 20)
        assert leader.wait() == 0
        process_table.wait_or_kill(WANTED, ["sleeper"], 0.2)
        assert leader.stdout.readline() == b"ended\n"


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., None]:
    """Make the first listings of processes take a minute each, as on an overloaded machine."""
    clock, list_names = time.monotonic, os.listdir

    def stand_still(looks: int) -> None:
        listings = 0

        def list_slowly(path: str) -> list[str]:
            nonlocal listings
            listings += path == "/proc"
            return list_names(path)

        monkeypatch.setattr(os, "listdir", list_slowly)
        monkeypatch.setattr(time, "monotonic", lambda: clock() + 60 * min(listings, looks))

    return stand_still


def test_a_slow_listing_does_not_prevent_the_kill(start: t.Callable[..., Sleeper], late: t.Callable[..., None]) -> None:
    mine = start(**WANTED)
    late(1)
    process_table.wait_or_kill(WANTED, ["sleeper"], 1)
    assert mine.status == -9


def test_a_process_that_survives_the_kill_is_an_error(
    start: t.Callable[..., Sleeper], late: t.Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, killed = start(**WANTED), []
    late(2)
    monkeypatch.setattr(os, "killpg", lambda group, _signal: killed.append(group))
    with pytest.raises(CniError, match=rf"process {mine.process.pid}, .* cannot be killed") as caught:
        process_table.wait_or_kill(WANTED, ["sleeper"], 1)
    assert (caught.value.code, killed) == (Code.TRY_AGAIN, [mine.process.pid])


def test_a_process_of_another_program_is_not_killed(start: t.Callable[..., Sleeper]) -> None:
    other = start(**WANTED)
    process_table.wait_or_kill(WANTED, ["bridge"], 0.2)
    assert other.process.poll() is None


def test_a_zombie_is_not_waited_for(start: t.Callable[..., Sleeper]) -> None:
    ended = start(**WANTED)
    ended.process.stdin.close()  # type: ignore[union-attr]
    os.waitid(os.P_PID, ended.process.pid, os.WEXITED | os.WNOWAIT)
    process_table.wait_or_kill(WANTED, ["sleeper"], 20)
    assert ended.status == 1


@pytest.mark.parametrize("duration", [0, 60])
def test_a_process_is_found_as_soon_as_its_program_is_loaded(
    start: t.Callable[..., Sleeper], monkeypatch: pytest.MonkeyPatch, duration: int
) -> None:
    """While the kernel loads the program, the environment is empty; `duration` is that of the first look, in seconds."""
    mine, clock = start(**WANTED), time.monotonic
    open_file: t.Callable[..., t.IO[t.Any]] = open
    looks: list[str] = []

    def open_while_loading(path: str, *arguments: t.Any, **options: t.Any) -> t.IO[t.Any]:
        if path != f"/proc/{mine.process.pid}/environ" or looks:
            return open_file(path, *arguments, **options)
        looks.append(path)
        return io.BytesIO()

    monkeypatch.setattr(builtins, "open", open_while_loading)
    monkeypatch.setattr(time, "monotonic", lambda: clock() + duration * len(looks))
    assert process_table.find_by_environment(WANTED) == [mine.process.pid]


def test_a_process_without_variables_is_ignored() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={}) as process:
        assert process.pid not in process_table.find_by_environment(WANTED)
        process.communicate()


@pytest.mark.parametrize(
    "search",
    [lambda: process_table.find_by_environment(WANTED), lambda: process_table.find_mentioning(WANTED["CNI_TEST"])],
    ids=["environment", "text"],
)
def test_a_process_that_cannot_be_read_for_now_has_not_ended(
    start: t.Callable[..., Sleeper], monkeypatch: pytest.MonkeyPatch, search: t.Callable[[], list[int]]
) -> None:
    directory = f"/proc/{start(**WANTED).process.pid}/"
    open_file: t.Callable[..., t.IO[t.Any]] = open

    def open_others(path: str, *arguments: t.Any, **options: t.Any) -> t.IO[t.Any]:
        if path.startswith(directory):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", open_others)
    error = error_of(search)
    assert (error.code, error.msg.startswith(f"cannot read {directory}")) == (Code.IO_FAILURE, True)


def test_a_process_mentions_a_container_in_its_arguments_or_its_environment(start: t.Callable[..., Sleeper]) -> None:
    container = f"{os.getpid():064x}"
    assert process_table.find_mentioning(container) == []
    plugin = start(CNI_CONTAINERID=container)
    shim = subprocess.Popen(["sh", "-c", "read forever", f"-id={container}"], stdin=subprocess.PIPE)
    try:
        until(lambda: len(process_table.find_mentioning(container)) == 2 or None)
        assert sorted(process_table.find_mentioning(container)) == sorted([plugin.process.pid, shim.pid])
        assert process_table.find_mentioning(container, [f"-id={container}"]) == [plugin.process.pid]
    finally:
        shim.kill()
        shim.communicate()


def test_processes_are_found_by_their_network_namespace(tmp_path: pathlib.Path) -> None:
    assert os.getpid() in process_table.find_by_netns("/proc/self/ns/net")
    assert process_table.find_by_netns("/proc/self/ns/uts") == []
    assert process_table.find_by_netns(str(tmp_path / "gone")) == []
