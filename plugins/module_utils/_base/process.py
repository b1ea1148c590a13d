# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run a program within a time limit and with limited output, and end its whole process group."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import threading
import time
import types
import typing as t

OUTPUT_LIMIT = 1024 * 1024
# `ProcessResult.stopped` after the timeout.
OUT_OF_TIME = "ran out of time"
_STDERR_TAIL = 16 * 1024
_CHUNK = 64 * 1024
_PIPE_LIMIT = 1024 * 1024
_BUSY_LIMIT = 5.0
_BUSY_PAUSE = 0.02
_TICK = 0.01
# poll() accepts at most some weeks.
_LONGEST_WAIT = 3600.0
# Seconds in which most processes end. Their output fits into the pipes until then and is read afterwards.
_SOON = 0.05

# Signals that Python ignores; a child starts with the system's defaults.
_IGNORED_HERE = (signal.SIGPIPE, signal.SIGXFSZ)


class ProcessResult(t.NamedTuple):
    """How a process ended.

    Attributes:
        status: Exit status, or the negative number of the signal that ended it.
        stdout: Standard output, up to the limit.
        stderr: The last part of standard error.
        stopped: Why this process killed it, or an empty string.
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
    """Run an executable until it exits, or kill it when it exceeds its time or output limit.

    The process gets its own process group, which is killed as a whole. The call returns when the process exits, not
    when its output ends: a child that it leaves running may keep the pipes open for ever.

    Args:
        argv: The path of the executable, then its arguments.
        timeout: Seconds.
        output_limit: Bytes of standard output.

    Raises:
        OSError: It cannot be started; ``ETXTBSY`` if the file stayed open for writing.
    """
    deadline = time.monotonic() + timeout
    busy_until = min(deadline, time.monotonic() + _BUSY_LIMIT)
    with contextlib.ExitStack() as stack:
        with _deferred_interrupt():
            process = stack.enter_context(_Process(argv, environment, stdin, busy_until, output_limit))
        stopped = process.collect(deadline)
        if stopped:
            process.kill()
        return ProcessResult(process.wait(), bytes(process.stdout), bytes(process.stderr), stopped)


def default_workers() -> int:
    """Return how many plugins to run in parallel: two per CPU, as they wait for the kernel half of the time."""
    return 2 * len(os.sched_getaffinity(0))


def prepare() -> None:
    """Reset what every child would inherit from the program that started this process.

    Some supervisors ignore SIGCHLD, and then the kernel discards exit statuses. Unknown inherited descriptors would be
    kept open by processes that a child leaves running.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(descriptor, False)


@contextlib.contextmanager
def _deferred_interrupt() -> t.Iterator[None]:
    """Handle an interruption, which Python raises in the main thread, when the block has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    arrived: list[tuple[int, types.FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *arguments: arrived.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for arguments in arrived[:1]:
            handler(*arguments)


class _Process:
    """A child process, from its start until its exit status has been read."""

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
            # With a file as standard input, writing can neither block nor fail if the process does not read it.
            request = anonymous_file("stdin")
            opened.callback(os.close, request)
            with open(request, "wb", closefd=False) as stream:  # which writes all, or fails
                stream.write(stdin)
            os.lseek(request, 0, os.SEEK_SET)
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
        """Read the output until the process exits; return why it must be killed, or an empty string."""
        with self._watch_exit() as exit_descriptor:
            stopped = self._until_exit(exit_descriptor, deadline)
        self._drain()
        return stopped or self._overflow()

    @contextlib.contextmanager
    def _watch_exit(self) -> t.Iterator[int | None]:
        try:
            descriptor = os.pidfd_open(self._pid)
        except (AttributeError, OSError):  # kernel or Python headers before Linux 5.3, or a seccomp filter
            yield None
            return
        self._poll.register(descriptor, select.POLLIN)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _until_exit(self, exit_descriptor: int | None, deadline: float) -> str:
        # With a larger output limit, the output may exceed the pipe: the process would block until it is read.
        soon = min(_SOON, deadline - time.monotonic()) if self._output_limit <= OUTPUT_LIMIT else 0.0
        if exit_descriptor is not None and _is_ready(exit_descriptor, soon):
            return ""
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                # It may have exited in time while this thread was not scheduled.
                return "" if self._has_exited() else OUT_OF_TIME
            events = self._poll.poll(1000 * min(remaining, _TICK if exit_descriptor is None else _LONGEST_WAIT))
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
        # The output of the process fits into a pipe; more comes from a child that is still printing.
        for descriptor in tuple(self._sinks):
            for dummy in range(_PIPE_LIMIT // _CHUNK + 1):
                if not self._read(descriptor):
                    break

    def _read(self, descriptor: int) -> bool:
        """Return whether more output may follow, after reading a chunk; stop polling at the end of the output."""
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
    """Start a process in its own process group; retry while its file is busy, until the deadline and then once more."""
    is_last = False
    while True:
        try:
            # Ansible's run_command supports neither process groups nor limits of time and output.
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


def anonymous_file(name: str) -> int:
    """Return the descriptor of a new file that no directory has, in memory if possible.

    Args:
        name: What /proc shows for it.
    """
    descriptor: int = getattr(os, "memfd_create", _unnamed_file)(name)
    return descriptor


def _unnamed_file(dummy: str) -> int:
    # The import takes a tenth of the start of a built-in executable, and kernels without the other call are rare.
    import tempfile

    return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
