# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import stat
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

DIRECTORY: t.Final = "/run/netns"

# Held while a namespace is created or removed: a second mount on a file would hide the first one.
LOCK: t.Final = "/run/cni-node-netns.lock"
_TIMEOUT: t.Final = 60.0

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


def path_of(name: str) -> str:
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
    return os.path.join(DIRECTORY, name)


def names() -> list[str]:
    """Return the names of all network namespaces of the node."""
    return [name for name in list_directory(DIRECTORY) if is_namespace(os.path.join(DIRECTORY, name))]


def is_namespace(path: str) -> bool:
    """Return whether a path is that of a network namespace."""
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


def create(name: str) -> bool:
    """Return whether a named network namespace was missing, after creating it.

    An empty file, which an interrupted run leaves behind, is reused. A link that leads to no namespace is replaced.

    Raises:
        CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
    """
    path = path_of(name)
    with _lock_directory():
        if is_namespace(path):
            return False
        require_removable(path)
        try:
            _share_directory()
            if os.path.islink(path):
                os.unlink(path)
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
            _in_new_thread(lambda: _pin_new_namespace(path))
        except OSError as exc:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise io_error("create the network namespace", path, exc) from exc
    return True


def delete(name: str) -> bool:
    """Return whether a named network namespace, or a file in its place, existed, after removing it.

    Of a link, only the link itself is removed.

    Raises:
        CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
    """
    path = path_of(name)
    with _lock_directory():
        try:
            # It may be mounted several times.
            while not os.path.islink(path) and is_namespace(path):
                syscall.unmount(path, syscall.MNT_DETACH)
            require_removable(path)
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise io_error("remove the network namespace", path, exc) from exc
    return True


def run_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Run an operation inside a network namespace, in a thread of its own.

    Raises:
        OSError: The namespace cannot be entered, or the operation failed.
    """
    return _in_new_thread(lambda: _enter_and_run(path, operation))


def open_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Open a socket or the like inside a network namespace, in which it stays.

    One thread opens all of them and never returns to its own namespace: a new thread for each takes ten times as long.

    Raises:
        OSError: As `inside`.
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


def _lock_directory() -> t.ContextManager[None]:
    # Loaded late: most runs create and remove no namespace.
    from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock

    return hold_lock(LOCK, exclusive=True, timeout=_TIMEOUT, what=DIRECTORY)


def _share_directory() -> None:
    """Make the directory a shared mount, so that all mount namespaces see new namespaces, as iproute2 does."""
    # Loaded late: most runs create no namespace.
    from ansible_collections.cni.node.plugins.module_utils._base.durable import make_directory

    make_directory(DIRECTORY)
    try:
        syscall.mount("", DIRECTORY, syscall.MS_SHARED | syscall.MS_REC)
    except OSError as exc:
        if exc.errno != errno.EINVAL:  # not a mount point yet
            raise
        syscall.mount(DIRECTORY, DIRECTORY, syscall.MS_BIND | syscall.MS_REC)
        syscall.mount("", DIRECTORY, syscall.MS_SHARED | syscall.MS_REC)


def _pin_new_namespace(path: str) -> None:
    syscall.unshare(syscall.CLONE_NEWNET)
    syscall.mount("/proc/thread-self/ns/net", path, syscall.MS_BIND)


def _in_new_thread(operation: t.Callable[[], T]) -> T:
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
    "DIRECTORY",
    "LOCK",
    "create",
    "delete",
    "is_namespace",
    "names",
    "open_inside",
    "path_of",
    "require_foreign",
    "require_removable",
    "run_inside",
)
