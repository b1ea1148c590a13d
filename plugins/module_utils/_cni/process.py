# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
import typing as t

OUTPUT_LIMIT: t.Final = 1024 * 1024
_STDERR_TAIL: t.Final = 16 * 1024
_CHUNK: t.Final = 64 * 1024
_PIPE_LIMIT: t.Final = 1024 * 1024
_BUSY_LIMIT: t.Final = 5.0
_BUSY_PAUSE: t.Final = 0.02
_TICK: t.Final = 0.01


@dataclasses.dataclass
class Outcome:
    """How a process ended.

    Attributes:
        status: Exit status, or the negative number of the signal that ended it.
        stdout: Everything it printed, up to `OUTPUT_LIMIT` bytes.
        stderr: The last of what it complained about.
        stopped: Why it was killed by us, or an empty string.
    """

    status: int
    stdout: bytes
    stderr: bytes
    stopped: str = ""


def run(path: str, environment: t.Mapping[str, str], stdin: bytes, timeout: float) -> Outcome:
    """Run an executable to its end, or to the end of the time or the room it is given.

    It gets a process group of its own, and that whole group is killed when it has to be stopped. Its end
    is what counts, not the end of its output: a child that it leaves behind may hold the pipes for ever.

    Args:
        timeout: Seconds.

    Raises:
        OSError: It cannot be started; ``ETXTBSY`` when it was being written to all the time.
    """
    deadline = time.monotonic() + timeout
    process = _start(path, environment, stdin, min(deadline, time.monotonic() + _BUSY_LIMIT))
    try:
        outcome = _Collector(process).collect(deadline)
        if outcome.stopped:
            _kill_group(process)
        outcome.status = process.wait()
        return outcome
    except BaseException:
        _kill_group(process)
        process.wait()
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def wait_for_children() -> None:
    """Undo an ignored SIGCHLD, which some supervisors pass on: the kernel would keep every exit status to itself."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _start(path: str, environment: t.Mapping[str, str], stdin: bytes, busy_until: float) -> subprocess.Popen[bytes]:
    while True:
        try:
            return _spawn(path, environment, stdin)
        except OSError as exc:
            if exc.errno != errno.ETXTBSY or time.monotonic() >= busy_until:
                raise
        time.sleep(_BUSY_PAUSE)


def _spawn(path: str, environment: t.Mapping[str, str], stdin: bytes) -> subprocess.Popen[bytes]:
    # A file as standard input can neither block nor break, whatever the process reads of it.
    with _anonymous_file() as request:
        request.write(stdin)
        request.seek(0)
        return subprocess.Popen(
            [path],
            stdin=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )


def _anonymous_file() -> t.IO[bytes]:
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("cni-request"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _Collector:
    """Reads a process's output until it has ended."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._stdout, self._stderr = bytearray(), bytearray()
        self._poll = select.poll()
        self._sinks = {}
        for stream, sink in ((process.stdout, self._stdout), (process.stderr, self._stderr)):
            descriptor = t.cast(t.IO[bytes], stream).fileno()
            os.set_blocking(descriptor, False)
            self._sinks[descriptor] = sink
            self._poll.register(descriptor, select.POLLIN)

    def collect(self, deadline: float) -> Outcome:
        with self._watched() as exit_descriptor:
            stopped = self._until_exit(exit_descriptor, deadline)
        self._drain()
        return Outcome(0, bytes(self._stdout), bytes(self._stderr), stopped or self._overflow())

    @contextlib.contextmanager
    def _watched(self) -> t.Iterator[int | None]:
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # a kernel or a Python built before 5.3, or a filter on system calls
            yield None
            return
        self._poll.register(descriptor, select.POLLIN)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _until_exit(self, exit_descriptor: int | None, deadline: float) -> str:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "ran out of time"
            events = self._poll.poll(1000 * (left if exit_descriptor is not None else min(left, _TICK)))
            ready = {descriptor for descriptor, dummy in events}
            if exit_descriptor in ready or (exit_descriptor is None and self._has_exited()):
                return ""
            for descriptor in ready:
                self._read(descriptor)
            if self._overflow():
                return self._overflow()

    def _drain(self) -> None:
        # What the process has printed fits into a pipe; more comes from a child that goes on printing.
        for descriptor in tuple(self._sinks):
            for dummy in range(_PIPE_LIMIT // _CHUNK + 1):
                if not self._read(descriptor):
                    break

    def _has_exited(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _read(self, descriptor: int) -> bool:
        """Take a piece of what is there; say whether there may be more, and stop listening where there will not."""
        sink = self._sinks.get(descriptor)
        if sink is None or len(sink) > OUTPUT_LIMIT:
            return False
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._poll.unregister(descriptor)
            del self._sinks[descriptor]
            return False
        sink += chunk
        if sink is self._stderr:
            del sink[:-_STDERR_TAIL]
        return True

    def _overflow(self) -> str:
        return f"printed more than {OUTPUT_LIMIT} bytes" if len(self._stdout) > OUTPUT_LIMIT else ""


__all__ = ("OUTPUT_LIMIT", "Outcome", "run", "wait_for_children")
