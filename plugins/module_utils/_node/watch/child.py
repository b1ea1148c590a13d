# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A child process that does some work and reports on it in lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

_CHUNK = 64 * 1024
# Bytes of a report, far above that of a node with thousands of attachments.
_LIMIT = 64 * 1024 * 1024
# Seconds. It waits for operations, for another repair and for the programs of the firewall.
_TIMEOUT = 300.0

Report = t.Callable[[JsonObject], None]
# Gets what sends a report, and what waits for the parent's permission.
Work = t.Callable[[Report, t.Callable[[], None]], None]


class Child:
    """A forked process. It ends with this one, and with all that it has started if it takes too long."""

    def __init__(self, work: Work, inherited: t.Iterable[int]) -> None:
        """
        Args:
            work: What it does; it reports an unexpected exception as ``error``.
            inherited: Descriptors that it closes.

        Raises:
            CniError: ``IO_FAILURE``: the system has no room for another process or another open file.
        """
        self.deadline = time.monotonic() + _TIMEOUT
        self._received = bytearray()
        parent = os.getpid()
        with (
            io_errors("start", "another process"),
            contextlib.ExitStack() as handed_over,
            contextlib.ExitStack() as own,
        ):
            self.descriptor, write_end = _make_pipe(own, handed_over)
            self._permission, read_end = _make_pipe(own, handed_over, writes=True)
            self._pid = os.fork()
            if self._pid == 0:
                _run(work, parent, write_end, read_end, (*inherited, self.descriptor, self._permission))
            own.pop_all()
        os.set_blocking(self.descriptor, False)

    def permit(self) -> None:
        """Let it continue that waits for permission."""
        with contextlib.suppress(BrokenPipeError):  # it has ended
            os.write(self._permission, b"\n")

    def read(self) -> tuple[list[JsonObject], bool]:
        """Return the reports that have arrived, and whether there will be no more."""
        has_ended = False
        while True:
            try:
                chunk = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                break
            self._received += chunk
            if not chunk or len(self._received) > _LIMIT:
                has_ended = True
                break
        *lines, rest = bytes(self._received).split(b"\n")
        self._received = bytearray(rest)
        return [json.loads(line) for line in lines], has_ended

    def end(self) -> tuple[int, float]:
        """Wait for it, killing what is left of it; return its status, and the seconds of processor time that it took."""
        for kill in (os.killpg, os.kill):  # it may not have its group yet
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        os.close(self.descriptor)
        os.close(self._permission)
        dummy, status, usage = os.wait4(self._pid, 0)
        return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def _make_pipe(
    own: contextlib.ExitStack, handed_over: contextlib.ExitStack, *, writes: bool = False
) -> tuple[int, int]:
    """Return the end of a new pipe that this process keeps, by default the one to read, and the one of its child."""
    read_end, write_end = os.pipe()
    ends = (write_end, read_end) if writes else (read_end, write_end)
    for stack, end in zip((own, handed_over), ends):
        stack.callback(os.close, end)
    return ends


def _run(work: Work, parent: int, write_end: int, read_end: int, inherited: t.Iterable[int]) -> t.NoReturn:
    try:
        from ansible_collections.cni.node.plugins.module_utils._linux import syscall

        os.setpgid(0, 0)
        syscall.end_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        for descriptor in inherited:
            os.close(descriptor)
        with open(write_end, "w", encoding="utf-8") as stream:

            def report(document: JsonObject) -> None:
                stream.write(json.dumps(document) + "\n")
                stream.flush()

            try:
                work(report, lambda: None if os.read(read_end, 1) else os._exit(1))
            except Exception as exc:
                report({"error": str(as_error(exc))})
    finally:
        os._exit(0)
