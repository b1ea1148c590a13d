# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
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
# poll() takes no more than some weeks.
_LONGEST_WAIT: t.Final = 3600.0
# Seconds in which most processes end. What they print until then fits into the pipes and need not wake anybody.
_SOON: t.Final = 0.05

# What Python ignores for itself; a child starts with the system's defaults.
_IGNORED_HERE: t.Final = (signal.SIGPIPE, signal.SIGXFSZ)


class ProcessResult(t.NamedTuple):
    """How a process ended.

    Attributes:
        status: Exit status, or the negative number of the signal that ended it.
        stdout: Everything it printed, up to its limit.
        stderr: The last of what it complained about.
        stopped: Why it was killed by us, or an empty string.
    """

    status: int
    stdout: bytes
    stderr: bytes
    stopped: str = ""


def run(
    argv: t.Sequence[str],
    environment: t.Mapping[bytes, bytes],
    stdin: bytes,
    timeout: float,
    output_limit: int = OUTPUT_LIMIT,
) -> ProcessResult:
    """Run an executable to its end, or to the end of the time or the room it is given.

    It gets a process group of its own, and that whole group is killed when it has to be stopped. Its end
    is what counts, not the end of its output: a child that it leaves behind may hold the pipes for ever.

    Args:
        argv: Begins with the path of the executable.
        timeout: Seconds.
        output_limit: Bytes of standard output.

    Raises:
        OSError: It cannot be started; ``ETXTBSY`` when it was being written to all the time.
    """
    deadline = time.monotonic() + timeout
    busy_until = min(deadline, time.monotonic() + _BUSY_LIMIT)
    with _Process(argv, environment, stdin, busy_until, output_limit) as process:
        stopped = process.collect(deadline)
        if stopped:
            process.kill()
        return ProcessResult(process.wait(), bytes(process.stdout), bytes(process.stderr), stopped)


def default_workers() -> int:
    """Return how many programs to run at once: plugins wait for the kernel about as long as they compute."""
    return 2 * len(os.sched_getaffinity(0))


def prepare() -> None:
    """Put right what this process may have been started with and would hand on to every child.

    Some supervisors ignore SIGCHLD, and then the kernel keeps every exit status to itself. A descriptor that
    nobody knows of would be held open by what a child leaves running.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(descriptor, False)


class _Process:
    """A process of ours, from its start until its status has been taken."""

    def __init__(
        self,
        argv: t.Sequence[str],
        environment: t.Mapping[bytes, bytes],
        stdin: bytes,
        busy_until: float,
        output_limit: int,
    ) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._output_limit = output_limit
        self._poll = select.poll()
        self._sinks: dict[int, bytearray] = {}
        with contextlib.ExitStack() as opened, contextlib.ExitStack() as handed_over:
            # A file as standard input can neither block nor break, whatever the process reads of it.
            request = _anonymous_file(stdin)
            opened.callback(os.close, request)
            actions = [(os.POSIX_SPAWN_DUP2, request, 0)]
            for number, sink in ((1, self.stdout), (2, self.stderr)):
                reader, writer = os.pipe()
                opened.callback(os.close, writer)
                handed_over.callback(os.close, reader)
                actions.append((os.POSIX_SPAWN_DUP2, writer, number))
                os.set_blocking(reader, False)
                self._sinks[reader] = sink
                self._poll.register(reader, select.POLLIN)
            self._pid = _spawn(argv, environment, actions, busy_until)
            self._open = handed_over.pop_all()
        self._status: int | None = None

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *dummy: object) -> None:
        if self._status is None:
            self.kill()
            self.wait()
        self._open.close()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status

    def collect(self, deadline: float) -> str:
        """Read its output until it has ended; return why it has to be stopped, or an empty string."""
        with self._watched() as exit_descriptor:
            stopped = self._until_exit(exit_descriptor, deadline)
        self._drain()
        return stopped or self._overflow()

    @contextlib.contextmanager
    def _watched(self) -> t.Iterator[int | None]:
        try:
            descriptor = os.pidfd_open(self._pid)
        except (AttributeError, OSError):  # a kernel or a Python built before 5.3, or a filter on system calls
            yield None
            return
        self._poll.register(descriptor, select.POLLIN)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _until_exit(self, exit_descriptor: int | None, deadline: float) -> str:
        # One that is given more room than usual has more to say than fits, and would only wait for us.
        soon = min(_SOON, deadline - time.monotonic()) if self._output_limit <= OUTPUT_LIMIT else 0.0
        if exit_descriptor is not None and _is_ready(exit_descriptor, soon):
            return ""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                # It may have ended in time while this thread stood still.
                return "" if self._has_exited() else "ran out of time"
            events = self._poll.poll(1000 * min(left, _TICK if exit_descriptor is None else _LONGEST_WAIT))
            ready = {descriptor for descriptor, dummy in events}
            if exit_descriptor in ready or (exit_descriptor is None and self._has_exited()):
                return ""
            for descriptor in ready:
                self._read(descriptor)
            if self._overflow():
                return self._overflow()

    def _has_exited(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._pid, flags) is not None

    def _drain(self) -> None:
        # What the process has printed fits into a pipe; more comes from a child that goes on printing.
        for descriptor in tuple(self._sinks):
            for dummy in range(_PIPE_LIMIT // _CHUNK + 1):
                if not self._read(descriptor):
                    break

    def _read(self, descriptor: int) -> bool:
        """Take a piece of what is there; say whether there may be more, and stop listening where there will not."""
        sink = self._sinks.get(descriptor)
        if sink is None or len(sink) > self._output_limit:
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
        if sink is self.stderr:
            del sink[:-_STDERR_TAIL]
        return True

    def _overflow(self) -> str:
        return f"printed more than {self._output_limit} bytes" if len(self.stdout) > self._output_limit else ""


def _is_ready(descriptor: int, timeout: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * max(timeout, 0)))


def _spawn(argv: t.Sequence[str], environment: t.Mapping[bytes, bytes], actions: t.Any, busy_until: float) -> int:
    """Start a process of a group of its own, anew each time its file is found busy; the last time when time is over."""
    is_last = False
    while True:
        try:
            # What Ansible has for this, run_command, knows neither process groups nor limits of time and output.
            return os.posix_spawn(  # pylint: disable=ansible-bad-function
                argv[0],
                list(argv),
                environment,
                file_actions=actions,
                setpgroup=0,
                setsigmask=(),
                setsigdef=_IGNORED_HERE,
            )
        except OSError as exc:
            if exc.errno != errno.ETXTBSY or is_last:
                raise
        is_last = time.monotonic() >= busy_until
        time.sleep(_BUSY_PAUSE)


def _anonymous_file(content: bytes) -> int:
    descriptor: int = getattr(os, "memfd_create", _unnamed_file)("stdin")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _unnamed_file(dummy: str) -> int:
    return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


__all__ = ("OUTPUT_LIMIT", "ProcessResult", "default_workers", "prepare", "run")
