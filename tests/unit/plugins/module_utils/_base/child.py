# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a piece of the engine in other processes and threads."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.tests.support.until import until

COLLECTIONS = pathlib.Path(durable.__file__).parents[6]


@contextlib.contextmanager
def child(program: str, *arguments: str | os.PathLike[str]) -> t.Iterator[subprocess.Popen[str]]:
    """Yield a Python program with pipes that can import the collection; kill it at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *(os.fspath(word) for word in arguments)],
        env={**os.environ, "PYTHONPATH": str(COLLECTIONS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    """Return the next line of the process's output, or an empty string if it has ended."""
    return t.cast("t.IO[str]", process.stdout).readline().strip()


def close_stdin(process: subprocess.Popen[str]) -> str:
    """Close the process's standard input and return the rest of its output."""
    return process.communicate(timeout=60)[0].strip()


@contextlib.contextmanager
def enter_in_thread(context: t.ContextManager[t.Any]) -> t.Iterator[None]:
    """Enter a context in another thread, and leave it at the end of the block."""
    is_entered, is_done = threading.Event(), threading.Event()

    def hold() -> None:
        with context:
            is_entered.set()
            is_done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_entered.wait(60)
    try:
        yield
    finally:
        is_done.set()
        thread.join()


@contextlib.contextmanager
def run_holder(program: str, *arguments: str | os.PathLike[str]) -> t.Iterator[None]:
    """Run a program that prints `held` and holds something until its standard input is closed."""
    with child(program, *arguments) as process:
        assert read_line(process) == "held"
        yield
        close_stdin(process)


def is_dead(pid: int) -> bool:
    """Return whether a process has ended, perhaps with a status that its parent has not read yet."""
    return state_of(pid) in "ZX"


def state_of(pid: int) -> str:
    """Return the state letter of `ps`, or X if the process does not exist."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return "X"
    return stat.rpartition(") ")[2][0]


def wait_until_dead(pid: int) -> None:
    until(lambda: is_dead(pid) or None)
