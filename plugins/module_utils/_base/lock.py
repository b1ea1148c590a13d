# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Locks on files, against other processes and other threads."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.durable import make_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors

_FIRST_PAUSE = 0.0001
_LONGEST_PAUSE = 0.05
# Most locks are free again before another thread of the run would have done anything.
_SHORT_PAUSE = 0.001


@contextlib.contextmanager
def hold_lock(
    path: str,
    *,
    exclusive: bool,
    timeout: float,
    what: str,
    keep: bool = False,
    within: int | None = None,
    mode: int = 0o600,
) -> t.Iterator[None]:
    """Hold a lock against other processes and other threads.

    The kernel releases the lock when the process ends, so a killed run does not block others. The holder of an
    exclusive lock removes its file, because lock files are named after containers and would accumulate.

    Args:
        timeout: Seconds to wait for other holders.
        what: The locked object, as the error message names it.
        keep: Do not remove the file, because other programs lock it too.
        within: Descriptor of the file's directory, needed where other users can replace the directory or the file.
        mode: The mode of a new file.

    Raises:
        CniError: ``TRY_AGAIN`` on a timeout, ``IO_FAILURE`` if the file cannot be opened or locked.
    """
    descriptor = _acquire(path, exclusive, time.monotonic() + timeout, what, timeout, within, mode)
    try:
        yield
    finally:
        if exclusive and not keep:
            with contextlib.suppress(OSError):
                os.unlink(path)
        os.close(descriptor)


def _acquire(
    path: str, exclusive: bool, deadline: float, what: str, timeout: float, within: int | None, mode: int
) -> int:
    pause = _FIRST_PAUSE
    while True:
        descriptor = _try(path, exclusive, within, mode)
        if descriptor is not None:
            return descriptor
        if time.monotonic() >= deadline:
            raise CniError(
                Code.TRY_AGAIN,
                f"{what} is in use by another process; waited {timeout:g} s",
                f"the lock is {path}; wait for the other run to end, or allow more time",
            )
        with workers.lend() if pause > _SHORT_PAUSE else contextlib.nullcontext():
            time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _try(path: str, exclusive: bool, within: int | None, mode: int) -> int | None:
    descriptor = _open(path, within, mode)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        if _is_still_at(path, descriptor, within):
            return descriptor
    except BlockingIOError:
        pass
    except OSError as exc:
        os.close(descriptor)
        raise io_error("lock", path, exc) from exc
    os.close(descriptor)
    return None


def _open(path: str, within: int | None, mode: int) -> int:
    """Open or create the lock file; below a held directory, do not follow links."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    with io_errors("open the lock", path):
        if within is not None:
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK
            return os.open(os.path.basename(path), flags, mode, dir_fd=within)
        try:
            return os.open(path, flags, mode)
        except FileNotFoundError:
            make_directory(os.path.dirname(path), mode=0o700)
            return os.open(path, flags, mode)


def _is_still_at(path: str, descriptor: int, within: int | None) -> bool:
    try:
        name = path if within is None else os.path.basename(path)
        return os.path.samestat(os.stat(name, dir_fd=within), os.fstat(descriptor))
    except FileNotFoundError:
        return False
