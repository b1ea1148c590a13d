# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import stat
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

_NS_GET_NSTYPE: t.Final = 0xB703
_KINDS: t.Final = {
    stat.S_IFREG: "a file with content",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_OWN_NAMESPACES: t.Final = ("/proc/self/ns/net", "/proc/1/ns/net")

if t.TYPE_CHECKING:
    import concurrent.futures

T = t.TypeVar("T")


def path_of(directory: str, name: str) -> str:
    """Return the path of a named network namespace, the same as for ``ip netns``.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if name in ("", ".", "..") or name.startswith("-") or not name.isprintable() or set(name) & set("/ "):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"{name!r} is not a network namespace name",
            "expected: a file name that does not begin with '-' and has neither spaces nor '/'",
        )
    return os.path.join(directory, name)


def is_namespace(path: str) -> bool:
    """Return whether a path leads to a network namespace."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return fcntl.ioctl(descriptor, _NS_GET_NSTYPE) == syscall.CLONE_NEWNET
    except OSError:
        return False
    finally:
        os.close(descriptor)


def inode(path: str) -> int:
    """Return the inode number of the network namespace at a path, or 0 if there is no file."""
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return 0


def require_foreign(path: str) -> None:
    """Refuse a path that is not a network namespace, or is the node's own.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    try:
        status = os.stat(path)
    except OSError:
        raise _invalid(path, "does not exist", "create it first, for example with the module cni.node.netns") from None
    if not is_namespace(path):
        advice = "if a removed namespace left the file behind, remove it and create the namespace again"
        raise _invalid(path, "is not a network namespace", advice)
    if (status.st_dev, status.st_ino) in _own_namespaces():
        raise _invalid(path, "is the node's own network namespace", "expected: the network namespace of the container")


def require_removable(path: str) -> None:
    """Refuse to replace or remove a file unless it is a namespace, a link or an empty file.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK or (kind == stat.S_IFREG and status.st_size == 0) or is_namespace(path):
        return
    what = _KINDS.get(kind, "not a regular file")
    raise CniError(
        Code.INVALID_ENVIRONMENT, f"{path} is {what}", "expected: a network namespace or no file; remove it by hand"
    )


def run_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Run an operation inside a network namespace, in a thread of its own.

    Raises:
        OSError: The namespace cannot be entered, or the operation failed.
    """
    return run_in_new_thread(lambda: _enter_and_run(path, operation))


def open_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Open a socket or the like inside a network namespace, where it stays.

    One thread opens all of them and never returns to its own namespace: a new thread for each takes ten times as long.

    Raises:
        OSError: As `run_inside`.
    """
    return _namespace_thread().submit(_enter_and_run, path, operation).result()


def _enter_and_run(path: str, operation: t.Callable[[], T]) -> T:
    # O_NONBLOCK: the path may be that of a pipe without a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        syscall.set_network_namespace(descriptor)
    finally:
        os.close(descriptor)
    return operation()


@functools.lru_cache(maxsize=1)
def _namespace_thread() -> concurrent.futures.Executor:
    from concurrent.futures import ThreadPoolExecutor  # slow to load, and most runs need no thread

    return ThreadPoolExecutor(max_workers=1)


@functools.lru_cache(maxsize=1)
def _own_namespaces() -> set[tuple[int, int]]:
    own = set()
    for path in _OWN_NAMESPACES:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            own.add((status.st_dev, status.st_ino))
    return own


def run_in_new_thread(operation: t.Callable[[], T]) -> T:
    """Run an operation that changes the thread's namespace, in a new thread that ends afterwards."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(operation())
        except BaseException as exc:  # raised again in the calling thread
            failures.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _invalid(path: str, problem: str, advice: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, f"CNI_NETNS: {path} {problem}", advice)


__all__ = (
    "is_namespace",
    "open_inside",
    "path_of",
    "require_foreign",
    "require_removable",
    "run_in_new_thread",
    "run_inside",
)
