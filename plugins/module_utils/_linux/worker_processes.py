# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Share work among processes, because only one thread of a process computes at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import signal
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

S = t.TypeVar("S")
R = t.TypeVar("R")


def run_shares(shares: t.Sequence[S], run: t.Callable[[S], R]) -> list[R | CniError]:
    """Run the first share in this process and each other one in a child process, which ends with this process.

    Threads of this process do not exist in the children, so none may be running. If the system has no room for another
    process, the remaining shares run in this process as well.

    Args:
        run: Runs a share. Its result is pickled.

    Returns:
        The result of each share, or the error of one that has none.
    """
    children: list[_Child[S, R]] = []
    try:
        with contextlib.suppress(OSError):
            for share in shares[1:]:
                children.append(_Child(run, share))
        first, *last = map(run, (shares[0], *shares[1 + len(children) :]))
        return [first, *(child.result() for child in children), *last]
    finally:
        for child in children:
            child.end()


class Turns(t.Generic[S]):
    """Items that processes take in turns, so that all of them end at about the same time.

    The numbers of the items are in a pipe, which has room for some ten thousand.
    """

    _NUMBER = struct.Struct("=I")

    def __init__(self, items: t.Sequence[S]) -> None:
        """
        Raises:
            OSError: There is no room for a pipe, or for the numbers in it.
        """
        self._items = items
        self._reader, writer = os.pipe()
        try:
            os.set_blocking(writer, False)
            content = b"".join(map(self._NUMBER.pack, range(len(items))))
            if os.write(writer, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.close()
            raise
        finally:
            os.close(writer)

    def __iter__(self) -> Turns[S]:
        return self

    def __next__(self) -> S:
        """Return an item that no process has taken."""
        content = os.read(self._reader, self._NUMBER.size)
        if not content:
            raise StopIteration
        number: int = self._NUMBER.unpack(content)[0]
        return self._items[number]

    def close(self) -> None:
        os.close(self._reader)


class _Child(t.Generic[S, R]):
    """A child process, from its start until its exit status has been read."""

    def __init__(self, run: t.Callable[[S], R], share: S) -> None:
        reader, writer = os.pipe()
        parent = os.getpid()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(reader)
            os.close(writer)
            raise
        if self._pid == 0:
            _run_in_child(run, share, writer, parent)
        os.close(writer)
        self._reader = os.fdopen(reader, "rb")
        self._has_ended = False

    def result(self) -> R | CniError:
        """Wait for the result of the share."""
        content = self._reader.read()
        status = self._wait()
        if status == 0:
            result: R | CniError = pickle.loads(content)
            return result
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return CniError(
            Code.INTERNAL, f"a process of this run ended early: {how}", "run again: what it had begun is completed"
        )

    def end(self) -> None:
        """End the process, if its result is no longer wanted."""
        self._reader.close()
        if not self._has_ended:
            os.kill(self._pid, signal.SIGTERM)
            self._wait()

    def _wait(self) -> int:
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._has_ended = True
        return status


def _run_in_child(run: t.Callable[[S], R], share: S, writer: int, parent: int) -> t.NoReturn:
    status = 1
    try:
        syscall.end_with_parent()
        if os.getppid() == parent:
            with os.fdopen(writer, "wb") as stream:
                stream.write(pickle.dumps(_result_of(run, share)))
            status = 0
    finally:
        os._exit(status)


def _result_of(run: t.Callable[[S], R], share: S) -> R | CniError:
    try:
        return run(share)
    except Exception as exc:
        return as_error(exc)
