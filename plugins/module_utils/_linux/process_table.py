# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find processes by environment, name, network namespace or a text that they mention."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors, refuse_without_room

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05
# Seconds in which the kernel loads a program. Until then its process has no environment, but has dropped its locks.
_LOADING = 0.1
# Seconds in which the kernel ends a killed process that is not blocked, even on the busiest machine.
_ENDING = 20.0
# Files in /proc that name the container of a process.
_MENTIONS = ("cgroup", "cmdline", "environ")


def wait_or_kill(environment: t.Mapping[str, str], programs: t.Collection[str], timeout: float) -> None:
    """Wait for processes started with these environment variables; kill them after a timeout.

    Their process groups are killed with them, unless the group is that of another program: a runtime may start plugins in
    its own.

    Args:
        programs: File names; only processes that run one of them are considered.
        timeout: Seconds to wait before they are killed.

    Raises:
        CniError: ``TRY_AGAIN`` for a process that cannot be killed.
    """
    started, killed, pause = time.monotonic(), None, _FIRST_PAUSE
    while pids := _find_running(environment, programs):
        now = time.monotonic()
        if killed is not None and now - killed >= _ENDING:
            what = f"process {pids[0]}, which an interrupted run has left behind, cannot be killed"
            raise CniError(Code.TRY_AGAIN, what, "it may be blocked on a file system that does not respond")
        if now - started >= timeout:
            killed = now if killed is None else killed
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    _kill(pid, pids)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _kill(pid: int, found: t.Container[int]) -> None:
    group = os.getpgid(pid)
    if group in found:
        os.killpg(group, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def find_by_environment(environment: t.Mapping[str, str]) -> list[int]:
    """Return this user's processes that were started with these environment variables, including very new processes.

    Only processes that `is_own` returns are considered, as other users and containers can set any variables.
    """
    expected = {f"{name}={value}".encode() for name, value in environment.items()}
    pids = _pids()
    matching, started = [], time.monotonic()
    while pids:
        # Determined before reading /proc: if that takes long, a process may still have been loading when it was read.
        is_last = time.monotonic() - started >= _LOADING
        variables = {pid: _strings(pid, "environ") for pid in pids}
        matching += [pid for pid in pids if expected <= variables[pid].keys() and is_own(pid)]
        pids = [pid for pid in pids if not any(variables[pid]) and os.path.exists(f"/proc/{pid}/exe")]
        if is_last:
            break
        if pids:
            time.sleep(_FIRST_PAUSE)
    return matching


def find_values(environment: t.Mapping[str, str], name: str) -> set[str]:
    """Return the values of a variable in the processes that `find_by_environment` returns."""
    prefix = f"{name}=".encode()
    variables = (variable for pid in find_by_environment(environment) for variable in _strings(pid, "environ"))
    return {os.fsdecode(variable[len(prefix) :]) for variable in variables if variable.startswith(prefix)}


def find_by_netns(path: str) -> list[int]:
    """Return the processes whose network namespace is the one at a path."""
    try:
        identity = _namespace(path)
    except OSError:
        return []
    return [pid for pid in _pids() if _has_namespace(pid, identity)]


def find_by_name(name: str, netns: str) -> list[int]:
    """Return the processes with a name of at most 15 characters whose network namespace is the one at a path."""
    named = [pid for pid in _pids() if _read(pid, "comm") == f"{name}\n".encode()]
    identity = _namespace(netns) if named else None
    return [pid for pid in named if identity and _has_namespace(pid, identity)]


def find_mentioning(text: str, ignored: t.Collection[str] = ()) -> list[int]:
    """Return the processes, except this one, whose control groups, arguments or environment contain a text.

    The processes of a container and those that watch it have its ID there, and so has a plugin that works for it.

    Args:
        ignored: Texts that may contain it and do not count, such as the name that an administrator has typed.
    """
    needle, names = text.encode(), [name.encode() for name in ignored]
    return [
        pid
        for pid in _pids()
        if pid != os.getpid() and any(_has_text(_read(pid, file) or b"", needle, names) for file in _MENTIONS)
    ]


def _has_text(content: bytes, needle: bytes, ignored: t.Iterable[bytes]) -> bool:
    if needle in content:
        for name in ignored:
            content = content.replace(name, b"")
    return needle in content


def _pids() -> list[int]:
    with io_errors("list", "/proc"):
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _namespace(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _has_namespace(pid: int, identity: tuple[int, int]) -> bool:
    try:
        return _namespace(f"/proc/{pid}/ns/net") == identity
    except OSError:  # it has ended
        return False


def is_own(pid: int) -> bool:
    """Return whether a process has the same real and effective user id as this one, and is not one of a container.

    A container has a PID or user namespace of its own. Runtimes, and the plugins that they run, may have another mount
    namespace than this process.
    """
    try:
        for kind in ("user", "pid"):
            if os.stat(f"/proc/{pid}/ns/{kind}").st_ino != os.stat(f"/proc/self/ns/{kind}").st_ino:
                return False
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace", newline="\n") as lines:
            ids = next(line.split()[1:3] for line in lines if line.startswith("Uid:"))
    except OSError as exc:
        refuse_without_room("read", f"/proc/{pid}", exc)
        return False
    except StopIteration:
        return False
    return ids == [str(os.getuid()), str(os.geteuid())]


def _find_running(environment: t.Mapping[str, str], programs: t.Collection[str]) -> list[int]:
    return [pid for pid in find_by_environment(environment) if _runs(pid, programs)]


def _runs(pid: int, programs: t.Collection[str]) -> bool:
    """Return whether a process runs one of the programs; a script follows its interpreter and possibly an option."""
    first = list(_strings(pid, "cmdline"))[:3]
    return any(os.path.basename(os.fsdecode(argument)) in programs for argument in first)


def _strings(pid: int, name: str) -> dict[bytes, None]:
    """Return the NUL-separated texts of a process's file in /proc, or none if the process has ended."""
    content = _read(pid, name)
    return dict.fromkeys(content.split(b"\0")) if content is not None else {}


def _read(pid: int, name: str) -> bytes | None:
    """Return a process's file in /proc, or None if the process has ended.

    Raises:
        CniError: ``IO_FAILURE``: there is no room for another open file.
    """
    path = f"/proc/{pid}/{name}"
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as exc:
        refuse_without_room("read", path, exc)
        return None
